"""Predictors of a job's iterations, n~, fixed at submission and equal for all policies.

A predictor fitted once learns from a time-ordered prefix and predicts the rows after it; an
``online-*`` one predicts row i from the rows with r + n alpha~ <= r_i, or, with a refit interval,
<= the last multiple of it. Features are user and group only. Where a predictor knows nothing of a
group it says 0 (group-median: the user's median, then everybody's), and `unseen` says what becomes
of a 0: see `optsched.online.prediction.statistics`.
Source: a-srpt, IV-C 3 and V-B 2-d; models/online/README.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from optsched.deadline import clock
from optsched.errors import InputError, shown
from optsched.online.data.jobs import Jobs
from optsched.online.prediction.forests import fit_forest, fit_log_forest
from optsched.online.prediction.statistics import (
    MEAN,
    UNSEEN,
    ZERO,
    Examples,
    fit_constant,
    fit_group_mean,
    fit_group_median,
    lengths_so_far,
    running_group_mean,
    running_group_median,
)

Floats = NDArray[np.float64]
DAY = 86_400.0


class Model(Protocol):
    """What a fit returns: predicts iterations of (user, group) codes."""

    def __call__(self, user: NDArray[np.int32], group: NDArray[np.int32], /) -> Floats: ...


@dataclass(frozen=True)
class Predictor:
    """A way to predict.

    Attributes
    ----------
    fit : callable
        ``(examples, seed) -> Model``.
    running : callable or None
        ``(examples, finish order, counts) -> predictions``: the same refitted at every row.
    """

    name: str
    summary: str
    fit: Callable[[Examples, int], Model]
    running: Callable[[Examples, NDArray[np.int64], NDArray[np.int64]], Floats] | None = None


_ALL = (
    Predictor("forest", "100 trees on (user, group), squared error", fit_forest),
    Predictor("group-mean", "mean of the group", fit_group_mean, running_group_mean),
    Predictor(
        "group-median",
        "median of the group, else of the user, else of all",
        fit_group_median,
        running_group_median,
    ),
    Predictor("log-forest", "the forest on the logarithm of iterations", fit_log_forest),
    Predictor("constant", "the mean of all", fit_constant),
)
FITTED: dict[str, Predictor] = {predictor.name: predictor for predictor in _ALL}
PERFECT = "perfect"
ONLINE = "online-"
NAMES = (*FITTED, PERFECT, *(ONLINE + name for name in FITTED))
"""What `--predictor` takes."""


@dataclass(frozen=True)
class Prediction:
    """n~ of the rows after the training prefix, and what it took to get them.

    Attributes
    ----------
    jobs : Jobs
        Those rows.
    iterations : (n,) float
        n~.
    training_jobs : int
        Rows in the prefix.
    fits : int
        How often a model was fitted; for running statistics 1.
    fit_time : float
        Seconds spent fitting and, for online predictors, predicting.
    unseen : float
        Share of the rows of which the predictor knew nothing.
    """

    name: str
    jobs: Jobs
    iterations: Floats
    training_jobs: int
    fits: int
    fit_time: float
    unseen: float = 0.0


def predict(
    jobs: Jobs,
    name: str,
    *,
    training_share: float | None = None,
    refit_interval: float | None = None,
    unseen: str = MEAN,
    seed: int = 0,
) -> Prediction:
    """Predict the iterations of the jobs after a training prefix.

    Parameters
    ----------
    jobs : Jobs
        All rows, in time order.
    name : str
        One of `NAMES`.
    training_share : float, optional
        The prefix; by default 0.8 for predictors fitted once, 0 for perfect and online ones
        (which learn from the prefix too when there is one).
    refit_interval : float, optional
        Seconds between refits of an online predictor; by default every row for means and medians,
        a day for the others.
    unseen : str
        What a job gets of which the predictor knows nothing: "mean" or "median" of the lengths
        known, or a-srpt's "zero".
    seed : int, optional
        Of every random choice.

    Returns
    -------
    Prediction
        The jobs that run, each with its predicted iterations.

    Raises
    ------
    InputError
        For an unknown name or a number out of range.

    Examples
    --------
    >>> import optsched
    >>> from optsched.online import prepare_jobs
    >>> small = optsched.load("online/small-400x40")
    >>> jobs = prepare_jobs(small.workload, small.catalogue, small.cluster)
    >>> len(predict(jobs, "perfect", training_share=0.5).jobs)
    200
    """
    cut = training_jobs(jobs, name, training_share)
    if unseen not in UNSEEN:
        raise InputError("predict", "unseen", shown(unseen), f"one of {', '.join(UNSEEN)}")
    rest = jobs.after(cut)
    began = clock()
    order, known = np.arange(cut), np.full(len(rest), cut)
    if name == PERFECT:
        values, fits = rest.iterations.astype(np.float64), 0
    elif name.startswith(ONLINE):
        predictor = FITTED[name.removeprefix(ONLINE)]
        order, known = _known(jobs, predictor, refit_interval)
        values, fits = _online(jobs, cut, predictor, order, known, seed)
        known = known[cut:]
    else:
        model = FITTED[name].fit(Examples.of(jobs).first(cut), seed)
        labels = rest.workload
        values, fits = model(labels.user.codes, labels.group.codes), 1
    values = np.maximum(np.asarray(values, dtype=np.float64), 0.0)
    blank = values == 0
    if unseen != ZERO and blank.any():
        lengths = lengths_so_far(jobs.iterations * jobs.estimate, order, known, unseen)
        values = np.where(blank, lengths / rest.estimate, values)
    share = float(blank.mean()) if len(rest) else 0.0
    return Prediction(name, rest, values, cut, fits, clock() - began, share)


def training_jobs(jobs: Jobs, name: str, share: float | None) -> int:
    """Return the number of jobs in the training prefix; raises InputError."""
    if name not in NAMES:
        raise InputError("predict", "predictor", shown(name), f"one of {', '.join(NAMES)}")
    if share is None:
        share = 0.0 if name == PERFECT or name.startswith(ONLINE) else 0.8
    if not 0 <= share <= 1:
        raise InputError("predict", "training share", shown(share), "a number in [0, 1]")
    cut = int(share * len(jobs))
    if name in FITTED and (share == 0 or (cut == 0 and len(jobs) > 0)):
        found = f"{share:g}, of {len(jobs)} jobs {cut}"
        raise InputError("predict", "training share", found, f"jobs that {name} learns from")
    return cut


def _known(
    jobs: Jobs, predictor: Predictor, interval: float | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows by when they end at the earliest, and how many of these each row's prediction knows."""
    if interval is None and predictor.running is None:
        interval = DAY
    if interval is not None and not 0 < interval <= 1e15:
        raise InputError("predict", "refit interval", shown(interval), "seconds in (0, 1e15]")
    finish = jobs.submit + jobs.iterations * jobs.estimate
    order = np.argsort(finish, kind="stable").astype(np.int64)
    cutoff = jobs.submit if interval is None else np.floor(jobs.submit / interval) * interval
    return order, np.searchsorted(finish[order], cutoff, side="right").astype(np.int64)


