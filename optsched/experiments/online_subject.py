"""Online scheduling as a subject of sweeps: a method is a policy, or the bound on all of them.

The objective is a run's total flow time, checked by the audit. The predictor and what
`optsched simulate` calls settings are options.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from optsched.errors import InputError, shown
from optsched.files import instance_sha256
from optsched.result import Result, Termination

BOUND = "flow-bound"
STEPS_BY = "wcs-subtime"
"""Its flow sets the step lengths of the bound, never the bound's validity."""
PREDICTION = {"predictor": "online-group-mean", "training_share": None, "refit_interval": None}
DETAILS = (
    *("jobs", "mean_flow_time", "mean_slowdown", "inflation", "fragmentation"),
    *("makespan", "utilisation"),
)


class OnlineSubject:
    """Policies of `optsched simulate`."""

    name = "online"
    defaults: tuple[str, ...] = (BOUND, "a-srpt", "a-srpt-perfect", "spjf", "wcs-subtime")
    bounds: tuple[str, ...] = (BOUND,)
    unit, shown_per_unit = "h", 1 / 3600
    bound_by_seed = True

    @property
    def methods(self) -> tuple[str, ...]:
        """The bound, and every policy."""
        from optsched.online.policies import POLICIES

        return (BOUND, *POLICIES)

    def options(self, values: dict[str, Any]) -> dict[str, Any]:
        """The predictor's options and the policies' settings in full; raises InputError."""
        from optsched.online.policies import Settings
        from optsched.online.prediction import NAMES

        known = [*PREDICTION, *(field.name for field in fields(Settings))]
        for key in values:
            if key not in known:
                expected = f"one of {', '.join(known)}"
                raise InputError("options", shown(key), "an unknown option", expected)
        prediction = {key: values.get(key, default) for key, default in PREDICTION.items()}
        if prediction["predictor"] not in NAMES:
            expected = f"one of {', '.join(NAMES)}"
            raise InputError("options", "predictor", shown(prediction["predictor"]), expected)
        _require(prediction, "training_share", lambda share: 0 <= share < 1, "a share in [0, 1)")
        _require(prediction, "refit_interval", lambda s: 0 < s <= 1e15, "seconds in (0, 1e15]")
        settings = Settings(**{k: v for k, v in values.items() if k not in PREDICTION})
        return {**prediction, **settings.to_dict()}

    def instance(self, document: dict[str, Any], source: str) -> Any:
        """An online instance; raises InputError."""
        from optsched.online.instance import OnlineInstance

        return OnlineInstance.from_dict(document, source)

    def digest(self, method: str) -> str | None:
        """No policy comes from outside yet: raises InputError where a plan names one."""
        if method not in self.methods:
            expected = f"one of {', '.join(self.methods)}"
            raise InputError(self.name, "method", shown(method), expected)
        return None

    def warm_up(self) -> None:
        """Load compiled code before anything is timed."""
        from optsched.online.warm_up import warm_up

        warm_up(bounds=True)

    def solve(
        self,
        instance: Any,
        method: str,
        *,
        options: dict[str, Any] | None = None,
        seed: int = 0,
        iterations: int | None = None,
        **_: Any,
    ) -> Result:
        """Run a policy, or bound them all; `iterations` are those of the bound's dual."""
        from optsched.online.jobs import prepare_jobs
        from optsched.online.policies import Settings
        from optsched.online.prediction import predict

        if method not in self.methods:
            expected = f"one of {', '.join(self.methods)}"
            raise InputError("online", "method", shown(method), expected)
        readings = self.options(dict(options or {}))
        chosen = {key: readings[key] for key in PREDICTION}
        settings = Settings(**{k: v for k, v in readings.items() if k not in PREDICTION})
        jobs = prepare_jobs(instance.workload, instance.catalogue, instance.cluster)
        prediction = predict(jobs, chosen.pop("predictor"), **chosen, seed=seed)
        common: dict[str, Any] = {
            "problem": self.name,
            "instance": instance.name,
            "instance_sha256": instance_sha256(instance.to_dict()),
            "method": method,
            "solver": None,
            "solver_version": None,
            "options": readings,
            "seed": seed,
            "build_time": 0.0,
            "solution": None,
            "termination": Termination.FEASIBLE,
        }
        if method == BOUND:
            return _bounded(prediction.jobs, iterations, common)
        return _simulated(prediction, method, settings, common)


def _require(
    values: dict[str, Any], key: str, good: Callable[[float], bool], expected: str
) -> None:
    value = values[key]
    if value is not None and (type(value) not in (int, float) or not good(value)):
        raise InputError("options", key, shown(value), expected)


def _simulated(prediction: Any, method: str, settings: Any, common: dict[str, Any]) -> Result:
    from optsched.checking import CheckReport
    from optsched.online.simulating import run_policies

    (run,) = run_policies(prediction, [method], settings, with_audit=True)
    report = CheckReport(run.metrics.total_flow_time, tuple(run.violations or ()))
    known = run.to_dict()
    return Result(
        **{**common, "termination": _ended(report.feasible)},
        objective=report.objective,
        bound=None,
        bound_source=None,
        solve_time=run.engine_time,
        check=report,
        details={name: known[name] for name in DETAILS},
    )


def _ended(feasible: bool) -> Termination:
    return Termination.FEASIBLE if feasible else Termination.ERROR


def _bounded(jobs: Any, iterations: int | None, common: dict[str, Any]) -> Result:
    from optsched.online.bounds import ITERATIONS, flow_bounds
    from optsched.online.engine import simulate
    from optsched.online.metrics import compute_metrics

    began = time.perf_counter()
    known = compute_metrics(simulate(jobs, STEPS_BY)).total_flow_time
    passes = ITERATIONS if iterations is None else iterations
    found = flow_bounds(jobs, known_flow=known, iterations=passes)
    return Result(
        **common,
        objective=None,
        bound=found.best,
        bound_source=found.source,
        solve_time=time.perf_counter() - began,
        check=None,
    )
