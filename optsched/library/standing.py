"""The standing of an instance: its best value, its best bound, and the gap between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from optsched.library.records import Record, read_records, unpacked
from optsched.library.sets import Entry, entry_behind, library_folder
from optsched.problems import PROBLEMS

PROVED = 1e-6
"""Excess up to which a value is proved: the relative tolerance that solvers leave."""
CLOSE = 0.01
EASY_SECONDS = 60.0
SAME = 1e-9
"""Relative difference up to which two values are equal."""
EASY, HARD, OPEN = "easy", "hard", "open"


@dataclass(frozen=True)
class Standing:
    """An instance with all its records: those that ship, then a store's, each oldest first.

    Attributes
    ----------
    value, bound, certified : Record or None
        The best value, the best bound, and the best bound with a certificate.
    """

    entry: Entry
    history: tuple[Record, ...]
    value: Record | None
    bound: Record | None
    certified: Record | None

    @classmethod
    def of(cls, entry: Entry, history: Iterable[Record]) -> Standing:
        """Find the best records; the first of equal ones.

        A certificate is preferred to a bound without one that exceeds it by at most `PROVED`.
        """
        own = tuple(r for r in history if r.sha256 == entry.sha256)
        bounds = [r for r in own if r.kind == "bound"]
        value = min((r for r in own if r.kind == "value"), key=_value, default=None)
        bound = max(bounds, key=_value, default=None)
        certified = max((r for r in bounds if r.proof == "certificate"), key=_value, default=None)
        if certified and bound and not exceeds(bound.value, certified.value, PROVED):
            bound = certified
        return cls(entry, own, value, bound, certified)

    @property
    def excess(self) -> float | None:
        """Best value over best bound, less 1; None if unknown, or if only the bound is 0."""
        return _excess(self.value, self.bound)

    @property
    def proved(self) -> bool:
        """Whether the best value is proved, by any bound."""
        return self.excess is not None and self.excess <= PROVED

    @property
    def proved_by_certificate(self) -> bool:
        """Whether a certificate alone proves it."""
        excess = _excess(self.value, self.certified)
        return excess is not None and excess <= PROVED

    @property
    def has_certified_bound(self) -> bool:
        """Whether the best bound has a certificate."""
        return self.bound is not None and self.bound is self.certified

    @property
    def status(self) -> str:
        """ "easy": value and proof took a minute each at most; "hard": more; "open": not proved."""
        if not self.proved or self.value is None or self.bound is None:
            return OPEN
        seconds = [r.processor_seconds or 0.0 for r in (self.value, self.bound)]
        return EASY if max(seconds) <= EASY_SECONDS else HARD

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of ``optsched library show``; solutions are left out."""
        best = {
            "value": self.value and self.value.value,
            "bound": self.bound and self.bound.value,
            "certified_bound": self.certified and self.certified.value,
            "excess": self.excess,
        }
        return {
            "name": self.entry.name,
            "sha256": self.entry.sha256,
            "seed": self.entry.seed,
            "arguments": dict(self.entry.arguments),
            "status": self.status,
            "best": best,
            "history": [shown_record(record) for record in self.history],
        }


def shown_record(record: Record) -> dict[str, Any]:
    """A record without its packed solution or certificate."""
    return record.model_dump(mode="json", exclude_none=True, exclude={"solution", "certificate"})


def exceeds(one: float, other: float, tolerance: float = SAME) -> bool:
    """Whether a number is above another by more than a relative tolerance."""
    return one - other > tolerance * max(abs(one), abs(other))


def _value(record: Record) -> float:
    return record.value


def _excess(value: Record | None, bound: Record | None) -> float | None:
    if value is None or bound is None:
        return None
    if bound.value <= 0:
        return 0.0 if value.value <= bound.value else None
    return max(value.value / bound.value - 1, 0.0)


def records_of(set_name: str, store: str | Path | None = None) -> list[Record]:
    """The records of a set that ship, and those of a store."""
    shipped = library_folder() / f"{set_name}.jsonl"
    written = shipped.stat().st_mtime_ns if shipped.is_file() else 0
    records = list(_shipped(shipped, written))
    if store is not None:
        own = Path(store) / f"{set_name}.jsonl"
        records += [] if own.resolve() == shipped.resolve() else read_records(own)
    return records


def standings(entries: Iterable[Entry], store: str | Path | None = None) -> list[Standing]:
    """The standings of instances."""
    histories: dict[str, dict[str, list[Record]]] = {}
    known = []
    for entry in entries:
        if entry.set_name not in histories:
            by_name = histories[entry.set_name] = {}
            for record in records_of(entry.set_name, store):
                by_name.setdefault(record.instance, []).append(record)
        known.append(Standing.of(entry, histories[entry.set_name].get(entry.name, ())))
    return known


def status_counts(known: Iterable[Standing]) -> dict[str, int]:
    """Numbers of instances that are proved, nearly so, open, or have a certified bound."""
    every = list(known)
    excesses = [1.0 if standing.excess is None else standing.excess for standing in every]
    return {
        "instances": len(every),
        "proved": sum(standing.proved for standing in every),
        "proved_by_certificate": sum(standing.proved_by_certificate for standing in every),
        "within_1_percent": sum(excess <= CLOSE for excess in excesses),
        "certified": sum(standing.certified is not None for standing in every),
        "best_bound_certified": sum(standing.has_certified_bound for standing in every),
        **{word: sum(s.status == word for s in every) for word in (EASY, HARD, OPEN)},
    }


def known_bound(
    problem: str, instance: str, sha256: str, options: Mapping[str, Any], seed: int
) -> tuple[float, str] | None:
    """The library's bound on an instance under its default options, and its source."""
    entry = entry_behind(problem, instance, sha256)
    if entry is None or (problem == "rolling" and seed != 0):
        return None
    if PROBLEMS[problem].options_of(options) != PROBLEMS[problem].options_of():
        return None
    bound = standings([entry])[0].bound
    return None if bound is None else (bound.value, f"library, {bound.proof}")


def certificate_in(record: Record) -> Mapping[str, Any]:
    """The certificate of a bound; raises InputError."""
    document = unpacked(record.certificate or "", f"{record.instance}: certificate")
    return document if isinstance(document, dict) else {}


@lru_cache(maxsize=32)
def _shipped(path: Path, written: float) -> tuple[Record, ...]:
    return tuple(read_records(path))