def _online(
    jobs: Jobs,
    cut: int,
    predictor: Predictor,
    order: NDArray[np.int64],
    known: NDArray[np.int64],
    seed: int,
) -> tuple[Floats, int]:
    examples = Examples.of(jobs)
    if predictor.running is not None:
        return predictor.running(examples, order, known)[cut:], 1
    values, fits = np.zeros(len(jobs)), 0
    for count in np.unique(known[cut:]):
        rows = np.flatnonzero(known == count)
        if count:
            model = predictor.fit(examples.rows(order[:count]), seed)
            values[rows] = model(examples.user[rows], examples.group[rows])
            fits += 1
    return values[cut:], fits


@dataclass(frozen=True)
class PredictionReport:
    """How good a prediction is: Fig. 4 and V-B 2-d in numbers.

    Attributes
    ----------
    mean_absolute_error : float
        Of |n - n~|, iterations.
    within_tenth, exact, unseen : float
        Shares of jobs with |n~ - n| <= 0.1 n, with n~ = n to 1e-9, and of which nothing was known.
    """

    name: str
    jobs: int
    training_jobs: int
    mean_absolute_error: float
    within_tenth: float
    exact: float
    unseen: float
    fit_time: float


def report(prediction: Prediction) -> PredictionReport:
    """Compare a prediction with the truth."""
    true, said = prediction.jobs.iterations, prediction.iterations
    if not len(true):
        return PredictionReport(
            prediction.name, 0, prediction.training_jobs, 0.0, 0.0, 0.0, 0.0, prediction.fit_time
        )
    error = np.abs(true - said)
    return PredictionReport(
        prediction.name,
        len(true),
        prediction.training_jobs,
        float(error.mean()),
        float((error <= 0.1 * true).mean()),
        float((error <= 1e-9 * true).mean()),
        prediction.unseen,
        prediction.fit_time,
    )
