"""Policies over time, and the bound on all of them, as methods like any other."""

from __future__ import annotations

import math
import time
from typing import Any

from optsched.result import Outcome, Settings, Termination
from optsched.rolling.bounds.clairvoyant import BoundSettings, clairvoyant_bound
from optsched.rolling.instance import RollingInstance
from optsched.rolling.metrics import Metrics, metrics_of
from optsched.rolling.options import RollingOptions
from optsched.rolling.policies.by_name import RollingSettings, policy
from optsched.rolling.records import RollingRun
from optsched.rolling.simulator.simulator import Plan, simulate
from optsched.rolling.simulator.true_epochs import true_epochs
from optsched.rolling.simulator.world import View, World
from optsched.rolling.solution import RollingSolution

BOUND_ITERATIONS = 200
STEPS_BY = "edf"
"""Its cost sets the step lengths of the bound, never the bound's validity."""
DETAILS = (
    *("energy_cost", "tardiness_cost", "late_jobs"),
    *("decisions", "preemptions", "migrations", "utilisation"),
)
"""Of a run's figures those that do not differ between two equal runs: no times."""


def run_policy(
    name: str, instance: RollingInstance, options: RollingOptions, settings: Settings
) -> Outcome:
    """Run a policy on the seed's draw of the true epochs; `iterations` are those of ``rg``."""
    began = time.perf_counter()
    run, metrics = _rolled(name, instance, options, settings)
    known = {key: getattr(metrics, key) for key in DETAILS}
    return Outcome(
        RollingSolution.of(run, metrics.total_cost),
        Termination.FEASIBLE,
        claimed=metrics.total_cost,
        solve_time=time.perf_counter() - began,
        details={**known, "jobs": len(run.jobs)},
    )


def bound_runs(
    name: str, instance: RollingInstance, options: RollingOptions, settings: Settings
) -> Outcome:
    """Bound every policy's cost for the seed's true epochs; `iterations` are the dual's."""
    began = time.perf_counter()
    run, metrics = _rolled(STEPS_BY, instance, options, settings)
    effort = BOUND_ITERATIONS if settings.iterations is None else settings.iterations
    found = clairvoyant_bound(
        World(instance, options.readings),
        true_epochs(instance, settings.seed),
        metrics.total_cost,
        BoundSettings(iterations=effort),
        until=max(record.completion for record in run.jobs),
    )
    return Outcome(
        None,
        Termination.FEASIBLE,
        bound=found.bound,
        bound_source="clairvoyant Lagrangian",
        solve_time=time.perf_counter() - began,
        details={"uncapacitated": found.uncapacitated},
    )


def _rolled(
    name: str, instance: RollingInstance, options: RollingOptions, settings: Settings
) -> tuple[RollingRun, Metrics]:
    world = World(instance, options.readings)
    chosen = RollingSettings(
        seed=settings.seed,
        iterations=settings.iterations,
        time_limit=settings.time_limit,
        postprocessing=options.readings.postprocessing == "on",
        constants=options.constants,
    )
    epochs = true_epochs(instance, settings.seed)
    run = simulate(world, policy(name, world, chosen), seed=settings.seed, epochs=epochs)
    return run, metrics_of(instance, run)


def own_policy(name: str, given: Any) -> Any:
    """A method of a policy of the caller's: an object with ``schedule(view)``, or its class.

    ``schedule`` returns an `optsched.rolling.simulator.simulator.Plan`; an attribute ``wake`` asks
    to be called again after so many seconds at the latest.
    """

    def method(
        instance: RollingInstance, options: RollingOptions, settings: Settings
    ) -> RollingSolution:
        world = World(instance, options.readings)
        epochs = true_epochs(instance, settings.seed)
        made = _Own(name, given() if isinstance(given, type) else given)
        run = simulate(world, made, seed=settings.seed, epochs=epochs)
        return RollingSolution.of(run, metrics_of(instance, run).total_cost)

    return method


class _Own:
    """A caller's object as a policy of the simulator."""

    def __init__(self, name: str, given: Any) -> None:
        self.name, self._given = name, given
        self.wake = float(getattr(given, "wake", math.inf))

    def decide(self, view: View) -> Plan:
        plan: Plan = self._given.schedule(view)
        return plan
