"""Submitting a solution or a certificate: checked by the package's own code, kept if it is better.

Nothing is kept unless all of a submission holds. What is known is looked up while nobody else
writes, so that of two submissions at once the second is judged by the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optsched.checking import Violation, bound_violation
from optsched.errors import InputError, shown
from optsched.files import read_document
from optsched.library.measuring import today, without_certificate
from optsched.library.records import Record, add, locked, packed
from optsched.library.sets import Entry, make, required_entry
from optsched.library.standing import SAME, Standing, exceeds, standings
from optsched.library.verify import RefusedError, verify
from optsched.methods import load_solution
from optsched.problem import resolve
from optsched.problems import PROBLEMS

BETTER, EQUAL, NOT_BETTER = "better and recorded", "equal", "not better"
LONGEST_NAME = 200


@dataclass(frozen=True)
class Answer:
    """What became of one part of a submission.

    Attributes
    ----------
    what : "value" or "bound"
    verdict : str
        "better and recorded", "equal", "not better", or "infeasible" with the rule and place.
    given, known : float or None
        As checked or proved, and the best one known before.
    refused : bool
        Whether a rule is broken, or the certificate proves nothing.
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


def submit(
    name: str,
    solution: str | Path,
    *,
    by: str,
    store: str | Path,
    certificate: str | Path | None = None,
) -> list[Answer]:
    """Judge a submission, and add what is better to a store."""
    if not by.strip() or len(by) > LONGEST_NAME or not by.isprintable():
        raise InputError("submit", "--by", shown(by), f"a line of 1 to {LONGEST_NAME} characters")
    entry = required_entry(name)
    instance = make(entry)
    value, document = checked(entry, instance, solution)
    bound, proof = (None, None) if certificate is None else verified(instance, certificate)
    broken = [answer for answer in (value, bound) if answer is not None and answer.refused]
    if broken:
        return broken
    common = {"instance": entry.name, "sha256": entry.sha256, "by": by, "date": today()}
    record = Record.of(**common, kind="value", value=value.given, solution=packed(document))
    asked = [record]
    if bound is not None:
        fields = {"kind": "bound", "value": bound.given, "proof": "certificate"}
        asked.append(Record.of(**common, **fields, certificate=packed(proof)))
    with locked(Path(store) / f"{entry.set_name}.jsonl") as stream:
        (known,) = standings([entry], store)
        contradiction = next(_contradictions(known, asked), None)
        if contradiction is not None:
            return [contradiction]
        judged = [(_judged(known, each), each) for each in asked]
        add(stream, [each.line() for answer, each in judged if answer.verdict == BETTER])
    return [answer for answer, _ in judged]


def checked(entry: Entry, instance: Any, path: str | Path) -> tuple[Answer, dict[str, Any]]:
    """The checker's word on a solution's file, under the default options; and its document."""
    problem = PROBLEMS[entry.problem]
    found = load_solution(problem, path)
    broken = [*_foreign(entry, found)]
    report = None
    if not broken:
        own_options = entry.problem == "online"  # those of a policy; none changes the flow time
        report = resolve(problem.check)(instance, found, None if own_options else {})
        broken = list(report.violations)
    if report is None or broken or report.objective is None:
        reason = "; ".join(str(violation) for violation in broken[:3]) or "it has no value"
        return Answer("value", f"infeasible: {reason}", refused=True), {}
    kept = {"objective": report.objective}
    if entry.problem != "online":
        kept["options"] = problem.options_of()
    document = without_certificate(found.model_copy(update=kept).to_dict())
    return Answer("value", "", report.objective), document


def _foreign(entry: Entry, solution: Any) -> Iterator[Violation]:
    """Runs of another draw, or of part of the jobs: their values are not comparable."""
    if entry.problem == "rolling" and solution.seed != 0:
        yield Violation("seed", "common random numbers", f"seed {solution.seed}", 1)
    if entry.problem == "online" and solution.options.get("training_share") is not None:
        yield Violation("jobs", "all jobs run", "option training_share", 1)


def verified(instance: Any, path: str | Path) -> tuple[Answer, dict[str, Any]]:
    """The verifier's word on a certificate's file; and its document."""
    document = read_document(path)
    try:
        proved = verify(instance.to_dict(), document)
    except RefusedError as error:
        return Answer("bound", f"refused: {error}", refused=True), {}
    return Answer("bound", "", proved), document


def _contradictions(known: Standing, asked: list[Record]) -> Iterator[Answer]:
    """A value below a certified bound, or a bound above a value: one of two checks is wrong."""
    values = [r.value for r in (*asked, known.value) if r is not None and r.kind == "value"]
    bounds = [r.value for r in (*asked, known.certified) if r is not None and r.kind == "bound"]
    if values and bounds:
        broken = bound_violation(max(bounds), min(values))
        if broken is not None:
            reason = f"refused: {broken}; value {min(values)!r}, bound {max(bounds)!r}"
            yield Answer(asked[-1].kind, reason, asked[-1].value, refused=True)


def _judged(known: Standing, record: Record) -> Answer:
    best = known.value if record.kind == "value" else known.certified
    sign = 1 if record.kind == "value" else -1
    if best is None or exceeds(sign * best.value, sign * record.value):
        verdict = BETTER
    elif abs(best.value - record.value) <= SAME * abs(best.value):
        verdict = EQUAL
    else:
        verdict = NOT_BETTER
    return Answer(record.kind, verdict, record.value, None if best is None else best.value)
