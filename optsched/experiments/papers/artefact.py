"""What an artefact is: a table or figure of a paper as a plan, a claim and a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from optsched.declared import Between, flag, require_declared
from optsched.errors import InputError, shown
from optsched.experiments.papers.verdict import Verdict
from optsched.experiments.plans.plan import Family

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Scale:
    """How much of an artefact to make: fewer seeds, the paper's sizes, a trace of the user's.

    Attributes
    ----------
    quick, full : bool
        Fewer seeds; the paper's sizes.
    trace, trace_format : str
        A file of jobs, and its format's name in `optsched import`.
    load : float, optional
        What the trace's submissions are stretched or squeezed to; by default they stay.
    time_scale : float
        What the trace's submissions and lengths are multiplied by.
    """

    quick: bool = False
    full: bool = False
    trace: str | None = None
    trace_format: str = "pai"
    load: Annotated[float, Between(1e-6, 1e6)] | None = None
    time_scale: Annotated[float, Between(1e-9, 1e9)] = 1.0

    def __post_init__(self) -> None:
        require_declared("reproduce", self, flag)
        for name, left in (("trace_format", "pai"), ("load", None), ("time_scale", 1.0)):
            if self.trace is None and getattr(self, name) != left:
                raise InputError(
                    "reproduce", flag(name), shown(getattr(self, name)), "--trace FILE"
                )

    @property
    def source(self) -> str:
        """What the jobs are."""
        if self.trace is None:
            return "synthetic"
        scaled = "" if self.time_scale == 1 else f", times x {self.time_scale:g}"
        return f"trace {Path(self.trace).name} ({self.trace_format}{scaled})"


@dataclass(frozen=True)
class Artefact:
    """A table or figure of a paper.

    Attributes
    ----------
    name : str
        Such as "a-srpt-table2".
    claim : str
        What the paper says, in a line.
    rows : callable
        Its CSV, of the store's runs of `plan` (an empty frame without one).
    lines : callable
        Its text of those rows, Markdown.
    judge : callable
        Whether the claim holds on those rows.
    draw : callable
        Its picture of those rows.
    plan : callable, optional
        The families to be run, the longest runs first; None where nothing is run.
    scales : bool
        Whether it takes a trace, and may have a full size.
    timed : str, optional
        The problem whose methods' seconds it is about: they are compiled first, and nothing runs
        beside them.
    where : str
        Which table or figure of which paper.
    runtime : str
        What it takes on two cores, in full and with ``--quick``.
    modules : tuple of str
        Of optional dependencies, what it takes beside matplotlib.
    """

    name: str
    claim: str
    rows: Callable[[pd.DataFrame, Scale], pd.DataFrame]
    lines: Callable[[pd.DataFrame, Scale], list[str]]
    judge: Callable[[pd.DataFrame, Scale], Verdict]
    draw: Callable[[pd.DataFrame], Figure]
    plan: Callable[[Scale], Sequence[Family]] | None = None
    scales: bool = False
    timed: str | None = None
    where: str = ""
    runtime: str = ""
    modules: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The command that makes it."""
        return f"optsched reproduce {self.name} -o results"
