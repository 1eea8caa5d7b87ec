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
from optsched.library.records import Record, unpacked
from optsched.library.sets import Entry, entries, entry_of, make
from optsched.library.shipped import load
from optsched.library.standing import Standing, certificate_in, standings
from optsched.library.verify import RefusedError, verify
from optsched.methods import load_solution, problem_for
from optsched.problem import Problem, resolve
from optsched.problems import PROBLEMS


@dataclass(frozen=True)
class Answer:
    """The verdict on one part of a submission.

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

    def to_dict(self) -> dict[str, Any]:
        """The answer as a JSON object."""
        return dict(vars(self))


@dataclass(frozen=True)
class Verdict:
    """What verification of an instance's best records gave; no `faults` if they hold.

    `bound` is the best one with a certificate.
    """

    name: str
    value: float | None
    bound: float | None
    faults: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The verdict as a JSON object."""
        document = {**vars(self), "faults": list(self.faults), "notes": list(self.notes)}
        return {**document, "holds": not self.faults}


def verify_entry(known: Standing) -> Verdict:
    """Make an instance, check its best solution, and verify its best certificate."""
    instance = make(known.entry)
    value, bound, certified = known.value, known.bound, known.certified
    faults: list[str] = []
    notes: list[str] = []
    if value is None:
        notes.append("no solution is known")
    else:
        faults += _value_faults(known.entry, instance, value)
    if certified is not None:
        faults += _bound_faults(instance, certified)
    if bound is not None and bound is not certified:
        source = bound.solver or f"{bound.method} ({bound.proof})"
        notes.append(f"beyond it a bound of {bound.value!r} on the word of {source}")
    if value is not None and bound is not None:
        above = bound_violation(bound.value, value.value)
        faults += [] if above is None else [f"{above}"]
    return Verdict(
        known.entry.name,
        None if value is None else value.value,
        None if certified is None else certified.value,
        tuple(faults),
        tuple(notes),
    )


def default_report(problem: Problem, instance: Any, solution: Any) -> Any:
    """The checker's report under default options; an online policy's options do not matter."""
    return resolve(problem.check)(instance, solution, None if problem.name == "online" else {})


def _value_faults(entry: Entry, instance: Any, record: Record) -> Iterator[str]:
    problem, place = PROBLEMS[entry.problem], f"{entry.name}: solution"
    document = unpacked(record.solution or "", place)
    solution = resolve(problem.solution).from_dict(document, place)
    report = default_report(problem, instance, solution)
    yield from (str(violation) for violation in report.violations)
    if report.objective is None:
        yield "the solution has no value"
    else:
        off = claim_violation(record.value, report.objective, report.rounding)
        if off is not None:
            yield f"{off}: the solution's value is {report.objective!r}"


def _bound_faults(instance: Any, record: Record) -> Iterator[str]:
    try:
        proved = verify(instance.to_dict(), certificate_in(record))
    except RefusedError as error:
        yield f"certificate refused: {error}"
        return
    if claim_violation(record.value, proved) is not None and record.value > proved:
        yield f"the certificate proves {proved!r}, the record says {record.value!r}"


def verify_many(chosen: Sequence[Entry], store: str | Path | None = None) -> Iterator[Verdict]:
    """Verify instances, one after another."""
    for known in standings(chosen, store):
        yield verify_entry(known)


def sample(count: int, seed: int = 0) -> list[Entry]:
    """Draw instances of the library."""
    every = list(entries())
    drawn = np.random.default_rng(seed).permutation(len(every))[:count]
    return [every[i] for i in sorted(drawn.tolist())]


def verify_files(
    reference: str, solution: str | None = None, certificate: str | None = None
) -> list[Answer]:
    """Check a solution's file under its own options, verify a certificate's under the default."""
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
