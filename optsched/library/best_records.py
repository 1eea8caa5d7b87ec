"""The best records of an instance: value, bound, bound with a certificate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any

from optsched.library.records import Record, read_records, unpacked
from optsched.library.sets import Entry, find_entry, library_folder
from optsched.problems import PROBLEMS

PROVED_GAP = 1e-6
"""Largest relative gap counted as proved: the tolerance of solvers."""
NEARLY_PROVED_GAP = 0.01
EASY_SECONDS = 60.0
EQUAL_RTOL = 1e-9
"""Relative difference up to which two values are equal."""
PACKED = {"solution", "certificate"}
EASY, HARD, OPEN = "easy", "hard", "open"
_value = attrgetter("value")


@dataclass(frozen=True)
class BestRecords:
    """An instance with all its records: the shipped ones, then a store's, each oldest first."""

    entry: Entry
    history: tuple[Record, ...]
    value: Record | None
    bound: Record | None
    certified: Record | None  # the best bound with a certificate

    @classmethod
    def of(cls, entry: Entry, history: Iterable[Record]) -> BestRecords:
        """Choose the best records, the first of equal ones.

        A certificate is preferred to an uncertified bound that exceeds it by at most `PROVED_GAP`.
        """
        records = tuple(r for r in history if r.sha256 == entry.sha256)
        bounds = [r for r in records if r.kind == "bound"]
        value = min((r for r in records if r.kind == "value"), key=_value, default=None)
        bound = max(bounds, key=_value, default=None)
        certified = max((r for r in bounds if r.proof == "certificate"), key=_value, default=None)
        if certified and bound and not exceeds(bound.value, certified.value, PROVED_GAP):
            bound = certified
        return cls(entry, records, value, bound, certified)

    @property
    def excess(self) -> float | None:
        """Best value over best bound, less 1; None if unknown, or if only the bound is 0."""
        return _excess(self.value, self.bound)

    @property
    def proved(self) -> bool:
        return self.excess is not None and self.excess <= PROVED_GAP

    @property
    def proved_by_certificate(self) -> bool:
        excess = _excess(self.value, self.certified)
        return excess is not None and excess <= PROVED_GAP

    @property
    def has_certified_bound(self) -> bool:
        return self.bound is not None and self.bound is self.certified

    @property
    def status(self) -> str:
        """ "open": not proved; "easy": value and proof took at most 60 s of CPU time each."""
        if not self.proved or self.value is None or self.bound is None:
            return OPEN
        seconds = [r.processor_seconds or 0.0 for r in (self.value, self.bound)]
        return EASY if max(seconds) <= EASY_SECONDS else HARD

    def improved_by(self, record: Record) -> bool:
        """Whether a record is better than the best one of its kind by more than rounding."""
        best = self.rival_of(record)
        sign = -1 if record.kind == "value" else 1
        return best is None or exceeds(sign * record.value, sign * best.value)

    def rival_of(self, record: Record) -> Record | None:
        """Return the best record of the same kind; certificates are compared among themselves."""
        if record.kind == "value":
            return self.value
        return self.certified if record.proof == "certificate" else self.bound

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of ``optsched library show``; solutions are left out."""
        return {
            "name": self.entry.name,
            "sha256": self.entry.sha256,
            "seed": self.entry.seed,
            "arguments": dict(self.entry.arguments),
            "status": self.status,
            "best": {
                "value": self.value and self.value.value,
                "bound": self.bound and self.bound.value,
                "certified_bound": self.certified and self.certified.value,
                "excess": self.excess,
            },
            "history": [
                record.model_dump(mode="json", exclude_none=True, exclude=PACKED)
                for record in self.history
            ],
        }


def exceeds(one: float, other: float, tolerance: float = EQUAL_RTOL) -> bool:
    """Whether a number is above another by more than a relative tolerance."""
    return one - other > tolerance * max(abs(one), abs(other))


def _excess(value: Record | None, bound: Record | None) -> float | None:
    if value is None or bound is None:
        return None
    if bound.value <= 0:
        return 0.0 if value.value <= bound.value else None
    return max(value.value / bound.value - 1, 0.0)


def best_records(entries: Iterable[Entry], store: str | Path | None = None) -> list[BestRecords]:
    """Return the best records of instances, from the shipped records and a store's."""
    histories: dict[str, dict[str, list[Record]]] = {}
    results = []
    for entry in entries:
        if entry.set_name not in histories:
            by_name = histories[entry.set_name] = {}
            for record in _records_of(entry.set_name, store):
                by_name.setdefault(record.instance, []).append(record)
        results.append(BestRecords.of(entry, histories[entry.set_name].get(entry.name, ())))
    return results


def _records_of(set_name: str, store: str | Path | None) -> list[Record]:
    shipped = library_folder() / f"{set_name}.jsonl"
    if store is None:
        return list(shipped_records(shipped))
    path = Path(store) / f"{set_name}.jsonl"
    if path.resolve() == shipped.resolve():  # it grows while it is measured
        return read_records(path)
    return [*shipped_records(shipped), *read_records(path)]


@lru_cache(maxsize=32)
def shipped_records(path: Path) -> tuple[Record, ...]:
    return tuple(read_records(path))


def status_counts(results: Iterable[BestRecords]) -> dict[str, int]:
    """Count instances that are proved, nearly so, open, or have a certified bound."""
    results = list(results)
    return {
        "instances": len(results),
        "proved": sum(best.proved for best in results),
        "proved_by_certificate": sum(best.proved_by_certificate for best in results),
        "within_1_percent": sum(
            best.excess is not None and best.excess <= NEARLY_PROVED_GAP for best in results
        ),
        "certified": sum(best.certified is not None for best in results),
        "best_bound_certified": sum(best.has_certified_bound for best in results),
        **{word: sum(best.status == word for best in results) for word in (EASY, HARD, OPEN)},
    }


def known_bound(
    problem: str, instance: str, sha256: str, options: Mapping[str, Any], seed: int
) -> tuple[float, str] | None:
    """Return the library's bound on an instance under its default options, and its source."""
    entry = find_entry(problem, instance, sha256)
    if entry is None or (problem == "rolling" and seed != 0):
        return None
    if PROBLEMS[problem].options_of(options) != PROBLEMS[problem].options_of():
        return None
    bound = best_records([entry])[0].bound
    return None if bound is None else (bound.value, f"library, {bound.proof}")


def certificate_in(record: Record) -> Mapping[str, Any]:
    document = unpacked(record.certificate or "", f"{record.instance}: certificate")
    return document if isinstance(document, dict) else {}
