"""Verification: solutions by the checkers, certificates by `verify`, stored or in files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from optsched.checking import bound_violation, claim_violation
from optsched.errors import InputError, shown
from optsched.files import read_document
from optsched.library.best_records import BestRecords, best_records, certificate_in
from optsched.library.records import Record, unpacked
from optsched.library.sets import Entry, all_entries, entry_of, load_entry
from optsched.library.shipped import load
from optsched.library.verify import RefusedError, verify
from optsched.methods import load_solution, problem_for
from optsched.problem import Problem, resolve
from optsched.problems import PROBLEMS


@dataclass(frozen=True)
class Answer:
    """The verdict on a solution or a certificate, in a file or submitted.

    Attributes
    ----------
    what : "value" or "bound"
    verdict : str
        "better and recorded", "equal", "not better", "feasible" or "proved"; or "infeasible" or
        "refused" with the reason.
    given, known : float or None
        As checked or proved, and the best one known before.
    refused : bool
        Whether a rule is violated, or the certificate proves nothing.
    """

    what: str
    verdict: str
    given: float | None = None
    known: float | None = None
    refused: bool = False

    def __str__(self) -> str:
        given = "" if self.given is None else f" {self.given!r}"
        known = "" if self.known is None else f" (best known so far: {self.known!r})"
        return f"{self.what}{given}: {self.verdict}{known}"


@dataclass(frozen=True)
class Verdict:
    """Result of verifying an instance's best records; no `faults` if they hold.

    `bound` is the best one with a certificate.
    """

    name: str
    value: float | None
    bound: float | None
    faults: list[str]
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        """The verdict as a JSON object."""
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
    """Verify instances, one after another."""
    return map(verify_entry, best_records(entries, store))


def sample(count: int, seed: int = 0) -> list[Entry]:
    """Draw instances of the library."""
    entries = list(all_entries())
    drawn = np.random.default_rng(seed).permutation(len(entries))[:count]
    return [entries[i] for i in sorted(drawn.tolist())]


def verify_files(
    reference: str, solution: str | None = None, certificate: str | None = None
) -> list[Answer]:
    """Check a solution's file (its own options) and a certificate's file (default options)."""
    instance = load(reference)
    answers = []
    if solution is not None:
        problem = problem_for(instance)
        report = resolve(problem.check)(instance, load_solution(problem, solution), None)
        faults = "; ".join(map(str, report.violations[:3]))
        verdict = f"infeasible: {faults}" if faults else "feasible"
        answers.append(Answer("value", verdict, report.objective, refused=bool(faults)))
    if certificate is not None:
        answers.append(verify_certificate(instance, read_document(certificate)))
    if not answers and entry_of(reference) is None:
        expected = "an instance of the library, or --solution or --certificate"
        raise InputError("verify", "", shown(reference), expected)
    return answers


def verify_certificate(instance: Any, document: dict[str, Any]) -> Answer:
    """The bound that a certificate proves, or the reason why it proves none."""
    try:
        return Answer("bound", "proved", verify(instance.to_dict(), document))
    except RefusedError as error:
        return Answer("bound", f"refused: {error}", refused=True)
