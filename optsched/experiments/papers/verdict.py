"""A verdict: in how many settings each part of a paper's claim holds, and its file."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from optsched.errors import InputError, shown
from optsched.files import read_document, write_document


class Finding(StrEnum):
    """Whether a claim holds in our settings; not testable: its data is not available."""

    HOLDS = "holds"
    PARTLY = "partly"
    FAILS = "does not hold"
    NOT_TESTABLE = "not testable here"


@dataclass(frozen=True)
class Part:
    """A part of a claim: the paper's value and ours, and in how many settings it holds."""

    claim: str
    paper: str
    ours: str
    holds: int
    settings: int

    @property
    def count(self) -> str:
        return f"{self.holds} of {self.settings}"


@dataclass(frozen=True)
class Verdict:
    """What a figure's claim comes to.

    `why` (Markdown) says why it holds or fails, `fixed` what is the same in all settings; `table`
    has a head, and each part's value and spread in each setting. `is_testable` is False where the
    claim's data is not available. `reproduce` sets `artefact` and `smoke`: too few seeds for a
    conclusion.
    """

    parts: tuple[Part, ...]
    why: str = ""
    fixed: str = ""
    table: tuple[tuple[str, ...], ...] = ()
    is_testable: bool = True
    artefact: str = ""
    smoke: bool = False

    @property
    def finding(self) -> Finding:
        if not self.is_testable:
            return Finding.NOT_TESTABLE
        if all(part.holds == part.settings for part in self.parts):
            return Finding.HOLDS
        return Finding.PARTLY if any(part.holds for part in self.parts) else Finding.FAILS

    def __str__(self) -> str:
        smoke = "smoke: " if self.smoke else ""
        counts = (f"{part.claim}: {part.count} (ours {part.ours})" for part in self.parts)
        return f"{self.artefact}: {smoke}{self.finding}; {'; '.join(counts)}"


def verdict_file(folder: Path, artefact: str) -> Path:
    return folder / f"{artefact}.verdict.json"


def write_verdict(folder: Path, verdict: Verdict) -> None:
    write_document(verdict_file(folder, verdict.artefact), asdict(verdict))


def read_verdict(folder: Path, artefact: str) -> Verdict | None:
    path = verdict_file(folder, artefact)
    if not path.is_file():
        return None
    document = read_document(path)
    try:
        parts = tuple(Part(**part) for part in document["parts"])
        table = tuple(tuple(row) for row in document["table"])
        return Verdict(**{**document, "parts": parts, "table": table})
    except (KeyError, TypeError):
        raise InputError(str(path), "", shown(document), "a verdict") from None
