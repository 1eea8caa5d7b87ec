"""Running policies as methods, and comparing several policies."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from optsched.arrays import Floats
from optsched.checking import CheckReport, relative_excess
from optsched.deadline import clock, seconds_stopped
from optsched.online.audit import audit
from optsched.online.bounds.flow import ITERATIONS, FlowBounds, flow_bounds
from optsched.online.bounds.gang import ITERATIONS as GANG_ITERATIONS
from optsched.online.bounds.gang import gang_bound
from optsched.online.bounds.theorem import TheoremOne, theorem_of_run
from optsched.online.data.jobs import Jobs, prepare_jobs
from optsched.online.instance import OnlineInstance
from optsched.online.metrics import Metrics, compute_metrics
from optsched.online.options import OnlineOptions
from optsched.online.policies.by_name import POLICIES, PolicyOptions, find_policy
from optsched.online.prediction.predictors import Prediction, predict_instance, training_jobs
from optsched.online.records import Records
from optsched.online.simulator.engine import simulate_online
from optsched.online.simulator.own_policy import simulate_policy
from optsched.online.solution import OnlineSolution
from optsched.result import NOT_COMPARABLE, RELAXES, Outcome, Settings, Termination

Progress = Callable[[str, int, int], None]
REFERENCE_POLICY = "wcs-subtime"
"""Policy whose flow is the target of the subgradient steps (any target is valid)."""
DETAILS = (
    *("jobs", "total_completion_time", "mean_flow_time", "mean_slowdown"),
    *("inflation", "fragmentation", "makespan", "utilisation"),
)


@dataclass(frozen=True)
class Run:
    """One policy's run with its metrics, its audit (`check`), and bounds that hold for any policy.

    `seconds` are those of the event loop, without `compile_time`. A preemptive run is not
    `comparable` with non-preemptive ones: they have different bounds.
    """

    records: Records
    metrics: Metrics
    jobs: Jobs
    seconds: float
    compile_time: float = 0.0
    check: CheckReport | None = None
    bounds: FlowBounds | None = None
    theorem: TheoremOne | None = None
    comparable: bool = True

    @property
    def bound(self) -> float | None:
        """The best valid bound in seconds; None for part of a run or without bounds."""
        if self.bounds is None or not self.records.complete:
            return None
        return self.bounds.best_preemptive if self.records.preemptions else self.bounds.best

    @property
    def excess(self) -> float | None:
        """Relative excess of the total flow over the bound; None if not comparable."""
        bound = self.bound or None if self.comparable else None
        return relative_excess(self.metrics.total_flow_time, bound)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of ``optsched simulate --json``."""
        metrics = asdict(self.metrics)
        percentiles = metrics.pop("flow_percentiles")
        return {
            "policy": self.records.policy,
            **metrics,
            "flow_bound": self.bound,
            "audit": None if self.check is None else self.check.verdict(),
            "engine_time": self.seconds,
            "compile_time": self.compile_time,
            "flow_percentiles": percentiles,
            "flow_bounds": None if self.bounds is None else asdict(self.bounds),
            "excess": self.excess,
            "theorem_1": None if self.theorem is None else asdict(self.theorem),
            "load": self.jobs.load,
            "settings": self.records.options.to_dict(),
            "replaced_configurations": self.jobs.replaced,
            "complete": self.records.complete,
            **preemption_details(self.records),
            **({} if self.comparable else {NOT_COMPARABLE: "other runs do not preempt jobs"}),
        }


def run_policies(
    prediction: Prediction,
    policies: Sequence[str],
    options: PolicyOptions | None = None,
    *,
    with_bounds: bool = False,
    with_audit: bool = False,
    progress: Progress | None = None,
) -> Iterator[Run]:
    """Run policies on the predicted jobs, one after another.

    A KeyboardInterrupt during a run ends the iteration after yielding the partial run. The bounds
    are those of the jobs: computed once, with the first complete run's flow.
    """
    bounds: FlowBounds | None = None
    before = seconds_stopped()
    for name in policies:
        run = _run(prediction, name, options, progress)
        used = run.jobs.iterations if find_policy(name).perfect else prediction.iterations
        if with_bounds and bounds is None and run.records.complete:
            bounds = flow_bounds(run.jobs, known_flow=run.metrics.total_flow_time)
        yield replace(
            run,
            compile_time=seconds_stopped() - before,
            check=audit(run.jobs, run.records, predicted=used) if with_audit else None,
            bounds=bounds,
            theorem=_theorem(run, used, bounds),
        )
        if not run.records.complete:
            return


def mark_comparable(runs: Sequence[Run]) -> list[Run]:
    """Mark preemptive runs as not comparable if others are non-preemptive."""
    mixed = len({run.records.preemptions > 0 for run in runs}) > 1
    return [replace(run, comparable=not (mixed and run.records.preemptions)) for run in runs]


def run_policy(
    name: str, instance: OnlineInstance, options: OnlineOptions, settings: Settings
) -> Outcome:
    run = _run(predict_instance(instance, options, settings.seed), name, options.policy)
    return outcome_of_run(instance, options, settings, run)


