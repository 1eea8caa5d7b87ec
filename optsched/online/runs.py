"""Simulating several policies and putting numbers beside each: the command's work, from Python."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from optsched.checking import Violation
from optsched.online.auditing import audit
from optsched.online.bounds.flow import FlowBounds, flow_bounds
from optsched.online.bounds.theorem import TheoremOne, theorem_one
from optsched.online.data.jobs import Jobs
from optsched.online.metrics import Metrics, compute_metrics
from optsched.online.policies.by_name import Settings, find_policy
from optsched.online.prediction.predictors import Prediction
from optsched.online.records import Records
from optsched.online.simulator.engine import simulate
from optsched.online.warm_up import warm_up

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Run:
    """One policy's run with what was made of it.

    Attributes
    ----------
    bounds : FlowBounds or None
        On the total flow of any schedule of the same jobs, whatever the policy.
    violations : tuple of Violation or None
        The audit's findings.
    theorem : TheoremOne or None
        Theorem 1's ratio with this run's tau and predictions; for the a-srpt policies.
    engine_time, compile_time : float
        Seconds of the event loop, and of loading (the first time: making) compiled code.
    """

    records: Records
    metrics: Metrics
    jobs: Jobs
    bounds: FlowBounds | None
    violations: tuple[Violation, ...] | None
    theorem: TheoremOne | None
    engine_time: float
    compile_time: float

    @property
    def excess(self) -> float | None:
        """Total flow over its bound, less 1; None without a bound or for part of a run."""
        if self.bounds is None or self.bounds.best <= 0 or not self.records.complete:
            return None
        return self.metrics.total_flow_time / self.bounds.best - 1

    def to_dict(self) -> dict[str, Any]:
        """The run as the JSON object of the command line."""
        metrics, settings = self.metrics, self.records.settings
        complete = self.records.complete
        return {
            "policy": self.records.policy,
            "jobs": metrics.jobs,
            "total_completion_time": metrics.total_completion_time,
            "total_flow_time": metrics.total_flow_time,
            "mean_flow_time": metrics.mean_flow_time,
            "mean_slowdown": metrics.mean_slowdown,
            "inflation": metrics.inflation,
            "fragmentation": metrics.fragmentation,
            "makespan": metrics.makespan,
            "utilisation": metrics.utilisation,
            "flow_bound": None if self.bounds is None or not complete else self.bounds.best,
            "audit": None
            if self.violations is None
            else {
                "feasible": not self.violations,
                "violations": [violation.to_dict() for violation in self.violations],
            },
            "engine_time": self.engine_time,
            "compile_time": self.compile_time,
            "flow_percentiles": metrics.flow_percentiles,
            "flow_bounds": None if self.bounds is None else self._bounds(),
            "excess": self.excess,
            "theorem_1": None if self.theorem is None else self.theorem.to_dict(),
            "load": self.jobs.load,
            "settings": settings.to_dict(),
            "replaced_configurations": self.jobs.replaced,
            "complete": complete,
        }

    def _bounds(self) -> dict[str, float]:
        assert self.bounds is not None
        return {
            "durations": self.bounds.durations,
            "fast_machine": self.bounds.fast_machine,
            "mean_busy_time": self.bounds.mean_busy_time,
            "capacity_dual": self.bounds.capacity_dual,
        }


def run_policies(
    prediction: Prediction,
    policies: Sequence[str],
    settings: Settings | None = None,
    *,
    with_bounds: bool = False,
    with_audit: bool = False,
    progress: Progress | None = None,
) -> Iterator[Run]:
    """Run policies on the predicted jobs, one after another.

    A KeyboardInterrupt during a run ends the iteration after that run's part has been yielded.
    The bounds are those of the jobs: worked out once, with the first complete run's flow.
    """
    jobs, bounds = prediction.jobs, None
    compile_time = warm_up(bounds=with_bounds)
    for policy in policies:
        report = None if progress is None else _named(progress, policy)
        began = time.perf_counter()
        records = simulate(jobs, policy, prediction.iterations, settings, progress=report)
        engine_time = time.perf_counter() - began
        metrics = compute_metrics(records)
        if with_bounds and bounds is None and records.complete:
            bounds = flow_bounds(jobs, known_flow=metrics.total_flow_time)
        theorem = None
        known = jobs.iterations if find_policy(policy).perfect else prediction.iterations
        if policy.startswith("a-srpt") and len(jobs):
            theorem = theorem_one(jobs, known, records.settings.tau)
        yield Run(
            records,
            metrics,
            jobs,
            bounds,
            audit(jobs, records, predicted=known) if with_audit else None,
            theorem,
            engine_time,
            compile_time,
        )
        if not records.complete:
            return


def _named(progress: Progress, policy: str) -> Callable[[int, int], None]:
    return lambda started, jobs: progress(policy, started, jobs)
