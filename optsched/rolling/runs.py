"""Run policies, singly or several on the same true epochs."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

from optsched.checking import CheckReport, relative_excess
from optsched.deadline import Deadline, clock
from optsched.display import counted
from optsched.result import Outcome, Settings, Termination
from optsched.rolling.audit import audit
from optsched.rolling.bounds.clairvoyant import (
    Bound,
    BoundSettings,
    clairvoyant_bound,
    clairvoyant_utilisation,
)
from optsched.rolling.epochs import draw_epochs
from optsched.rolling.instance import RollingInstance
from optsched.rolling.metrics import Metrics, compute_metrics, offered_load
from optsched.rolling.options import RollingOptions
from optsched.rolling.policies.by_name import make_policy
from optsched.rolling.policies.queue import Queue
from optsched.rolling.records import Records
from optsched.rolling.simulator.engine import (
    Plan,
    Policy,
    UnfinishedRunError,
    require_bounded_run,
    simulate_rolling,
)
from optsched.rolling.simulator.world import View, World
from optsched.rolling.solution import RollingSolution

Progress = Callable[[str, int, int], None]
QUICK_ITERATIONS = 20
"""Iterations of a policy's bound: 0.5 s for 1,000 jobs on 100 nodes, whose runs take 1 to 6 s."""
BOUND_SOURCE = "clairvoyant Lagrangian"
STEP_LENGTH_POLICY = "edf"
"""Policy whose cost sets the step lengths of `clairvoyant-bound`; any cost gives a valid bound."""
DETAILS = (
    *("energy_cost", "tardiness_cost", "late_jobs", "most_jobs"),
    *("decisions", "preemptions", "migrations", "utilisation"),
)
"""Metrics in a result's details: those that are equal in two equal runs."""
GRACE = 1.0
"""Seconds after the limit in which a run may still be completed."""


class Limited:
    """A policy until its deadline, then ``fifo`` on GPUs as they are, for at most `GRACE` s."""

    def __init__(self, world: World, policy: Policy, deadline: Deadline) -> None:
        self.name, self.wake = policy.name, policy.wake
        self.policy, self.deadline = policy, deadline
        self.fallback = Queue(world, "fifo")
        self.decisions, self.fallback_decisions, self.fallback_start = 0, 0, 0.0

    def decide(self, view: View) -> Plan:
        """Use the policy before the deadline, then FIFO."""
        self.decisions += 1
        if not self.deadline.is_over:
            return self.policy.decide(view)
        if not self.fallback_decisions:
            self.fallback_start, self.wake = clock(), self.fallback.wake
        self.fallback_decisions += 1
        if clock() - self.fallback_start > GRACE:
            raise UnfinishedRunError(
                Termination.TIME_LIMIT,
                f"policy {self.name}: the time limit passed at {view.time:.6g} s of the run, "
                f"with {len(view.jobs)} jobs present",
            )
        return self.fallback.decide(view)

    @property
    def message(self) -> str | None:
        """Note on decisions affected by limits; None if there are none."""
        policy_message = getattr(self.policy, "message", None)
        if not self.fallback_decisions:
            return policy_message
        count = f"{self.fallback_decisions} of {counted(self.decisions, 'decision')}"
        limit = f"time limit reached: {count} made by fifo"
        return limit if policy_message is None else f"{policy_message}; {limit}"


@dataclass(frozen=True)
class Run:
    """One policy's run with its audit, bound and load."""

    records: Records
    metrics: Metrics
    check: CheckReport
    # lower bound on the total cost of any policy for these true epochs, dollars
    bound: float | None
    load: float  # offered work over capacity
    # utilisation by GPU type of the uncapacitated clairvoyant plan for these true epochs
    clairvoyant_utilisation: dict[str, float]
    message: str | None = None  # note on decisions affected by time limits

    @property
    def excess(self) -> float | None:
        """Relative excess over the bound; None if the bound is (almost) 0."""
        return relative_excess(self.metrics.total_cost, self.bound or None)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of ``optsched roll --json``."""
        records = self.records

        def metrics_of(*names: str) -> dict[str, Any]:
            return {name: getattr(self.metrics, name) for name in names}

        return {
            "instance": records.instance,
            "policy": records.policy,
            "seed": records.seed,
            "options": records.options,
            **metrics_of("total_cost", "energy_cost", "tardiness_cost", "late_jobs"),
            "jobs": len(records.jobs),
            "cost_bound": self.bound,
            "excess": self.excess,
            "audit": self.check.verdict(),
            **metrics_of("decision_time", "longest_decision", "decisions"),
            **metrics_of("preemptions", "migrations", "utilisation"),
            "offered_load": self.load,
            "clairvoyant_utilisation": self.clairvoyant_utilisation,
            "message": self.message,
        }


def run_policies(
    instance: RollingInstance,
    policies: Sequence[str] = ("sts",),
    options: RollingOptions | None = None,
    settings: Settings | None = None,
    *,
    bound: BoundSettings | None = None,
    progress: Progress | None = None,
) -> Iterator[Run]:
    """Run policies on one draw of the true epochs; an UnfinishedRunError follows the others."""
    settings = settings or Settings()
    world = World(instance, options)
    for name in policies:
        require_bounded_run(world, make_policy(name, world, settings))
    done: list[tuple[Records, str | None]] = []
    interrupted, unfinished = False, []
    for name in policies:
        run_settings = settings.within(Deadline(settings.time_limit))
        policy = Limited(world, make_policy(name, world, run_settings), run_settings.deadline)
        report = None if progress is None else partial(progress, name)
        try:
            run = simulate_rolling(world, policy, seed=settings.seed, progress=report)
            done.append((run, policy.message))
        except KeyboardInterrupt:
            interrupted = True
            break
        except UnfinishedRunError as error:
            unfinished.append(error)
    if done:
        bound_settings = settings.within(Deadline(settings.time_limit))
        yield from _audited_runs(world, bound_settings, done, None if interrupted else bound)
    if interrupted:
        raise KeyboardInterrupt
    if unfinished:
        raise UnfinishedRunError(unfinished[0].termination, "; ".join(map(str, unfinished)))


def run_policy(
    name: str, instance: RollingInstance, options: RollingOptions, settings: Settings
) -> Outcome:
    """Run a policy on the seed's draw of the true epochs; `iterations` are the passes of ``rg``."""
    began = clock()
    world = World(instance, options)
    return _outcome(world, make_policy(name, world, settings), settings, began)


