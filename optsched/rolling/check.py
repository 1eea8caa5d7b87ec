"""Checking a run's file: the audit, with the true epochs drawn again from instance and seed.

Only where and when each job ran is taken from the file.
"""

from typing import Any

from optsched.checking import CheckReport, another_instance
from optsched.files import instance_sha256
from optsched.rolling.audit import audit
from optsched.rolling.epochs import draw_epochs
from optsched.rolling.instance import RollingInstance
from optsched.rolling.options import RollingOptions
from optsched.rolling.policies.by_name import find_policy
from optsched.rolling.solution import RollingSolution


def check(
    instance: RollingInstance, solution: RollingSolution, options: dict[str, Any] | None = None
) -> CheckReport:
    """Audit a run and recompute its total cost."""
    if ":" not in solution.policy:  # a name with ":" is a user's own policy
        find_policy(solution.policy)
    run_options = RollingOptions.from_dict(dict(solution.options if options is None else options))
    mismatch = another_instance(
        solution, instance.name, lambda: instance_sha256(instance.to_dict())
    )
    if mismatch is not None:
        return mismatch
    claimed = {} if solution.objective is None else {"total_cost": solution.objective}
    epochs, shares = draw_epochs(instance, solution.seed), run_options.selection.shares
    return audit(instance, solution.run, claimed, epochs, shares=shares)
