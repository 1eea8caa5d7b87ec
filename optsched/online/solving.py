"""Policies of `optsched simulate`, and the bound on all of them, as methods like any other."""

from __future__ import annotations

import time
from typing import Any

from optsched.online.bounds.flow import ITERATIONS, flow_bounds
from optsched.online.data.jobs import prepare_jobs
from optsched.online.instance import OnlineInstance
from optsched.online.metrics import compute_metrics
from optsched.online.options import OnlineOptions
from optsched.online.policies.protocol import simulate_policy
from optsched.online.prediction.predictors import Prediction, predict
from optsched.online.records import Records
from optsched.online.simulator.engine import simulate
from optsched.online.solution import OnlineSolution
from optsched.result import Outcome, Settings, Termination

STEPS_BY = "wcs-subtime"
"""Its flow sets the step lengths of the bound, never the bound's validity."""
DETAILS = (
    *("jobs", "mean_flow_time", "mean_slowdown", "inflation", "fragmentation"),
    *("makespan", "utilisation"),
)


def run_policy(
    name: str, instance: OnlineInstance, options: OnlineOptions, settings: Settings
) -> Outcome:
    """Run a policy on the workload, with lengths predicted from the seed."""
    prediction = _predicted(instance, options, settings)
    began = time.perf_counter()
    records = simulate(prediction.jobs, name, prediction.iterations, options.settings)
    return _outcome(instance, options, settings, records, time.perf_counter() - began)


def bound_runs(
    name: str, instance: OnlineInstance, options: OnlineOptions, settings: Settings
) -> Outcome:
    """Bound the total flow of any schedule; `iterations` are those of the capacity dual."""
    jobs = _predicted(instance, options, settings).jobs
    began = time.perf_counter()
    known = compute_metrics(simulate(jobs, STEPS_BY)).total_flow_time
    passes = ITERATIONS if settings.iterations is None else settings.iterations
    found = flow_bounds(jobs, known_flow=known, iterations=passes)
    return Outcome(
        None,
        Termination.FEASIBLE,
        bound=found.best,
        bound_source=found.source,
        solve_time=time.perf_counter() - began,
    )


def own_policy(name: str, given: Any) -> Any:
    """A method of a policy of the caller's: an object with ``schedule(view)``, or its class."""

    def method(instance: OnlineInstance, options: OnlineOptions, settings: Settings) -> Outcome:
        made = given() if isinstance(given, type) else given
        prediction = _predicted(instance, options, settings)
        began = time.perf_counter()
        records = simulate_policy(
            prediction.jobs, made, prediction.iterations, options.settings, name=name
        )
        return _outcome(instance, options, settings, records, time.perf_counter() - began)

    return method


def _predicted(instance: OnlineInstance, options: OnlineOptions, settings: Settings) -> Prediction:
    return predict(
        prepare_jobs(instance.workload, instance.catalogue, instance.cluster),
        options.predictor,
        training_share=options.training_share,
        refit_interval=options.refit_interval,
        seed=settings.seed,
    )


def _outcome(
    instance: OnlineInstance,
    options: OnlineOptions,
    settings: Settings,
    records: Records,
    seconds: float,
) -> Outcome:
    if not records.complete:
        raise KeyboardInterrupt
    metrics = compute_metrics(records)
    return Outcome(
        OnlineSolution.of(records, instance.name, options=options.to_dict(), seed=settings.seed),
        Termination.FEASIBLE,
        claimed=metrics.total_flow_time,
        solve_time=seconds,
        details={name: getattr(metrics, name) for name in DETAILS},
    )
