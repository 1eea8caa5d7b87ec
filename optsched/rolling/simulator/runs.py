"""Running policies on an instance: records, metrics, audit and, where asked, the bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from optsched.checking import CheckReport
from optsched.rolling.audit import audit
from optsched.rolling.bounds.clairvoyant import (
    BoundSettings,
    clairvoyant_bound,
    clairvoyant_utilisation,
)
from optsched.rolling.instance import RollingInstance
from optsched.rolling.metrics import Metrics, metrics_of
from optsched.rolling.offered_load import offered_load
from optsched.rolling.policies.by_name import RollingSettings, policy
from optsched.rolling.records import RollingRun
from optsched.rolling.simulator.simulator import StalledError, refuse_endless, simulate
from optsched.rolling.simulator.true_epochs import true_epochs
from optsched.rolling.simulator.world import World
from optsched.selection.options import SelectionOptions

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Rolled:
    """A policy's run with all that is known of it.

    Attributes
    ----------
    bound : float or None
        Total cost that no policy can be below for these true epochs, dollars.
    load : float
        rho, offered work over capacity.
    plan : dict
        Utilisation by GPU type of the uncapacitated clairvoyant plan for these true epochs.
    """

    run: RollingRun
    metrics: Metrics
    audit: CheckReport
    bound: float | None
    load: float
    plan: dict[str, float]

    @property
    def excess(self) -> float | None:
        """Total cost / bound - 1."""
        return self.metrics.total_cost / self.bound - 1 if self.bound else None

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of ``optsched roll --json``."""
        m = self.metrics
        return {
            "instance": self.run.instance,
            "policy": self.run.policy,
            "seed": self.run.seed,
            "options": self.run.options,
            "total_cost": m.total_cost,
            "energy_cost": m.energy_cost,
            "tardiness_cost": m.tardiness_cost,
            "late_jobs": m.late_jobs,
            "jobs": len(self.run.jobs),
            "cost_bound": self.bound,
            "excess": self.excess,
            "audit": {
                "feasible": self.audit.feasible,
                "violations": [v.to_dict() for v in self.audit.violations],
            },
            "decision_time": m.decision_time,
            "longest_decision": m.longest_decision,
            "decisions": m.decisions,
            "preemptions": m.preemptions,
            "migrations": m.migrations,
            "utilisation": m.utilisation,
            "offered_load": self.load,
            "clairvoyant_utilisation": self.plan,
        }


def roll(
    instance: RollingInstance,
    policies: Sequence[str] = ("sts",),
    *,
    options: SelectionOptions | None = None,
    settings: RollingSettings | None = None,
    bound: BoundSettings | None = None,
    progress: Progress | None = None,
) -> Iterator[Rolled]:
    """Run policies on one draw of the true epochs (common random numbers).

    Parameters
    ----------
    instance : RollingInstance
    policies : sequence of str
        Names of `POLICIES`.
    options : SelectionOptions, optional
        Such as sharing on or off.
    settings : RollingSettings, optional
        The seed, and limits of single policies.
    bound : BoundSettings, optional
        How hard to try for the clairvoyant bound; None for no bound.
    progress : callable, optional
        Called with (policy, jobs done, jobs) after each event.

    Raises
    ------
    InputError
        If a policy is unknown, or a run could take too many decisions (`refuse_endless`).
    KeyboardInterrupt
        When interrupted, after the runs that were complete have been yielded.
    StalledError
        When a policy left jobs waiting on an idle cluster, after the others' runs were yielded.

    Yields
    ------
    Rolled
        One a policy. The bound covers every policy; its step sizes use the best cost of this call,
        its validity does not.
    """
    options, settings = options or SelectionOptions(), settings or RollingSettings()
    world = World(instance, options)
    made = [policy(name, world, settings) for name in policies]
    for each in made:
        refuse_endless(world, each)
    warm_up()
    epochs = true_epochs(instance, settings.seed)
    found, interrupted, stalled = [], False, []
    for each in made:
        report = None if progress is None else partial(progress, each.name)
        try:
            run = simulate(world, each, seed=settings.seed, epochs=epochs, progress=report)
        except KeyboardInterrupt:
            interrupted = True
            break
        except StalledError as error:
            stalled.append(str(error))
        else:
            found.append(run)
    if found:
        yield from _judged(world, epochs, found, None if interrupted else bound)
    if interrupted:
        raise KeyboardInterrupt
    if stalled:
        raise StalledError("; ".join(stalled))


def _judged(
    world: World, epochs: tuple[float, ...], found: list[RollingRun], effort: BoundSettings | None
) -> Iterator[Rolled]:
    instance, value = world.instance, None
    metrics = [metrics_of(instance, run) for run in found]
    if effort is not None:
        best = min(m.total_cost for m in metrics)
        last = max(record.completion for run in found for record in run.jobs)
        value = clairvoyant_bound(world, epochs, best, effort, until=last).bound
    load, plan = offered_load(instance), clairvoyant_utilisation(world, epochs)
    for run, m in zip(found, metrics, strict=True):
        claimed = {"energy_cost": m.energy_cost, "tardiness_cost": m.tardiness_cost}
        yield Rolled(run, m, audit(instance, run, claimed, epochs), value, load, plan)


@lru_cache
def warm_up() -> None:
    """Load the compiled loops of the policies before decisions are timed."""
    from optsched.rolling.warm_up import tiny_instance

    world = World(tiny_instance(), SelectionOptions())
    for name in ("sts", "rg", "dp", "price"):
        simulate(world, policy(name, world, RollingSettings()))
