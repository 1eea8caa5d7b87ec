"""The artefacts by name, and the command that makes them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from optsched.errors import InputError, shown, suggestion
from optsched.experiments.papers.a_srpt import ARTEFACTS as A_SRPT
from optsched.experiments.papers.artefact import Artefact, Scale
from optsched.experiments.papers.running import Progress, runs_of
from optsched.experiments.papers.sjf_bco import ARTEFACTS as SJF_BCO
from optsched.experiments.papers.sts import ARTEFACTS as STS
from optsched.experiments.papers.verdict import (
    Verdict,
    read_verdict,
    verdict_file,
    write_verdict,
)
from optsched.extras import require_extras
from optsched.io.writing import csv_text, replacing, write_text
from optsched.plotting.axes import house_style

ALL = "all"
ARTEFACTS: dict[str, Artefact] = {artefact.name: artefact for artefact in (*A_SRPT, *SJF_BCO, *STS)}


def names_of(asked: list[str]) -> list[str]:
    """The artefacts behind names, "all" for every one; raises InputError."""
    for name in asked:
        if name != ALL and name not in ARTEFACTS:
            raise InputError("reproduce", "artefact", shown(name), suggestion(name, ARTEFACTS))
    return list(ARTEFACTS) if ALL in asked else list(dict.fromkeys(asked))


def modules_of(names: Iterable[str]) -> list[str]:
    """What some artefacts take of optional dependencies."""
    return list(
        dict.fromkeys(m for name in names for m in ("matplotlib", *ARTEFACTS[name].modules))
    )


def reproduce(
    name: str,
    folder: str | Path,
    *,
    quick: bool = False,
    full: bool = False,
    trace: str | None = None,
    trace_format: str = "pai",
    load: float | None = None,
    time_scale: float = 1.0,
    progress: Progress | None = None,
) -> str:
    """Make one artefact; where it is stopped, the same call goes on from what was finished.

    Parameters
    ----------
    name : str
        A name of `ARTEFACTS`.
    folder : str or Path
        Where its files go.
    quick : bool
        Fewer seeds: a smoke test, and the verdict says so.
    full : bool
        The paper's sizes, for the artefacts that are scaled down by default.
    trace, trace_format : str, optional
        A file of jobs, of a format of `optsched import`, for the artefacts that take one; without
        it they run on synthetic jobs.
    load : float, optional
        What the trace's submissions are stretched or squeezed to; by default they stay.
    time_scale : float
        What the trace's submissions and lengths are multiplied by.
    progress : callable, optional
        Called with how many of the artefact's runs are done, and of how many.

    Returns
    -------
    str
        The table and the verdict.

    Raises
    ------
    InputError
        If there is no artefact of that name.
    MissingExtraError
        Before any work, if it takes a module that is not installed.
    """
    names_of([name])
    artefact = ARTEFACTS[name]
    if (full or trace) and not artefact.scales:
        raise InputError("reproduce", name, "--full or --trace", "neither: it has one size")
    if quick and full:
        raise InputError("reproduce", name, "--quick and --full", "one of them")
    require_extras(modules_of([name]))
    folder, scale = Path(folder), Scale(quick, full, trace, trace_format, load, time_scale)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        verdict_file(folder, name).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(str(folder), "", error.strerror or str(error), "a folder") from None
    rows = artefact.rows(runs_of(artefact, folder, scale, progress), scale)
    verdict = replace(artefact.judge(rows, scale), artefact=name, smoke=scale.quick)
    words = [f"Verdict: {verdict}", *([verdict.paragraph] if verdict.paragraph else [])]
    text = "\n".join(
        [f"# {artefact.where}: {artefact.claim}", "", *artefact.lines(rows, scale), "", *words]
    )
    cells = rows.astype(object).where(rows.notna(), None)
    write_text(folder / f"{name}.csv", csv_text(list(rows.columns), cells.itertuples(index=False)))
    write_text(folder / f"{name}.md", text + "\n")
    with house_style():
        figure = artefact.draw(rows)
        for kind, hidden in (("png", "Software"), ("pdf", "CreationDate")):
            with replacing(folder / f"{name}.{kind}") as made:
                figure.savefig(made, format=kind, metadata={hidden: None})
    write_verdict(folder, verdict)
    return text


def verdicts(folder: str | Path) -> dict[str, Verdict | None]:
    """The verdict of every artefact in a folder of results; None where there is none."""
    return {name: read_verdict(Path(folder), name) for name in ARTEFACTS}
