"""Verifying what the library holds: solutions by the checkers, certificates by `verify`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from optsched.checking import bound_violation, claim_violation
from optsched.errors import InputError, shown
from optsched.library.records import Record, unpacked
from optsched.library.sets import Entry, entries, entry_of, make
from optsched.library.shipped import load
from optsched.library.standing import Standing, certificate_in, standings
from optsched.library.submitting import Answer
from optsched.library.verify import RefusedError, verify
from optsched.methods import load_solution, problem_for
from optsched.problem import resolve
from optsched.problems import PROBLEMS


@dataclass(frozen=True)
class Verdict:
    """What was verified of one instance; `faults` is empty where all of it holds."""

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
    faults: list[str] = []
    notes: list[str] = []
    if known.value is None:
        notes.append("no solution is known")
    else:
        faults += _value_faults(known.entry, instance, known.value)
    if known.certified is not None:
        faults += _bound_faults(instance, known.certified)
    if known.bound is not None and known.bound is not known.certified:
        word = known.bound.solver or f"{known.bound.method} ({known.bound.proof})"
        notes.append(f"beyond it a bound of {known.bound.value!r} on the word of {word}")
    if known.value is not None and known.bound is not None:
        above = bound_violation(known.bound.value, known.value.value)
        faults += [] if above is None else [f"{above}"]
    value = None if known.value is None else known.value.value
    bound = None if known.certified is None else known.certified.value
    return Verdict(known.entry.name, value, bound, tuple(faults), tuple(notes))


def _value_faults(entry: Entry, instance: Any, record: Record) -> Iterator[str]:
    problem, place = PROBLEMS[entry.problem], f"{entry.name}: solution"
    document = unpacked(record.solution or "", place)
    solution = resolve(problem.solution).from_dict(document, place)
    own_options = entry.problem == "online"
    report = resolve(problem.check)(instance, solution, None if own_options else {})
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
    """Verify some instances, one after another."""
    for known in standings(chosen, store):
        yield verify_entry(known)


def sample(count: int, seed: int = 0) -> list[Entry]:
    """So many instances of the library, drawn."""
    every = list(entries())
    drawn = np.random.default_rng(seed).permutation(len(every))[:count]
    return [every[i] for i in sorted(drawn.tolist())]


def verify_files(
    reference: str, solution: str | None = None, certificate: str | None = None
) -> list[Answer]:
    """Check a solution's file by its options, and verify a certificate's by the default ones."""
    from optsched.files import read_document

    instance = load(reference)
    answers = []
    if solution is not None:
        problem = problem_for(instance)
        report = resolve(problem.check)(instance, load_solution(problem, solution), None)
        faults = "; ".join(map(str, report.violations[:3]))
        verdict = f"infeasible: {faults}" if faults else "feasible"
        answers.append(Answer("value", verdict, report.objective, refused=bool(faults)))
    if certificate is not None:
        try:
            proved = verify(instance.to_dict(), read_document(certificate))
            answers.append(Answer("bound", "proved", proved))
        except RefusedError as error:
            answers.append(Answer("bound", f"refused: {error}", refused=True))
    if not answers and entry_of(reference) is None:
        expected = "an instance of the library, or --solution or --certificate"
        raise InputError("verify", "", shown(reference), expected)
    return answers
