"""Verification: solutions by the checkers, certificates by `verify`, stored, in files or submitted.

A submission is recorded only if all its parts are valid and better than the best known ones, which
are read under the lock of the store, so that concurrent submissions are compared in order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from optsched.checking import Violation, bound_violation, claim_violation
from optsched.errors import InputError, shown
from optsched.files import read_document
from optsched.library.best_records import EQUAL_RTOL, BestRecords, best_records, certificate_in
from optsched.library.records import (
    Record,
    add,
    locked,
    packed,
    today,
    unpacked,
    without_certificate,
)
from optsched.library.sets import Entry, all_entries, entry_of, load_entry, required_entry
from optsched.library.shipped import load
from optsched.library.verify import RefusedError, verify
from optsched.methods import load_solution, problem_for
from optsched.problem import Problem, resolve
from optsched.problems import PROBLEMS

BETTER, EQUAL, NOT_BETTER = "better and recorded", "equal", "not better"
MAX_NAME_LETTERS = 200


@dataclass(frozen=True)
class Assessment:
    """The verdict on a solution or a certificate, in a file or submitted."""

    what: str  # "value" or "bound"
    # "better and recorded", "equal", "not better", "feasible" or "proved"; or "infeasible" or
    # "refused" with the reason
    verdict: str
    given: float | None = None  # as checked or proved
    known: float | None = None  # the best one known before
    refused: bool = False  # whether a rule is violated, or the certificate proves nothing

    def __str__(self) -> str:
        given = "" if self.given is None else f" {self.given!r}"
        known = "" if self.known is None else f" (best known so far: {self.known!r})"
        return f"{self.what}{given}: {self.verdict}{known}"


@dataclass(frozen=True)
class Verdict:
    """Result of verifying an instance's best records: `bound` is the best with a certificate."""

    name: str
    value: float | None
    bound: float | None
    faults: list[str]
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "holds": not self.faults}


def verify_entry(best: BestRecords) -> Verdict:
    """Load an instance, check its best solution, and verify its best certificate."""
    instance = load_entry(best.entry)
    value, bound, certified = best.value, best.bound, best.certified
    faults: list[str] = []
    notes: list[str] = []
    if value is None:
        notes.append("no solution is known")
    else:
        faults += _value_faults(best.entry, instance, value)
    if certified is not None:
        faults += _bound_faults(instance, certified)
    if bound is not None and bound is not certified:
        source = bound.solver or f"{bound.method}, {bound.proof}"
        notes.append(f"best uncertified bound: {bound.value!r} (by {source})")
    if value is not None and bound is not None:
        violation = bound_violation(bound.value, value.value)
        faults += [] if violation is None else [f"{violation}"]
    return Verdict(
        best.entry.name,
        None if value is None else value.value,
        None if certified is None else certified.value,
        faults,
        notes,
    )


def default_report(problem: Problem, instance: Any, solution: Any) -> Any:
    """The checker's report under default options; for online, under the solution's own."""
    return resolve(problem.check)(instance, solution, None if problem.name == "online" else {})


def _value_faults(entry: Entry, instance: Any, record: Record) -> Iterator[str]:
    problem, source = PROBLEMS[entry.problem], f"{entry.name}: solution"
    document = unpacked(record.solution or "", source)
    solution = resolve(problem.solution).from_dict(document, source)
    report = default_report(problem, instance, solution)
    yield from map(str, report.violations)
    if report.objective is None:
        yield "the solution has no objective"
        return
    mismatch = claim_violation(record.value, report.objective, report.rounding)
    if mismatch is not None:
        yield f"{mismatch}: the solution's value is {report.objective!r}"


def _bound_faults(instance: Any, record: Record) -> Iterator[str]:
    try:
        proved = verify(instance.to_dict(), certificate_in(record))
    except RefusedError as error:
        yield f"certificate refused: {error}"
        return
    if claim_violation(record.value, proved) is not None and record.value > proved:
        yield f"the certificate proves {proved!r}, the record says {record.value!r}"


def verify_many(entries: Sequence[Entry], store: str | Path | None = None) -> Iterator[Verdict]:
    return map(verify_entry, best_records(entries, store))


def sample(count: int, seed: int = 0) -> list[Entry]:
    entries = list(all_entries())
    drawn = np.random.default_rng(seed).permutation(len(entries))[:count]
    return [entries[i] for i in sorted(drawn.tolist())]


