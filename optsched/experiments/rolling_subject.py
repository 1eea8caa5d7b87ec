"""Selection over time as a subject of sweeps: a method is a policy, or the bound on all of them.

The objective is a run's total cost, checked by the audit. A seed is also that of the true epochs:
policies of one seed meet the same work, and the bound holds for that seed.
"""

from __future__ import annotations

import time
from typing import Any

from optsched.errors import InputError, shown
from optsched.files import instance_sha256
from optsched.result import Result, Termination

BOUND = "clairvoyant-bound"
BOUND_ITERATIONS = 200
DETAILS = (
    *("energy_cost", "tardiness_cost", "late_jobs", "jobs"),
    *("decisions", "preemptions", "migrations", "utilisation"),
)
"""Of a run's figures those that do not differ between two equal runs: no times."""


class RollingSubject:
    """Policies of `optsched roll`."""

    name = "rolling"
    defaults: tuple[str, ...] = (BOUND, "sts", "edf", "fifo", "price")
    bounds: tuple[str, ...] = (BOUND,)
    unit, shown_per_unit = "$", 1.0
    bound_by_seed = True

    @property
    def methods(self) -> tuple[str, ...]:
        """The bound, and every policy."""
        from optsched.rolling.policies import POLICIES

        return (BOUND, *POLICIES)

    def options(self, values: dict[str, Any]) -> dict[str, Any]:
        """`SelectionOptions` in full; as in `optsched roll`, postprocessing is off by default."""
        from optsched.selection.options import SelectionOptions

        return SelectionOptions.from_dict({"postprocessing": "off", **values}).to_dict()

    def instance(self, document: dict[str, Any], source: str) -> Any:
        """A rolling instance; raises InputError."""
        from optsched.rolling.instance import RollingInstance

        return RollingInstance.from_dict(document, source)

    def digest(self, method: str) -> str | None:
        """No policy comes from outside yet: raises InputError where a plan names one."""
        if method not in self.methods:
            expected = f"one of {', '.join(self.methods)}"
            raise InputError(self.name, "method", shown(method), expected)
        return None

    def warm_up(self) -> None:
        """Load compiled code before anything is timed."""
        from optsched.rolling.run import warm_up

        warm_up()

    def solve(
        self,
        instance: Any,
        method: str,
        *,
        options: dict[str, Any] | None = None,
        seed: int = 0,
        iterations: int | None = None,
        time_limit: float | None = None,
        **_: Any,
    ) -> Result:
        """Run a policy, or bound them all; `iterations` are those of ``rg`` or of the bound."""
        from optsched.rolling.policies import RollingSettings
        from optsched.selection.options import SelectionOptions

        if method not in self.methods:
            expected = f"one of {', '.join(self.methods)}"
            raise InputError("rolling", "method", shown(method), expected)
        readings = SelectionOptions.from_dict(self.options(dict(options or {})))
        common: dict[str, Any] = {
            "problem": self.name,
            "instance": instance.name,
            "instance_sha256": instance_sha256(instance.to_dict()),
            "method": method,
            "solver": None,
            "solver_version": None,
            "options": readings.to_dict(),
            "seed": seed,
            "build_time": 0.0,
            "solution": None,
        }
        if method == BOUND:
            return _bounded(instance, readings, seed, iterations, common)
        settings = RollingSettings(
            seed=seed,
            iterations=iterations,
            time_limit=time_limit,
            postprocessing=readings.postprocessing == "on",
        )
        return _rolled(instance, method, readings, settings, common)


def _rolled(
    instance: Any, method: str, options: Any, settings: Any, common: dict[str, Any]
) -> Result:
    from optsched.rolling.run import roll

    began = time.perf_counter()
    (done,) = roll(instance, [method], options=options, settings=settings)
    known = done.to_dict()
    return Result(
        **common,
        termination=Termination.FEASIBLE if done.audit.feasible else Termination.ERROR,
        objective=done.metrics.total_cost,
        bound=None,
        bound_source=None,
        solve_time=time.perf_counter() - began,
        check=done.audit,
        details={name: known[name] for name in DETAILS},
    )


def _bounded(
    instance: Any, options: Any, seed: int, iterations: int | None, common: dict[str, Any]
) -> Result:
    from optsched.rolling.bounds import BoundSettings, clairvoyant_bound
    from optsched.rolling.draws import true_epochs
    from optsched.rolling.policies import RollingSettings
    from optsched.rolling.run import roll
    from optsched.rolling.world import World

    began = time.perf_counter()
    (run,) = roll(instance, ["edf"], options=options, settings=RollingSettings(seed=seed))
    found = clairvoyant_bound(
        World(instance, options),
        true_epochs(instance, seed),
        run.metrics.total_cost,  # for the step sizes only
        BoundSettings(iterations=BOUND_ITERATIONS if iterations is None else iterations),
        until=max(record.completion for record in run.run.jobs),
    )
    return Result(
        **common,
        termination=Termination.FEASIBLE,
        objective=None,
        bound=found.bound,
        bound_source="clairvoyant Lagrangian",
        solve_time=time.perf_counter() - began,
        check=None,
        details={"uncapacitated": found.uncapacitated},
    )
