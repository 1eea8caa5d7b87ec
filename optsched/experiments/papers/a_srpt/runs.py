"""Runs of a-srpt's section V: simulate many policies on one workload as one run of a sweep.

Runs of a sweep store a solution file, from which they are checked. The runs here have up to 150,000
jobs, more than such a file holds, and all worlds share the predictions of one forest: a run
simulates the paper's policies in each world and returns their metrics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.arrays import Floats
from optsched.experiments.papers.artefact import Scale, seeded
from optsched.experiments.plans.plan import Family
from optsched.online.metrics import compute_metrics
from optsched.online.policies.by_name import PAPER, Offer
from optsched.online.prediction.predictors import predict_instance, report
from optsched.online.simulator.engine import simulate_online
from optsched.result import Outcome, Settings, Termination

if TYPE_CHECKING:
    import pandas as pd

    from optsched.online.instance import OnlineInstance
    from optsched.online.options import OnlineOptions
    from optsched.online.prediction.predictors import Prediction

PREDICTION = {"predictor": "forest", "unseen": "zero"}
"""The paper's: 0 for groups that do not occur in the jobs that it is fitted to."""
GENERATOR = "optsched.experiments.papers.a_srpt.workloads:generate_case"
BASELINES = PAPER[2:]
TAIL = {"quantile_0.95": 0.95, "quantile_0.99": 0.99}
ACCURACY = ("exact", "within_tenth", *TAIL)
"""Shares of the jobs that are predicted exactly and within 10%, and quantiles of n~/n."""
METRICS = ("total_completion_time", "mean_flow_time", "makespan")
COLUMNS = ("world", "load", "case", "seed", "label", "completion", "mean_flow", "makespan")
"""Columns of `outcomes`, before `ACCURACY`; seconds."""


@dataclass(frozen=True)
class World:
    """Assumptions that the paper leaves open, besides the load.

    Shares of the jobs are predicted exactly, and as 0 (groups not met before). The others are wrong
    by a log-normal factor of spread `sigma`, or by None as the fitted predictor is. `tau` and the
    baselines' `offer` are by None those of the options.
    """

    exact: float = 0.6
    unseen: float = 0.05
    sigma: float | None = 1.0
    tau: float | None = None
    offer: Offer | None = None

    def predictions(self, fitted: Prediction, seed: int) -> Floats:
        """Predicted iterations n~ of the jobs."""
        true = fitted.jobs.iterations.astype(np.float64)
        rng, count = np.random.default_rng(seed), len(true)
        new, exact, normal = rng.random(count), rng.random(count), rng.normal(size=count)
        wrong = fitted.iterations if self.sigma is None else true * np.exp(self.sigma * normal)
        return np.where(new < self.unseen, 0.0, np.where(exact < self.exact, true, wrong))


FITTED = World(exact=0.0, unseen=0.0, sigma=None)
KNOWN, CENTRE, FOREST = (
    "every length known",
    "60% exact, log-normal errors",
    "lengths by the forest",
)
PREDICTIONS: Mapping[str, World] = {
    KNOWN: World(exact=1.0, unseen=0.0),
    CENTRE: World(),
    "60% exact, wider log-normal errors": World(sigma=3.0),
    "60% exact, the forest's errors": replace(FITTED, exact=0.6),
    FOREST: FITTED,
}
"""By what is known of the jobs: from every length to the forest's heavy tail of errors."""
WORLDS: Mapping[str, World] = {
    **PREDICTIONS,
    "30% of jobs unseen": World(unseen=0.3),
    **{f"tau {tau:g}": World(tau=tau) for tau in (1.0, 10.0, 1000.0)},
    **{
        f"baselines by {offer}": World(offer=offer)
        for offer in ("first-fit", "best-fit-last", "adaptive")
    },
}


def workload(
    name: str, arguments: Mapping[str, Any], seed: int, scale: Scale, method: str, **options: Any
) -> Family:
    """The family of a function of this module on one workload, synthetic or of a user's trace."""
    changes = {
        "trace": scale.trace,
        "trace_format": scale.trace_format,
        "time_scale": scale.time_scale,
        "trace_load": scale.load,
        "trace_share": arguments.get("single_gpu_share"),
    }
    given = {name: value for name, value in changes.items() if value is not None}
    return seeded(
        name,
        "online",
        {**arguments, **(given if scale.trace else {})},
        seed,
        [f"{__name__}:{method}"],
        generator=GENERATOR,
        options={**PREDICTION, **options},
    )


def as_fitted(instance: OnlineInstance, options: OnlineOptions, settings: Settings) -> Outcome:
    return _simulate(instance, options, settings, {"": FITTED})


def by_prediction(instance: OnlineInstance, options: OnlineOptions, settings: Settings) -> Outcome:
    return _simulate(instance, options, settings, PREDICTIONS)


def by_world(instance: OnlineInstance, options: OnlineOptions, settings: Settings) -> Outcome:
    return _simulate(instance, options, settings, WORLDS)


def _simulate(
    instance: OnlineInstance,
    options: OnlineOptions,
    settings: Settings,
    worlds: Mapping[str, World],
) -> Outcome:
    """Simulate the paper's policies in each world, on the predictions of one forest."""
    fitted, runs = predict_instance(instance, options, settings.seed), []
    known: dict[tuple[str, World], list[float]] = {}
    for name, world in worlds.items():
        predicted = world.predictions(fitted, settings.seed)
        errors = report(replace(fitted, iterations=predicted))
        ratios = np.quantile(predicted / fitted.jobs.iterations, list(TAIL.values())).tolist()
        for policy in PAPER:  # only a-srpt has delays; only the baselines' offers vary
            own = replace(world, tau=None) if policy in BASELINES else replace(world, offer=None)
            if (policy, own) not in known:
                tau = options.policy.tau if own.tau is None else own.tau
                chosen = replace(options.policy, tau=tau, offer=own.offer)
                run = compute_metrics(simulate_online(fitted.jobs, policy, predicted, chosen))
                known[policy, own] = [getattr(run, metric) for metric in METRICS]
            accuracy = [errors.exact, errors.within_tenth, *ratios]
            runs.append((name, policy, [*known[policy, own], *accuracy]))
    return Outcome(None, Termination.FEASIBLE, details={"runs": runs})


def outcomes(runs: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """One row per world, load, case, seed and policy."""
    import pandas as pd

    rows = [
        (", ".join(filter(None, (prefix, world))), load, case, run["seed"], label, *values)
        for run in runs.to_dict("records")
        for prefix, load, case in [run["family"].split("|")]
        for world, label, values in run["details"]["runs"]
    ]
    return pd.DataFrame(rows, columns=[*COLUMNS, *ACCURACY])