def bound_runs(
    name: str, instance: OnlineInstance, options: OnlineOptions, settings: Settings
) -> Outcome:
    """Bound the total flow of any non-preemptive schedule (8).

    `settings.iterations` limits the subgradient steps.
    """
    jobs = simulated_jobs(instance, options)
    began = clock()
    if name == "gang-bound":
        flow = _reference_flow(jobs)
        bounds = flow_bounds(jobs, known_flow=flow)
        steps = GANG_ITERATIONS if settings.iterations is None else settings.iterations
        gang = gang_bound(jobs, flow, iterations=steps, deadline=settings.deadline)
        bound, source = max((bounds.best, bounds.source), (gang.value, "gang bound"))
    else:
        bound, source = _flow_bound(jobs, settings.iterations)
    return Outcome(
        None,
        Termination.FEASIBLE,
        bound=bound,
        bound_source=source,
        solve_time=clock() - began,
    )


def quick_bound(
    instance: OnlineInstance,
    options: OnlineOptions,
    settings: Settings,
    solution: OnlineSolution | None,
) -> tuple[float, str]:
    """Flow bound of the same workload, for policies that do not preempt jobs."""
    jobs = simulated_jobs(instance, options)
    return _flow_bound(jobs, 0 if settings.deadline.is_over else None)


def simulated_jobs(instance: OnlineInstance, options: OnlineOptions) -> Jobs:
    """Jobs after the training prefix."""
    jobs = prepare_jobs(instance.workload, instance.catalogue, instance.cluster)
    simulated = jobs.after(training_jobs(jobs, options.predictor, options.training_share))
    return simulated.on_slots(options.policy.slot)


def _reference_flow(jobs: Jobs) -> float:
    return compute_metrics(simulate_online(jobs, REFERENCE_POLICY)).total_flow_time


def _flow_bound(jobs: Jobs, iterations: int | None) -> tuple[float, str]:
    steps = ITERATIONS if iterations is None else iterations
    bounds = flow_bounds(jobs, known_flow=_reference_flow(jobs), iterations=steps)
    return bounds.best, bounds.source


def custom_policy_method(name: str, policy: Any) -> Any:
    """Wrap a user's policy as a method: an object with ``schedule(view)``, or its class."""

    def method(instance: OnlineInstance, options: OnlineOptions, settings: Settings) -> Outcome:
        scheduler = policy() if isinstance(policy, type) else policy
        prediction = predict_instance(instance, options, settings.seed)
        jobs, began = prediction.jobs, clock()
        records = simulate_policy(jobs, scheduler, prediction.iterations, options.policy, name=name)
        seconds = clock() - began
        run = Run(records, compute_metrics(records), jobs, seconds)
        return outcome_of_run(instance, options, settings, run)

    return method


def _run(
    prediction: Prediction,
    name: str,
    options: PolicyOptions | None,
    progress: Progress | None = None,
) -> Run:
    report = None if progress is None else partial(progress, name)
    jobs, began = prediction.jobs, clock()
    records = simulate_online(jobs, name, prediction.iterations, options, progress=report)
    seconds = clock() - began
    return Run(records, compute_metrics(records), jobs, seconds)


def _theorem(run: Run, predicted: Floats, bounds: FlowBounds | None = None) -> TheoremOne | None:
    if not run.records.policy.startswith("a-srpt") or not len(run.jobs):
        return None
    if run.jobs.cluster.limits or not run.jobs.min_length.all():  # no theorem, or rho is unknown
        return None
    bound, tau = None if bounds is None else bounds.best, run.records.options.tau
    return theorem_of_run(run.jobs, predicted, tau, run.metrics, bound)


def outcome_of_run(
    instance: OnlineInstance, options: OnlineOptions, settings: Settings, run: Run
) -> Outcome:
    if not run.records.complete:
        raise KeyboardInterrupt
    option_values, seed = options.to_dict(), settings.seed
    details: dict[str, Any] = {name: getattr(run.metrics, name) for name in DETAILS}
    if (theorem := _theorem(run, run.records.predicted)) is not None:
        details |= theorem.details
    bounds = None
    if run.records.preemptions:
        bounds = flow_bounds(run.jobs, iterations=0)
        details |= {**preemption_details(run.records), RELAXES: "no preemption"}
    return Outcome(
        OnlineSolution.of(run.records, instance.name, options=option_values, seed=seed),
        Termination.FEASIBLE,
        bound=None if bounds is None else bounds.best_preemptive,
        bound_source=None if bounds is None else bounds.preemptive_source,
        claimed=run.metrics.total_flow_time,
        solve_time=run.seconds,
        details=details,
    )


def preemption_details(records: Records) -> dict[str, float]:
    """Return the number of preemptions and the GPU-seconds of restoring checkpoints.

    Empty for policies that do not preempt.
    """
    policy = POLICIES.get(records.policy)
    if not records.preemptions and (policy is None or policy.preempts == "never"):
        return {}
    segments, restore = records.segments, records.options.restore
    restore_seconds = segments.end - segments.start - segments.compute_seconds(restore)
    gpu_seconds = records.gpus[segments.job] * np.where(segments.resumed, restore_seconds, 0.0)
    return {"preemptions": records.preemptions, "restoring": float(gpu_seconds.sum())}
