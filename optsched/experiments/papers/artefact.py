"""A paper's table or figure as a declaration: a plan, a metric, a claim and a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from optsched.declared import Between, flag, require_declared
from optsched.errors import InputError, shown
from optsched.experiments.plans.plan import Family, Limits
from optsched.files import read_document, write_document

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Scale:
    """How much of an artefact to make: fewer seeds, the paper's sizes, or a trace of the user's."""

    quick: bool = False
    full: bool = False
    trace: str | None = None
    trace_format: str = "pai"
    load: Annotated[float, Between(1e-6, 1e6)] | None = None
    time_scale: Annotated[float, Between(1e-9, 1e9)] = 1.0

    def __post_init__(self) -> None:
        require_declared("reproduce", self, flag)
        for name, default in (("trace_format", "pai"), ("load", None), ("time_scale", 1.0)):
            value = getattr(self, name)
            if self.trace is None and value != default:
                raise InputError("reproduce", flag(name), shown(value), "--trace FILE")

    @property
    def source(self) -> str:
        """Where the jobs come from."""
        if self.trace is None:
            return "synthetic"
        scaled = "" if self.time_scale == 1 else f", times x {self.time_scale:g}"
        return f"trace {Path(self.trace).name} ({self.trace_format}{scaled})"


class Finding(StrEnum):
    """Whether a claim holds on our settings; not testable: its data is not available."""

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
    """One line of the verdict table, and a paragraph for a claim that does not hold everywhere.

    `reproduce` fills in the artefact's name, and whether seeds are too few to conclude anything.
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
    """Write a verdict beside the other files of its artefact."""
    write_document(verdict_file(folder, verdict.artefact), asdict(verdict))


def read_verdict(folder: Path, artefact: str) -> Verdict | None:
    """Read an artefact's verdict from a folder; None if there is none."""
    path = verdict_file(folder, artefact)
    if not path.is_file():
        return None
    document = read_document(path)
    try:
        return Verdict(**{**document, "finding": Finding(document["finding"])})
    except (KeyError, TypeError, ValueError):
        raise InputError(str(path), "", shown(document), "a verdict") from None


def verdict_file(folder: Path, artefact: str) -> Path:
    """The file of an artefact's verdict."""
    return folder / f"{artefact}.verdict.json"


@dataclass(frozen=True)
class Artefact:
    """A table or figure of a paper.

    Attributes
    ----------
    name, where, claim, runtime : str
        Such as "a-srpt-table2"; the table or figure; the paper's claim in a line; the time on two
        cores, in full and with ``--quick``.
    rows : callable
        The metric: rows of the CSV, from the runs of `plan` (an empty frame without one).
    judge : callable
        Whether the claim holds on those rows.
    draw : callable
        The picture of those rows.
    by, values : tuple of str
        Columns of the text table: rows are grouped by the first, medians of the others are shown.
    plan : callable, optional
        The families to run, in this order.
    scales : bool
        Whether it takes a trace and has the paper's size as an option.
    timed : str, optional
        The problem whose methods are timed: they run one at a time, compiled first unless quick.
    """

    name: str
    where: str
    claim: str
    runtime: str
    rows: Callable[[pd.DataFrame, Scale], pd.DataFrame]
    judge: Callable[[pd.DataFrame, Scale], Verdict]
    draw: Callable[[pd.DataFrame], Figure]
    by: tuple[str, ...]
    values: tuple[str, ...]
    plan: Callable[[Scale], Sequence[Family]] | None = None
    scales: bool = False
    timed: str | None = None

    @property
    def command(self) -> str:
        """The command that makes it."""
        return f"optsched reproduce {self.name} -o results"


def seeded(
    name: str,
    problem: str,
    arguments: Mapping[str, Any],
    seed: int,
    methods: Sequence[str],
    *,
    generator: str | None = None,
    options: Mapping[str, Any] | None = None,
    **limits: Any,
) -> Family:
    """A family of one generated instance; its runs take the instance's seed."""
    return Family(
        name=name,
        generator=generator or problem,
        recipe_of=problem,
        arguments=arguments,
        first_seed=seed,
        methods=tuple(methods),
        seeds=(seed,),
        options=options or {},
        limits=Limits(**limits),
    )
