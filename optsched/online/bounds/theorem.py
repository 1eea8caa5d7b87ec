"""Theorem 1 and Lemmas 1-3 for one run (reported to show which of their factors are loose).

    Theorem 1: Gamma_A <= [(2 + tau + rho G/(G - g_max)) rho
        + (2 rho g_max alpha_max/alpha_min) (1 + tau + (1 + rho) G/(G - g_max)) mean error] OPT_A
    Lemma 1: OPT_A1 <= rho OPT_A
    Lemma 2: Gamma_A <= (1 + tau + rho G/(G - g_max)) OPT_A1~
        + I g_max alpha_max/(G - g_max) error + rho OPT_A
    Lemma 3: OPT_A1~ <= OPT_A1 + I g_max alpha_max/G error

with Gamma_A the run's total completion time, OPT_A the least possible, OPT_A1 and OPT_A1~ those of
preemptive SRPT on one machine with lengths (g/G) n alpha~ and (g/G) n~ alpha~, rho = max
alpha^max/alpha^min, alpha_max and alpha_min the extremes over jobs, and error = sum |n - n~|.
alpha^min is the proven lower bound on alpha, so that no factor is smaller than the theorem's.
Source: a-srpt, IV-C.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from optsched.arrays import Floats
from optsched.online.bounds.flow import srpt_completions
from optsched.online.data.jobs import Jobs
from optsched.online.metrics import Metrics


class Lemma(NamedTuple):
    """Both sides of a lemma, in seconds: left <= right."""

    left: float
    right: float


@dataclass(frozen=True)
class TheoremOne:
    """Theorem 1's ratio, its parameters and the observed ratio.

    The ratio, and its first summand, which predictions do not change, are None if one job needs the
    whole cluster. For a complete run, `observed` is its total completion time over `optimum`, which
    is OPT_A where it was given, else a lower bound on it, also in `lemmas`; `srpt` and
    `predicted_srpt` are OPT_A1 and OPT_A1~.
    """

    ratio: float | None
    with_perfect_predictions: float | None
    rho: float
    alpha_spread: float
    largest_job: int
    mean_error: float
    observed: float | None = None
    optimum: float | None = None
    srpt: float | None = None
    predicted_srpt: float | None = None
    lemmas: tuple[Lemma, ...] = ()

    @property
    def details(self) -> dict[str, float | list[float]]:
        """rho, SRPT's totals and both sides of lemmas and theorem, without what is unknown."""
        known = {"rho": self.rho, "srpt": self.srpt, "predicted_srpt": self.predicted_srpt}
        sides = {f"lemma_{at}": list(lemma) for at, lemma in enumerate(self.lemmas, 1)}
        if self.lemmas and self.ratio is not None and self.optimum is not None:
            sides["theorem_1"] = [self.lemmas[1].left, self.ratio * self.optimum]
        return {name: value for name, value in known.items() if value is not None} | sides

    @property
    def sentence(self) -> str:
        if self.ratio is None or self.with_perfect_predictions is None:
            return "Theorem 1 does not apply: one job needs the whole cluster"
        perfect, ratio = _rough(self.with_perfect_predictions), _rough(self.ratio)
        sentence = f"Theorem 1 allows A-SRPT {perfect} times the optimal total completion time"
        if self.mean_error:
            sentence += f" with perfect predictions, {ratio} times with these"
        if self.observed is None:
            return sentence
        return (
            f"{sentence}; this run is within {self.observed:.4g} times a lower bound. The theorem "
            "assumes the worst placement for every job and charges each mispredicted iteration to "
            "the largest job"
        )


def theorem_one(jobs: Jobs, predicted: Floats, tau: float) -> TheoremOne:
    """The factor by which Theorem 1 bounds A-SRPT's total completion time over the optimal one."""
    used = np.unique(jobs.configuration)
    worst = jobs.configurations.worst[used]
    least = jobs.configurations.alpha_lower_bound[used]
    rho, spread = float((worst / least).max()), float(worst.max() / least.min())
    largest, gpus = int(jobs.gpus.max()), jobs.cluster.gpus
    error = float(np.abs(jobs.iterations - predicted).mean())
    if largest == gpus:
        return TheoremOne(None, None, rho, spread, largest, error)
    share = gpus / (gpus - largest)
    perfect = (2 + tau + rho * share) * rho
    ratio = perfect + 2 * rho * largest * spread * (1 + tau + (1 + rho) * share) * error
    return TheoremOne(ratio, perfect, rho, spread, largest, error)


def theorem_of_run(
    jobs: Jobs, predicted: Floats, tau: float, metrics: Metrics, optimal_flow: float | None = None
) -> TheoremOne:
    """Theorem 1's factor with both sides of its lemmas.

    `optimal_flow` is the least total flow, or a lower bound on it; by default the sum of the
    shortest lengths.
    """
    theorem, gpus, largest = theorem_one(jobs, predicted, tau), jobs.cluster.gpus, jobs.gpus.max()
    if metrics.jobs < len(jobs):
        return theorem
    total, submitted = metrics.total_completion_time, float(jobs.submit.sum())
    optimum = submitted + (float(jobs.min_length.sum()) if optimal_flow is None else optimal_flow)
    true, guessed = _srpt_total(jobs, jobs.iterations), _srpt_total(jobs, predicted)
    theorem = replace(
        theorem, observed=total / optimum, optimum=optimum, srpt=true, predicted_srpt=guessed
    )
    if theorem.ratio is None:
        return theorem
    rho, worst = theorem.rho, jobs.configurations.worst[jobs.configuration].max()
    charged = len(jobs) * largest * worst * theorem.mean_error * len(jobs)
    virtual = (1 + tau + rho * gpus / (gpus - largest)) * guessed
    lemmas = (
        Lemma(true, rho * optimum),
        Lemma(total, float(virtual + charged / (gpus - largest) + rho * optimum)),
        Lemma(guessed, float(true + charged / gpus)),
    )
    return replace(theorem, lemmas=lemmas)


def _srpt_total(jobs: Jobs, iterations: Floats) -> float:
    """Total completion time of preemptive SRPT on lengths (g/G) n alpha~."""
    work = jobs.gpus / jobs.cluster.gpus * iterations * jobs.estimate
    return float(srpt_completions.for_size(20 * len(jobs))(jobs.submit, work).sum())


def _rough(ratio: float) -> str:
    """A factor in two digits, or as a power of ten from 100 on."""
    return f"{ratio:.2g}" if ratio < 100 else f"about 10^{math.log10(ratio):.0f}"
