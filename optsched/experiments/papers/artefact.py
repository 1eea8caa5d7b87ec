"""An artefact: a paper's table or figure, as a plan, a metric, a claim and a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from optsched.declared import Between, flag, require_declared
from optsched.errors import InputError, shown
from optsched.experiments.papers.verdict import Verdict
from optsched.experiments.plans.plan import Family, Limits

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


STORE = "runs.sqlite"
"""The result store in the output folder."""


@dataclass(frozen=True)
class Scale:
    """Size of a reproduction: quick (few seeds), full (the paper's sizes), or a user's trace."""

    quick: bool = False
    full: bool = False
    trace: str | None = None
    trace_format: str = "pai"
    load: Annotated[float, Between(1e-6, 1e6)] | None = None
    time_scale: Annotated[float, Between(1e-9, 1e9)] = 1.0

    def __post_init__(self) -> None:
        require_declared("reproduce", self, flag)
        for name in ("trace_format", "load", "time_scale"):
            value = getattr(self, name)
            if self.trace is None and value != getattr(type(self), name):
                raise InputError("reproduce", flag(name), shown(value), "--trace FILE")

    def seeds(self, count: int) -> range:
        return range(3 if self.quick else count)

    @property
    def source(self) -> str:
        if self.trace is None:
            return "synthetic"
        scaled = "" if self.time_scale == 1 else f", times x {self.time_scale:g}"
        return f"trace {Path(self.trace).name} ({self.trace_format}{scaled})"


@dataclass(frozen=True)
class Artefact:
    """A table or figure of a paper.

    `runtime` is the time on two cores, in full and with ``--quick``. `rows` makes the rows of the
    CSV from the runs of `plan`, an empty frame without one; `judge` decides whether the claim holds
    on them, `draw` draws them. The text table shows medians of the value columns by group.
    `is_scalable`: ``--full`` and ``--trace`` are supported. Methods of `timed_problem` run one
    after another, compiled beforehand except with ``--quick``.
    """

    name: str
    reference: str
    claim: str
    runtime: str
    rows: Callable[[pd.DataFrame, Scale], pd.DataFrame]
    judge: Callable[[pd.DataFrame, Scale], Verdict]
    draw: Callable[[pd.DataFrame], Figure]
    group_columns: tuple[str, ...]
    value_columns: tuple[str, ...]
    plan: Callable[[Scale], Sequence[Family]] | None = None
    is_scalable: bool = False
    timed_problem: str | None = None

    @property
    def command(self) -> str:
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
    """A family with one generated instance; its runs use the same seed."""
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