def verify_files(
    reference: str, solution: str | None = None, certificate: str | None = None
) -> list[Assessment]:
    """Check a solution's file (its own options) and a certificate's file (default options)."""
    instance = load(reference)
    answers = []
    if solution is not None:
        problem = problem_for(instance)
        report = resolve(problem.check)(instance, load_solution(problem, solution), None)
        faults = "; ".join(map(str, report.violations[:3]))
        verdict = f"infeasible: {faults}" if faults else "feasible"
        answers.append(Assessment("value", verdict, report.objective, refused=bool(faults)))
    if certificate is not None:
        answers.append(verify_certificate(instance, _read_certificate(certificate)))
    if not answers and entry_of(reference) is None:
        expected = "an instance of the library, or --solution or --certificate"
        raise InputError("verify", "", shown(reference), expected)
    return answers


def _read_certificate(path: str | Path) -> dict[str, Any]:
    """Read a certificate's file; raises InputError for another file, such as a whole result."""
    document = read_document(path)
    if "kind" not in document:
        has_one = isinstance(document.get("certificate"), dict)
        found = 'an object that has a "certificate"' if has_one else 'an object without a "kind"'
        expected = f"a certificate{', the content of that key' if has_one else ''}"
        raise InputError(str(path), "", found, expected)
    return document


def verify_certificate(instance: Any, document: dict[str, Any]) -> Assessment:
    """The bound that a certificate proves, or the reason why it proves none."""
    try:
        return Assessment("bound", "proved", verify(instance.to_dict(), document))
    except RefusedError as error:
        return Assessment("bound", f"refused: {error}", refused=True)


def submit(
    name: str,
    solution: str | Path,
    *,
    by: str,
    store: str | Path,
    certificate: str | Path | None = None,
) -> list[Assessment]:
    """Check a submission and record improvements in a store."""
    if not by.strip() or len(by) > MAX_NAME_LETTERS or not by.isprintable():
        expected = f"a line of 1 to {MAX_NAME_LETTERS} characters"
        raise InputError("submit", "--by", shown(by), expected)
    entry = required_entry(name)
    instance = load_entry(entry)
    value, document = _checked(entry, instance, solution)
    proof = None if certificate is None else _read_certificate(certificate)
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


def _checked(entry: Entry, instance: Any, path: str | Path) -> tuple[Assessment, dict[str, Any]]:
    """Check a solution's file under the default options; return the answer and the document."""
    problem = PROBLEMS[entry.problem]
    solution = load_solution(problem, path)
    violations, objective = [*_incomparable(entry, solution)], None
    if not violations:
        report = default_report(problem, instance, solution)
        violations, objective = list(report.violations), report.objective
    if violations or objective is None:
        reason = "; ".join(map(str, violations[:3])) or "it has no value"
        return Assessment("value", f"infeasible: {reason}", refused=True), {}
    update = {"objective": objective}
    if entry.problem != "online":
        update["options"] = problem.options_of()
    document = without_certificate(solution.model_copy(update=update).to_dict())
    return Assessment("value", "", objective), document


def _incomparable(entry: Entry, solution: Any) -> Iterator[Violation]:
    """Violations by runs with another seed, or of only a part of the jobs."""
    if entry.problem == "rolling" and solution.seed != 0:
        yield Violation("seed", "common random numbers", f"seed {solution.seed}", 1)
    if entry.problem == "online" and solution.options.get("training_share") is not None:
        yield Violation("jobs", "all jobs run", "option training_share", 1)


def _contradiction(best: BestRecords, records: list[Record]) -> Assessment | None:
    """A value below a certified bound: one of the two checks must be wrong."""
    values = [r.value for r in (*records, best.value) if r is not None and r.kind == "value"]
    bounds = [r.value for r in (*records, best.certified) if r is not None and r.kind == "bound"]
    violation = bound_violation(max(bounds), min(values)) if bounds else None
    if violation is None:
        return None
    reason = f"refused: {violation}; value {min(values)!r}, bound {max(bounds)!r}"
    return Assessment(records[-1].kind, reason, records[-1].value, refused=True)


def _compared(best: BestRecords, record: Record) -> Assessment:
    rival = best.rival_of(record)
    if rival is None:
        return Assessment(record.kind, BETTER, record.value)
    is_equal = abs(rival.value - record.value) <= EQUAL_RTOL * abs(rival.value)
    verdict = BETTER if best.improved_by(record) else EQUAL if is_equal else NOT_BETTER
    return Assessment(record.kind, verdict, record.value, rival.value)
