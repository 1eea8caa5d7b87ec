"""Submissions of solutions and certificates: checked, compared, and recorded if they are better.

A submission is recorded only if all its parts are valid. The best known records are read under the
lock of the store, so that concurrent submissions are compared in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from optsched.checking import Violation, bound_violation
from optsched.errors import InputError, shown
from optsched.files import read_document
from optsched.library.best_records import EQUAL_RTOL, BestRecords, best_records
from optsched.library.measuring import today, without_certificate
from optsched.library.records import Record, add, locked, packed
from optsched.library.sets import Entry, load_entry, required_entry
from optsched.library.verifying import Answer, default_report, verify_certificate
from optsched.methods import load_solution
from optsched.problems import PROBLEMS

BETTER, EQUAL, NOT_BETTER = "better and recorded", "equal", "not better"
MAX_NAME_LETTERS = 200


def submit(
    name: str,
    solution: str | Path,
    *,
    by: str,
    store: str | Path,
    certificate: str | Path | None = None,
) -> list[Answer]:
    """Check a submission and record improvements in a store."""
    if not by.strip() or len(by) > MAX_NAME_LETTERS or not by.isprintable():
        expected = f"a line of 1 to {MAX_NAME_LETTERS} characters"
        raise InputError("submit", "--by", shown(by), expected)
    entry = required_entry(name)
    instance = load_entry(entry)
    value, document = _checked(entry, instance, solution)
    proof = None if certificate is None else read_document(certificate)
    bound = None if proof is None else verify_certificate(instance, proof)
    refused = [answer for answer in (value, bound) if answer is not None and answer.refused]
    if refused:
        return refused
    common = {"instance": entry.name, "sha256": entry.sha256, "by": by, "date": today()}
    records = [Record(**common, kind="value", value=value.given, solution=packed(document))]
    if bound is not None:
        fields = {"kind": "bound", "value": bound.given, "proof": "certificate"}
        records.append(Record(**common, **fields, certificate=packed(proof)))
    with locked(Path(store) / f"{entry.set_name}.jsonl") as stream:
        (best,) = best_records([entry], store)
        contradiction = _contradiction(best, records)
        if contradiction is not None:
            return [contradiction]
        add(stream, [record.line() for record in records if best.improved_by(record)])
    return [_compared(best, record) for record in records]


def _checked(entry: Entry, instance: Any, path: str | Path) -> tuple[Answer, dict[str, Any]]:
    """Check a solution's file under the default options; return the answer and the document."""
    problem = PROBLEMS[entry.problem]
    solution = load_solution(problem, path)
    violations, objective = [*_incomparable(entry, solution)], None
    if not violations:
        report = default_report(problem, instance, solution)
        violations, objective = list(report.violations), report.objective
    if violations or objective is None:
        reason = "; ".join(map(str, violations[:3])) or "it has no value"
        return Answer("value", f"infeasible: {reason}", refused=True), {}
    update = {"objective": objective}
    if entry.problem != "online":
        update["options"] = problem.options_of()
    document = without_certificate(solution.model_copy(update=update).to_dict())
    return Answer("value", "", objective), document


def _incomparable(entry: Entry, solution: Any) -> Iterator[Violation]:
    """Violations by runs with another seed, or of only a part of the jobs."""
    if entry.problem == "rolling" and solution.seed != 0:
        yield Violation("seed", "common random numbers", f"seed {solution.seed}", 1)
    if entry.problem == "online" and solution.options.get("training_share") is not None:
        yield Violation("jobs", "all jobs run", "option training_share", 1)


def _contradiction(best: BestRecords, records: list[Record]) -> Answer | None:
    """A value below a certified bound: one of the two checks must be wrong."""
    values = [r.value for r in (*records, best.value) if r is not None and r.kind == "value"]
    bounds = [r.value for r in (*records, best.certified) if r is not None and r.kind == "bound"]
    violation = bound_violation(max(bounds), min(values)) if bounds else None
    if violation is None:
        return None
    reason = f"refused: {violation}; value {min(values)!r}, bound {max(bounds)!r}"
    return Answer(records[-1].kind, reason, records[-1].value, refused=True)


def _compared(best: BestRecords, record: Record) -> Answer:
    rival = best.rival_of(record)
    if rival is None:
        return Answer(record.kind, BETTER, record.value)
    is_equal = abs(rival.value - record.value) <= EQUAL_RTOL * abs(rival.value)
    verdict = BETTER if best.improved_by(record) else EQUAL if is_equal else NOT_BETTER
    return Answer(record.kind, verdict, record.value, rival.value)
