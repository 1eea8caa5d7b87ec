"""Checked results from the outcomes of methods."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from optsched.backends.pyomo_solvers import solver_version
from optsched.checking import CheckReport, Violation, bound_violation, claim_violation
from optsched.files import instance_sha256
from optsched.library.verify import RefusedError, verify
from optsched.problem import Method, Problem, resolve
from optsched.result import (
    Certificate,
    Outcome,
    Result,
    Settings,
    Termination,
    clipped_bound,
    is_proved,
    is_solved,
)


def result_of(
    problem: Problem,
    instance: Any,
    method: Method,
    options: Any,
    settings: Settings,
    outcome: Outcome,
) -> Result:
    """Return the checked result of an outcome; the only constructor of `Result`."""
    report, solution = None, outcome.solution
    termination, sha256 = outcome.termination, instance_sha256(instance.to_dict())
    if solution is not None:
        report = _report(problem, instance, options, outcome)
        fields = {"objective": report.objective, "options": options.to_dict()}
        if "instance_sha256" in type(solution).model_fields:
            fields["instance_sha256"] = sha256
        solution = solution.model_copy(update=fields)
        if not report.feasible:
            termination = Termination.ERROR
        else:
            termination = _proved_or_feasible(method, report, outcome, settings)
    measures = resolve(problem.measures) if problem.measures else lambda *_: {}
    return Result(
        problem=problem.name,
        instance=instance.name,
        instance_sha256=sha256,
        method=method.name,
        solver=outcome.solver,
        solver_version=None if outcome.solver is None else solver_version(outcome.solver),
        options=options.to_dict(),
        seed=settings.seed,
        termination=termination,
        objective=None if report is None else report.objective,
        bound=clipped_bound(outcome.bound, None if report is None else report.objective),
        bound_source=outcome.bound_source,
        build_time=outcome.build_time,
        solve_time=outcome.solve_time,
        check=report,
        solution=solution,
        chosen=outcome.chosen,
        trace=outcome.trace,
        details=outcome.details,
        certificate=outcome.certificate,
        only_bound=_has_only_bound(method, outcome),
        instance_data=instance,
        measures=measures(instance, solution, options),
    )


def _has_only_bound(method: Method, outcome: Outcome) -> bool:
    """Whether an outcome has a bound and no solution, as its method intends."""
    if outcome.solution is not None or outcome.bound is None:
        return False
    completed = outcome.termination in (Termination.FEASIBLE, Termination.OPTIMAL)
    return completed or (method.kind == "bound" and outcome.termination is Termination.TIME_LIMIT)


def _proved_or_feasible(
    method: Method, report: CheckReport, outcome: Outcome, settings: Settings
) -> Termination:
    """Accept "optimal" only if the bound proves the checked objective at the gap.

    A method of the package may know an optimum without a bound and keeps its solver's tolerance;
    a custom one does neither.
    """
    objective, bound = report.objective, outcome.bound
    if outcome.termination is not Termination.OPTIMAL or objective is None:
        return outcome.termination
    if callable(method.run):
        proved = bound is not None and is_proved(objective, bound, settings.gap)
    else:
        proved = bound is None or is_solved(objective, min(bound, objective), settings.gap)
    return Termination.OPTIMAL if proved else Termination.FEASIBLE


def _report(problem: Problem, instance: Any, options: Any, outcome: Outcome) -> CheckReport:
    """Return the checker's report, with violations of the method's claim, bound and certificate."""
    report: CheckReport = resolve(problem.check)(instance, outcome.solution, options.to_dict())
    violations: list[Violation | None] = list(report.violations)
    if report.objective is not None and outcome.claimed is not None:
        violations.append(claim_violation(outcome.claimed, report.objective, report.rounding))
    if report.objective is not None and outcome.bound is not None:
        violations.append(bound_violation(outcome.bound, report.objective, report.rounding))
    if outcome.certificate is not None:
        violations += certificate_violations(instance, outcome.certificate, options.to_dict())
    return replace(report, violations=tuple(v for v in violations if v is not None))


def certificate_violations(
    instance: Any, certificate: Certificate, options: Mapping[str, Any] | None = None
) -> list[Violation]:
    """Return the violation of a certificate that does not prove its bound."""
    try:
        verify(instance.to_dict(), certificate.to_dict(), options)
    except RefusedError as error:
        return [Violation("certificate", "bound", str(error), error.shortfall)]
    return []
