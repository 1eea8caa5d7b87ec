"""Checking a run's file: the audit, with the true epochs drawn again from instance and seed.

Nothing of the file is believed but who ran where and when.
"""

from __future__ import annotations

from typing import Any

from optsched.checking import CheckReport, Violation
from optsched.errors import InputError, shown
from optsched.files import instance_sha256
from optsched.rolling.audit import audit
from optsched.rolling.instance import RollingInstance
from optsched.rolling.options import RollingOptions
from optsched.rolling.simulator.true_epochs import true_epochs
from optsched.rolling.solution import RollingSolution


def check(
    instance: RollingInstance, solution: RollingSolution, options: dict[str, Any] | None = None
) -> CheckReport:
    """Audit a run and recompute its total cost.

    Parameters
    ----------
    instance, solution
        The problem, and the run as its file has it.
    options : dict, optional
        The readings it is claimed under; by default the file's own.

    Returns
    -------
    CheckReport
        The objective is the total cost in dollars. Rules: "instance", those of
        `optsched.rolling.audit.audit`, and "claimed objective".

    Raises
    ------
    InputError
        For a policy or an option that does not exist.
    """
    from optsched.rolling.policies.by_name import POLICIES

    if solution.policy not in POLICIES and ":" not in solution.policy:  # with one: from outside
        raise InputError("run", "policy", shown(solution.policy), f"one of {', '.join(POLICIES)}")
    chosen = RollingOptions.from_dict(dict(solution.options if options is None else options))
    told = solution.instance_sha256
    if solution.instance != instance.name:
        other = f"instance {solution.instance!r}"
        return CheckReport(None, (Violation("instance", "file", other, 1),))
    if told is not None and told != instance_sha256(instance.to_dict()):
        return CheckReport(None, (Violation("instance", "file", "instance_sha256", 1),))
    claimed = {} if solution.objective is None else {"total_cost": solution.objective}
    return audit(
        instance,
        solution.run,
        claimed,
        true_epochs(instance, solution.seed),
        shares=chosen.readings.shares,
    )
