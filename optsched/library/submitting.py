"""Submissions of solutions and certificates: checked, compared, and recorded if they are better.

Nothing is recorded unless all of a submission holds. The best known records are read under the lock
of the store, so that of two submissions at once the second is compared with the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from optsched.checking import Violation, bound_violation
from optsched.errors import InputError, shown
from optsched.files import read_document
from optsched.library.measuring import today, without_certificate
from optsched.library.records import Record, add, locked, packed
from optsched.library.sets import Entry, make, required_entry
from optsched.library.standing import SAME, Standing, exceeds, standings
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
    """Judge a submission, and add what is better to a store."""
    if not by.strip() or len(by) > MAX_NAME_LETTERS or not by.isprintable():
        raise InputError(
            "submit", "--by", shown(by), f"a line of 1 to {MAX_NAME_LETTERS} characters"
        )
    entry = required_entry(name)
    instance = make(entry)
    value, document = _checked(entry, instance, solution)
    proof = None if certificate is None else read_document(certificate)
    bound = None if proof is None else verify_certificate(instance, proof)
    refused = [answer for answer in (value, bound) if answer is not None and answer.refused]
    if refused:
        return refused
    common = {"instance": entry.name, "sha256": entry.sha256, "by": by, "date": today()}
    records = [Record.of(**common, kind="value", value=value.given, solution=packed(document))]
    if bound is not None:
        fields = {"kind": "bound", "value": bound.given, "proof": "certificate"}
        records.append(Record.of(**common, **fields, certificate=packed(proof)))
    with locked(Path(store) / f"{entry.set_name}.jsonl") as stream:
        (known,) = standings([entry], store)
        contradiction = next(_contradictions(known, records), None)
        if contradiction is not None:
            return [contradiction]
        answers = [_compared(known, record) for record in records]
        pairs = zip(answers, records, strict=True)
        add(stream, [record.line() for answer, record in pairs if answer.verdict == BETTER])
    return answers


def _checked(entry: Entry, instance: Any, path: str | Path) -> tuple[Answer, dict[str, Any]]:
    """Check a solution's file under the default options; return the answer and the document."""
    problem = PROBLEMS[entry.problem]
    solution = load_solution(problem, path)
    violations, objective = [*_not_comparable(entry, solution)], None
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


def _not_comparable(entry: Entry, solution: Any) -> Iterator[Violation]:
    """Runs of another draw, or of part of the jobs."""
    if entry.problem == "rolling" and solution.seed != 0:
        yield Violation("seed", "common random numbers", f"seed {solution.seed}", 1)
    if entry.problem == "online" and solution.options.get("training_share") is not None:
        yield Violation("jobs", "all jobs run", "option training_share", 1)


def _contradictions(known: Standing, records: list[Record]) -> Iterator[Answer]:
    """A value below a certified bound, or a bound above a value: one of two checks is wrong."""
    values = [r.value for r in (*records, known.value) if r is not None and r.kind == "value"]
    bounds = [r.value for r in (*records, known.certified) if r is not None and r.kind == "bound"]
    if values and bounds:
        violation = bound_violation(max(bounds), min(values))
        if violation is not None:
            reason = f"refused: {violation}; value {min(values)!r}, bound {max(bounds)!r}"
            yield Answer(records[-1].kind, reason, records[-1].value, refused=True)


def _compared(known: Standing, record: Record) -> Answer:
    best = known.value if record.kind == "value" else known.certified
    sign = 1 if record.kind == "value" else -1
    if best is None or exceeds(sign * best.value, sign * record.value):
        verdict = BETTER
    else:
        is_equal = abs(best.value - record.value) <= SAME * abs(best.value)
        verdict = EQUAL if is_equal else NOT_BETTER
    return Answer(record.kind, verdict, record.value, None if best is None else best.value)
