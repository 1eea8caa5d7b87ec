"""Run policies over time: as methods, and several on one draw of the true epochs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from optsched.checking import CheckReport, relative_excess
from optsched.deadline import Deadline, clock
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
from optsched.rolling.metrics import Metrics, compute_metrics
from optsched.rolling.offered_load import offered_load
from optsched.rolling.options import RollingOptions
from optsched.rolling.policies.by_name import make_policy
from optsched.rolling.policies.limited import Limited
from optsched.rolling.records import Records
from optsched.rolling.simulator.engine import (
    Decider,
    UnfinishedRunError,
    refuse_endless,
    simulate_rolling,
)
from optsched.rolling.simulator.world import World
from optsched.rolling.solution import RollingSolution

Progress = Callable[[str, int, int], None]
QUICK_ITERATIONS = 20
"""Iterations of a policy's bound: 0.5 s for 1,000 jobs on 100 nodes, whose runs take 1 to 6 s."""
BOUND_SOURCE = "clairvoyant Lagrangian"
STEPS_BY = "edf"
"""Policy whose cost sets the step lengths of `clairvoyant-bound`; any cost gives a valid bound."""
DETAILS = (
    *("energy_cost", "tardiness_cost", "late_jobs", "most_jobs"),
    *("decisions", "preemptions", "migrations", "utilisation"),
)
"""Metrics in a result's details: those that are equal in two equal runs."""


@dataclass(frozen=True)
class Run:
    """One policy's run with its audit, its bound and its load.

    Attributes
    ----------
    bound : float or None
        Lower bound on the total cost of any policy for these true epochs, dollars.
    load : float
        rho, offered work over capacity.
    plan : dict
        Utilisation by GPU type of the uncapacitated clairvoyant plan for these true epochs.
    message : str or None
        How many decisions a limit cut.
    """

    records: Records
    metrics: Metrics
    check: CheckReport
    bound: float | None
    load: float
    plan: dict[str, float]
    message: str | None = None

    @property
    def excess(self) -> float | None:
        """Total cost over its bound, less 1; None where the bound is about 0."""
        return relative_excess(self.metrics.total_cost, self.bound or None)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of ``optsched roll --json``."""
        m, run = self.metrics, self.records
        return {
            **{"instance": run.instance, "policy": run.policy, "seed": run.seed},
            "options": run.options,
            "total_cost": m.total_cost,
            "energy_cost": m.energy_cost,
            "tardiness_cost": m.tardiness_cost,
            "late_jobs": m.late_jobs,
            "jobs": len(run.jobs),
            "cost_bound": self.bound,
            "excess": self.excess,
            "audit": self.check.verdict(),
            "decision_time": m.decision_time,
            "longest_decision": m.longest_decision,
            "decisions": m.decisions,
            "preemptions": m.preemptions,
            "migrations": m.migrations,
            "utilisation": m.utilisation,
            "offered_load": self.load,
            "clairvoyant_utilisation": self.plan,
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
    """Run policies on one draw of the true epochs (common random numbers).

    Each run has the time limit to itself, and so has the bound. Raises UnfinishedRunError, after
    the other runs, if one ended before its jobs were done.
    """
    settings = settings or Settings()
    world = World(instance, options)
    for name in policies:
        refuse_endless(world, make_policy(name, world, settings))
    done: list[tuple[Records, str | None]] = []
    interrupted, unfinished = False, []
    for name in policies:
        own = settings.within(Deadline(settings.time_limit))
        policy = Limited(world, make_policy(name, world, own), own.deadline)
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
        own = settings.within(Deadline(settings.time_limit))
        yield from _judged(world, own, done, None if interrupted else bound)
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
    """Bound every policy's cost for the seed's true epochs, in so many subgradient iterations."""
    began = clock()
    found, _ = clairvoyant_prices(instance, options, settings)
    return Outcome(
        None,
        Termination.TIME_LIMIT if settings.deadline.is_over else Termination.FEASIBLE,
        bound=found.bound,
        bound_source=BOUND_SOURCE,
        solve_time=clock() - began,
        details={"uncapacitated": found.uncapacitated},
    )


def clairvoyant_prices(
    instance: RollingInstance, options: RollingOptions, settings: Settings
) -> tuple[Bound, list[str]]:
    """The bound of `bound_runs` with its prices, and the GPU types of their rows."""
    world = World(instance, options)
    policy = Limited(world, make_policy(STEPS_BY, world, settings), settings.deadline)
    try:
        records = [simulate_rolling(world, policy, seed=settings.seed)]
    except UnfinishedRunError:
        records = []
    effort = BoundSettings(iterations=settings.iterations or BoundSettings.iterations)
    found = _bound(world, settings, records, effort)
    return found, [kind.name for kind in world.all.kinds]


def quick_bound(
    instance: RollingInstance,
    options: RollingOptions,
    settings: Settings,
    solution: RollingSolution | None,
) -> tuple[float, str]:
    """A few iterations of `bound_runs`, for the same draw of the true epochs as the run given."""
    world = World(instance, options)
    records = [] if solution is None else [solution.run]
    effort = BoundSettings(iterations=QUICK_ITERATIONS)
    return _bound(world, settings, records, effort).bound, BOUND_SOURCE


def own_policy(name: str, given: Any) -> Any:
    """Make a method of a user's policy: an object with ``schedule(view)``, or its class.

    ``schedule`` returns a `Plan` of `optsched.rolling.simulator.engine`; it is called again after
    an attribute ``wake`` of seconds at the latest.
    """

    def method(instance: RollingInstance, options: RollingOptions, settings: Settings) -> Outcome:
        began = clock()
        made = given() if isinstance(given, type) else given
        return _outcome(World(instance, options), _Own(name, made), settings, began)

    return method


class _Own:
    """A user's object as a policy of the simulator."""

    def __init__(self, name: str, given: Any) -> None:
        self.name, self.decide = name, given.schedule
        self.wake = float(getattr(given, "wake", math.inf))


