"""Running policies on an instance: records, metrics, audit and, where asked, the bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from optsched.checking import CheckReport
from optsched.rolling.audit import audit
from optsched.rolling.bounds import BoundSettings, clairvoyant_bound
from optsched.rolling.draws import true_epochs
from optsched.rolling.instance import RollingInstance
from optsched.rolling.metrics import Metrics, metrics_of
from optsched.rolling.policies import RollingSettings, policy
from optsched.rolling.records import RollingRun
from optsched.rolling.simulator import simulate
from optsched.rolling.world import World
from optsched.selection.options import SelectionOptions


@dataclass(frozen=True)
class Rolled:
    """A policy's run with all that is known of it.

    Attributes
    ----------
    bound : float or None
        Total cost that no policy can be below for these true epochs, dollars.
    """

    run: RollingRun
    metrics: Metrics
    audit: CheckReport
    bound: float | None

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
        }


def roll(
    instance: RollingInstance,
    policies: Sequence[str] = ("sts",),
    *,
    options: SelectionOptions | None = None,
    settings: RollingSettings | None = None,
    bound: BoundSettings | None = None,
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

    Yields
    ------
    Rolled
        One a policy. The bound covers every policy; its step sizes use the best cost of this call,
        its validity does not.
    """
    options, settings = options or SelectionOptions(), settings or RollingSettings()
    world = World(instance, options)
    made = [policy(name, world, settings) for name in policies]
    warm_up()
    epochs = true_epochs(instance, settings.seed)
    found = [simulate(world, each, seed=settings.seed, epochs=epochs) for each in made]
    metrics = [metrics_of(instance, run) for run in found]
    value = None
    if bound is not None:
        best = min(m.total_cost for m in metrics)
        last = max(record.completion for run in found for record in run.jobs)
        value = clairvoyant_bound(world, epochs, best, bound, until=last).bound
    for run, m in zip(found, metrics, strict=True):
        claimed = {"energy_cost": m.energy_cost, "tardiness_cost": m.tardiness_cost}
        yield Rolled(run, m, audit(instance, run, claimed), value)


@lru_cache
def warm_up() -> None:
    """Load the compiled loops of the policies before decisions are timed."""
    from optsched.rolling.warm_up import tiny_instance

    world = World(tiny_instance(), SelectionOptions())
    for name in ("sts", "rg", "dp", "price"):
        simulate(world, policy(name, world, RollingSettings()))
