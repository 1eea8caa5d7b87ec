"""The checker's report on a selection, and of the price certificate that the solution carries."""

from __future__ import annotations

from typing import Any

from optsched.checking import CheckReport
from optsched.selection.certificate_check import certificate_violations
from optsched.selection.check import check
from optsched.selection.instance import SelectionInstance
from optsched.selection.options import SelectionOptions
from optsched.selection.solution import SelectionSolution


def verify(
    instance: SelectionInstance,
    solution: SelectionSolution,
    options: dict[str, Any] | None = None,
) -> CheckReport:
    """Check a selection as `check` does, then its certificate, when it has one and a cost."""
    report = check(instance, solution, options)
    if report.objective is None or solution.certificate is None:
        return report
    chosen = SelectionOptions.from_dict(solution.options if options is None else options)
    found = certificate_violations(instance, solution.certificate, chosen, report.objective)
    return CheckReport(report.objective, (*report.violations, *found))
