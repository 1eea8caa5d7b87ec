"""Predictors of a job's iterations, n~, fixed at submission and equal for all policies.

A predictor fitted once learns from a time-ordered prefix and predicts the rows after it; an
``online-*`` one predicts row i from the rows with r + n alpha~ <= r_i, or, with a refit interval,
<= the last multiple of it. Features are user and group only. For an unseen group a predictor
returns 0 (group-median falls back to the user's, then the overall median); `unseen` replaces the 0:
see `optsched.online.prediction.models`.
Source: a-srpt, IV-C 3 and V-B 2-d; models/online/README.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from optsched.arrays import Floats, Ints
from optsched.deadline import clock
from optsched.errors import InputError, shown
from optsched.online.data.jobs import Jobs, prepare_jobs
from optsched.online.prediction.models import (
    MEAN,
    UNSEEN,
    ZERO,
    Examples,
    Model,
    default_lengths,
    fit_constant,
    fit_forest,
    fit_group_mean,
    fit_group_median,
    fit_log_forest,
    running_group_mean,
    running_group_median,
)

if TYPE_CHECKING:
    from optsched.online.instance import OnlineInstance
    from optsched.online.options import OnlineOptions

DAY = 86_400.0


@dataclass(frozen=True)
class Predictor:
    """A predictor; `running` is equivalent to refitting at every row, if there is one."""

    name: str
    summary: str
    fit: Callable[[Examples, int], Model]
    running: Callable[[Examples, Ints, Ints], Floats] | None = None


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
"""Names accepted by `--predictor`."""


@dataclass(frozen=True)
class Prediction:
    """n~ of the `jobs` after the training prefix, and fitting statistics.

    `fits` is 1 for running statistics, `fit_time` (s) includes the predictions of online
    predictors, and `unseen` is the share of rows of unseen groups.
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
        Prediction for unseen groups: "mean" or "median" length of the observed jobs, or a-srpt's
        "zero".
    seed : int, optional
        Seed of the forests.

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
    num_training = training_jobs(jobs, name, training_share)
    if unseen not in UNSEEN:
        raise InputError("predict", "unseen", shown(unseen), f"one of {', '.join(UNSEEN)}")
    simulated = jobs.after(num_training)
    began = clock()
    order, num_observed = np.arange(num_training), np.full(len(simulated), num_training)
    if name == PERFECT:
        values, fits = simulated.iterations.astype(np.float64), 0
    elif name.startswith(ONLINE):
        predictor = FITTED[name.removeprefix(ONLINE)]
        order, num_observed = _observations(jobs, predictor, refit_interval)
        values, fits = _online(jobs, num_training, predictor, order, num_observed, seed)
        num_observed = num_observed[num_training:]
    else:
        model = FITTED[name].fit(Examples.of(jobs).rows(np.arange(num_training)), seed)
        labels = simulated.workload
        values, fits = model(labels.user.codes, labels.group.codes), 1
    values = np.maximum(np.asarray(values, dtype=np.float64), 0.0)
    is_unseen = values == 0
    if unseen != ZERO and is_unseen.any():
        lengths = jobs.iterations * jobs.estimate
        default_seconds = default_lengths(lengths, order, num_observed, unseen)
        values = np.where(is_unseen, default_seconds / simulated.estimate, values)
    share = float(is_unseen.mean()) if len(simulated) else 0.0
    return Prediction(name, simulated, values, num_training, fits, clock() - began, share)


def predict_instance(instance: OnlineInstance, options: OnlineOptions, seed: int) -> Prediction:
    prediction = predict(
        prepare_jobs(instance.workload, instance.catalogue, instance.cluster),
        options.predictor,
        training_share=options.training_share,
        refit_interval=options.refit_interval,
        unseen=options.unseen,
        seed=seed,
    )
    return replace(prediction, jobs=prediction.jobs.on_slots(options.policy.slot))


def training_jobs(jobs: Jobs, name: str, share: float | None) -> int:
    """Return the number of jobs in the training prefix; raises InputError."""
    if name not in NAMES:
        raise InputError("predict", "predictor", shown(name), f"one of {', '.join(NAMES)}")
    if share is None:
        share = 0.0 if name == PERFECT or name.startswith(ONLINE) else 0.8
    if not 0 <= share <= 1:
        raise InputError("predict", "training share", shown(share), "a number in [0, 1]")
    num_training = int(share * len(jobs))
    if name in FITTED and (share == 0 or (num_training == 0 and len(jobs) > 0)):
        found = f"{share:g} of {len(jobs)} jobs, which is {num_training} training jobs"
        raise InputError("predict", "training share", found, f"training jobs for {name}")
    return num_training


def _observations(jobs: Jobs, predictor: Predictor, interval: float | None) -> tuple[Ints, Ints]:
    """Rows in order of earliest end, and the number of ended rows at each row's cutoff."""
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
    num_training: int,
    predictor: Predictor,
    order: Ints,
    num_observed: Ints,
    seed: int,
) -> tuple[Floats, int]:
    """Return the predictions of the simulated rows and the number of fits."""
    examples = Examples.of(jobs)
    if predictor.running is not None:
        return predictor.running(examples, order, num_observed)[num_training:], 1
    values, fits = np.zeros(len(jobs)), 0
    for count in np.unique(num_observed[num_training:]):
        rows = np.flatnonzero(num_observed == count)
        if count:
            model = predictor.fit(examples.rows(order[:count]), seed)
            values[rows] = model(examples.user[rows], examples.group[rows])
            fits += 1
    return values[num_training:], fits


@dataclass(frozen=True)
class PredictionReport:
    """Accuracy of a prediction (Fig. 4, V-B 2-d): the mean of |n - n~|, and the shares of jobs with
    |n~ - n| <= 0.1 n, with n~ = n to 1e-9, and of unseen groups."""

    name: str
    jobs: int
    training_jobs: int
    mean_absolute_error: float
    within_tenth: float
    exact: float
    unseen: float
    fit_time: float


def report(prediction: Prediction) -> PredictionReport:
    true = prediction.jobs.iterations
    error = np.abs(true - prediction.iterations)
    values = (error, error <= 0.1 * true, error <= 1e-9 * true)
    means = [float(value.mean()) if len(true) else 0.0 for value in values]
    return PredictionReport(
        prediction.name,
        len(true),
        prediction.training_jobs,
        means[0],
        means[1],
        means[2],
        prediction.unseen,
        prediction.fit_time,
    )