def bound_runs(
    name: str, instance: RollingInstance, options: RollingOptions, settings: Settings
) -> Outcome:
    """Bound every policy's cost for the seed's true epochs.

    `settings.iterations` limits the subgradient iterations.
    """
    began = clock()
    result, _ = clairvoyant_duals(instance, options, settings)
    return Outcome(
        None,
        Termination.TIME_LIMIT if settings.deadline.is_over else Termination.FEASIBLE,
        bound=result.bound,
        bound_source=BOUND_SOURCE,
        solve_time=clock() - began,
        details={"uncapacitated": result.uncapacitated},
    )


def clairvoyant_duals(
    instance: RollingInstance, options: RollingOptions, settings: Settings
) -> tuple[Bound, list[str]]:
    """The bound of `bound_runs` with its duals, and the GPU types of their rows."""
    world = World(instance, options)
    policy = Limited(world, make_policy(STEP_LENGTH_POLICY, world, settings), settings.deadline)
    try:
        records = [simulate_rolling(world, policy, seed=settings.seed)]
    except UnfinishedRunError:
        records = []
    effort = BoundSettings(iterations=settings.iterations or BoundSettings.iterations)
    bound = _bound(world, settings, records, effort)
    return bound, [kind.name for kind in world.tables.kinds]


def quick_bound(
    instance: RollingInstance,
    options: RollingOptions,
    settings: Settings,
    solution: RollingSolution | None,
) -> tuple[float, str]:
    """A few iterations of `bound_runs`, for the true epochs of the given run."""
    world = World(instance, options)
    records = [] if solution is None else [solution.run]
    effort = BoundSettings(iterations=QUICK_ITERATIONS)
    return _bound(world, settings, records, effort).bound, BOUND_SOURCE


def custom_policy_method(name: str, policy: Any) -> Any:
    """Wrap a user's policy as a method: an object with ``schedule(view)``, or its class.

    ``schedule`` returns a `Plan` of `optsched.rolling.simulator.engine`; an optional attribute
    ``wake`` is the maximum number of seconds between calls.
    """

    def method(instance: RollingInstance, options: RollingOptions, settings: Settings) -> Outcome:
        began = clock()
        policy_object = policy() if isinstance(policy, type) else policy
        wake = float(getattr(policy_object, "wake", math.inf))
        custom: Any = SimpleNamespace(name=name, decide=policy_object.schedule, wake=wake)
        return _outcome(World(instance, options), custom, settings, began)

    return method


def _outcome(world: World, policy: Policy, settings: Settings, began: float) -> Outcome:
    limited = Limited(world, policy, settings.deadline)
    try:
        records = simulate_rolling(world, limited, seed=settings.seed)
    except UnfinishedRunError as ended:
        details = {"message": str(ended)}
        return Outcome(None, ended.termination, solve_time=clock() - began, details=details)
    metrics, seconds = compute_metrics(world.instance, records), clock() - began
    epochs = draw_epochs(world.instance, settings.seed)
    message = {} if limited.message is None else {"message": limited.message}
    return Outcome(
        RollingSolution.of(records, metrics.total_cost),
        Termination.TIME_LIMIT if limited.fallback_decisions else Termination.FEASIBLE,
        claimed=metrics.total_cost,
        solve_time=seconds,
        details={
            **message,
            **{key: getattr(metrics, key) for key in DETAILS},
            "jobs": len(records.jobs),
            "offered_load": offered_load(world.instance),
            "clairvoyant_utilisation": clairvoyant_utilisation(world, epochs),
        },
    )


def _audited_runs(
    world: World,
    settings: Settings,
    done: list[tuple[Records, str | None]],
    effort: BoundSettings | None,
) -> Iterator[Run]:
    instance, epochs = world.instance, draw_epochs(world.instance, settings.seed)
    value = None
    if effort is not None:
        value = _bound(world, settings, [records for records, _ in done], effort).bound
    load, plan = offered_load(instance), clairvoyant_utilisation(world, epochs)
    for records, message in done:
        metrics = compute_metrics(instance, records)
        claimed = {name: getattr(metrics, name) for name in ("energy_cost", "tardiness_cost")}
        shares = world.selection_options.shares
        audit_report = audit(instance, records, claimed, epochs, shares=shares)
        yield Run(records, metrics, audit_report, value, load, plan, message)


def _bound(
    world: World, settings: Settings, done: Sequence[Records], effort: BoundSettings
) -> Bound:
    """The bound on all runs of this draw, which provide the target cost and the horizon."""
    epochs = draw_epochs(world.instance, settings.seed)
    if not done:
        return clairvoyant_bound(world, epochs, math.inf, BoundSettings(iterations=1))
    best = min(compute_metrics(world.instance, records).total_cost for records in done)
    last = max(record.completion for records in done for record in records.jobs)
    return clairvoyant_bound(world, epochs, best, effort, until=last, deadline=settings.deadline)
