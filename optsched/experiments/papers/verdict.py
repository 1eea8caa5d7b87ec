"""What a reproduction found: a claim holds, holds partly, does not hold, or needs other data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from pathlib import Path

from optsched.errors import InputError, shown
from optsched.files import read_document, write_document


class Finding(StrEnum):
    """Whether a claim holds on our settings; not testable: it rests on data that is not at hand."""

    HOLDS = "holds"
    PARTLY = "partly"
    FAILS = "does not hold"
    NOT_TESTABLE = "not testable here"

    @classmethod
    def of(cls, claims: Iterable[bool]) -> Finding:
        """Whether all parts of a claim hold, some of them, or none."""
        held = list(claims)
        return cls.HOLDS if all(held) else cls.PARTLY if any(held) else cls.FAILS


@dataclass(frozen=True)
class Verdict:
    """One line of the verdict table.

    Attributes
    ----------
    finding : Finding
        Whether the claim holds.
    paper, ours, spread : str
        The paper's value, ours, and how ours varies.
    setting : str
        What it was measured on, where the paper leaves it open.
    paragraph : str
        For a claim that does not hold or cannot be tested: why, in plain words.
    artefact : str
        A name of `optsched.experiments.ARTEFACTS`; `reproduce` fills it in.
    smoke : bool
        Too few seeds to conclude anything: a test that the command works. `reproduce` knows.
    """

    finding: Finding
    paper: str
    ours: str
    spread: str
    setting: str
    paragraph: str = ""
    artefact: str = ""
    smoke: bool = False

    def __str__(self) -> str:
        smoke = "smoke: " if self.smoke else ""
        return (
            f"{self.artefact}: {smoke}{self.finding}; paper {self.paper}; ours {self.ours} "
            f"({self.spread}); {self.setting}"
        )


def write_verdict(folder: Path, verdict: Verdict) -> None:
    """Keep a verdict beside the other files of its artefact."""
    write_document(verdict_file(folder, verdict.artefact), asdict(verdict))


def read_verdict(folder: Path, artefact: str) -> Verdict | None:
    """The verdict that a run of an artefact left in a folder; None if it left none."""
    path = verdict_file(folder, artefact)
    if not path.is_file():
        return None
    document = read_document(path)
    try:
        if set(document) != {f.name for f in fields(Verdict)}:
            raise ValueError
        return Verdict(**{**document, "finding": Finding(document["finding"])})
    except ValueError:
        raise InputError(str(path), "", shown(document), "a verdict") from None


def verdict_file(folder: Path, artefact: str) -> Path:
    """Where an artefact's verdict is kept."""
    return folder / f"{artefact}.verdict.json"
