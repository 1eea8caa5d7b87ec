"""What is known of an instance: its best value, its best bound, and how far apart they are."""

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
CLOSE = 0.01
EASY_SECONDS = 60.0
SAME = 1e-9
"""Relative difference up to which two values are equal."""
EASY, HARD, OPEN = "easy", "hard", "open"


@dataclass(frozen=True)
class Standing:
    """An instance with all records of it, oldest first.

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
        """Look the best up; of equals the first stands.

        A certificate stands before a word that goes no further than solvers' tolerances.
        """
        kept = tuple(r for r in history if r.sha256 == entry.sha256)
        values = [r for r in kept if r.kind == "value"]
        bounds = [r for r in kept if r.kind == "bound"]
        proved = [r for r in bounds if r.proof == "certificate"]
        certified = max(proved, key=lambda r: r.value, default=None)
        best = max(bounds, key=lambda r: r.value, default=None)
        if best is not None and certified is not None:
            best = best if exceeds(best.value, certified.value, PROVED) else certified
        return cls(entry, kept, min(values, key=lambda r: r.value, default=None), best, certified)

    @property
    def excess(self) -> float | None:
        """Best value over best bound, less 1; None when either is unknown."""
        return _excess(self.value, self.bound)

    @property
    def proved(self) -> bool:
        """Whether the best value is proved, by whatever bound."""
        return self.excess is not None and self.excess <= PROVED

    @property
    def proved_by_certificate(self) -> bool:
        """Whether a certificate alone proves it."""
        excess = _excess(self.value, self.certified)
        return excess is not None and excess <= PROVED

    @property
    def has_certified_bound(self) -> bool:
        """Whether no word goes further than the best certificate does."""
        return self.bound is not None and self.bound is self.certified

    @property
    def status(self) -> str:
        """ "easy": value and proof took a minute at most; "hard": more; "open": not proved."""
        if not self.proved or self.value is None or self.bound is None:
            return OPEN
        seconds = [r.processor_seconds or 0.0 for r in (self.value, self.bound)]
        return EASY if max(seconds) <= EASY_SECONDS else HARD

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of ``optsched library show``; solutions are left out."""
        return {
            "name": self.entry.name,
            "sha256": self.entry.sha256,
            "seed": self.entry.seed,
            "arguments": dict(self.entry.arguments),
            "status": self.status,
            "best": {
                "value": None if self.value is None else self.value.value,
                "bound": None if self.bound is None else self.bound.value,
                "certified_bound": None if self.certified is None else self.certified.value,
                "excess": self.excess,
            },
            "history": [shown_record(record) for record in self.history],
        }


def shown_record(record: Record) -> dict[str, Any]:
    """A record without what is packed into it."""
    document = record.model_dump(mode="json", exclude_none=True)
    return {key: value for key, value in document.items() if key not in ("solution", "certificate")}


def exceeds(one: float, other: float, tolerance: float = SAME) -> bool:
    """Whether a number is above another by more than rounding, or a relative tolerance."""
    return one - other > tolerance * max(abs(one), abs(other))


def _excess(value: Record | None, bound: Record | None) -> float | None:
    if value is None or bound is None:
        return None
    if bound.value <= 0:
        return 0.0 if value.value <= bound.value else None
    return max(value.value / bound.value - 1, 0.0)


def records_of(set_name: str, store: str | Path | None = None) -> list[Record]:
    """The records of a set: those that ship, and those of a store."""
    shipped = library_folder() / f"{set_name}.jsonl"
    found = list(_shipped(shipped, _written(shipped)))
    if store is not None:
        own = Path(store) / f"{set_name}.jsonl"
        found += [] if _same_file(own, shipped) else read_records(own)
    return found


def standings(entries: Iterable[Entry], store: str | Path | None = None) -> list[Standing]:
    """What is known of some instances."""
    histories: dict[str, dict[str, list[Record]]] = {}
    made = []
    for entry in entries:
        if entry.set_name not in histories:
            by_name: dict[str, list[Record]] = {}
            for record in records_of(entry.set_name, store):
                by_name.setdefault(record.instance, []).append(record)
            histories[entry.set_name] = by_name
        made.append(Standing.of(entry, histories[entry.set_name].get(entry.name, ())))
    return made


def status_counts(found: Iterable[Standing]) -> dict[str, int]:
    """How many are proved, nearly so, open, and have a bound with a certificate."""
    every = list(found)
    excesses = [1.0 if each.excess is None else each.excess for each in every]
    return {
        "instances": len(every),
        "proved": sum(each.proved for each in every),
        "proved_by_certificate": sum(each.proved_by_certificate for each in every),
        "within_1_percent": sum(excess <= CLOSE for excess in excesses),
        "certified": sum(each.certified is not None for each in every),
        "best_bound_certified": sum(each.has_certified_bound for each in every),
        "easy": sum(each.status == EASY for each in every),
        "hard": sum(each.status == HARD for each in every),
        "open": sum(each.status == OPEN for each in every),
    }


def known_bound(
    problem: str, instance: str, sha256: str, options: Mapping[str, Any], seed: int
) -> tuple[float, str] | None:
    """The library's bound on an instance under its default options, and its source."""
    entry = entry_behind(problem, instance, sha256)
    if entry is None or (problem == "rolling" and seed != 0):
        return None
    default = PROBLEMS[problem].options_of()
    if PROBLEMS[problem].options_of(options) != default:
        return None
    bound = standings([entry])[0].bound
    return None if bound is None else (bound.value, f"library, {bound.proof}")


def certificate_in(record: Record) -> Mapping[str, Any]:
    """The certificate of a bound that has one; raises InputError."""
    found = unpacked(record.certificate or "", f"{record.instance}: certificate")
    return found if isinstance(found, dict) else {}


@lru_cache(maxsize=32)
def _shipped(path: Path, written: float) -> tuple[Record, ...]:
    return tuple(read_records(path))


def _written(path: Path) -> float:
    return path.stat().st_mtime_ns if path.is_file() else 0


def _same_file(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()