def _outcome(world: World, policy: Decider, settings: Settings, began: float) -> Outcome:
    limited = Limited(world, policy, settings.deadline)
    try:
        records = simulate_rolling(world, limited, seed=settings.seed)
    except UnfinishedRunError as ended:
        details = {"message": str(ended)}
        return Outcome(None, ended.termination, solve_time=clock() - began, details=details)
    metrics, seconds = compute_metrics(world.instance, records), clock() - began
    epochs = draw_epochs(world.instance, settings.seed)
    cut = {} if limited.message is None else {"message": limited.message}
    return Outcome(
        RollingSolution.of(records, metrics.total_cost),
        Termination.TIME_LIMIT if limited.late else Termination.FEASIBLE,
        claimed=metrics.total_cost,
        solve_time=seconds,
        details={
            **cut,
            **{key: getattr(metrics, key) for key in DETAILS},
            "jobs": len(records.jobs),
            "offered_load": offered_load(world.instance),
            "clairvoyant_utilisation": clairvoyant_utilisation(world, epochs),
        },
    )


def _judged(
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
        shares = world.readings.shares
        report = audit(instance, records, claimed, epochs, shares=shares)
        yield Run(records, metrics, report, value, load, plan, message)


def _bound(
    world: World, settings: Settings, done: Sequence[Records], effort: BoundSettings
) -> Bound:
    """The bound on all runs of this draw; the runs set its steps and the time it covers.

    Without a run it is the uncapacitated bound.
    """
    epochs = draw_epochs(world.instance, settings.seed)
    if not done:
        return clairvoyant_bound(world, epochs, math.inf, BoundSettings(iterations=1))
    best = min(compute_metrics(world.instance, records).total_cost for records in done)
    last = max(record.completion for records in done for record in records.jobs)
    return clairvoyant_bound(world, epochs, best, effort, until=last, deadline=settings.deadline)
