"""The artefacts by name, and the command that makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from optsched.errors import InputError, shown, suggestion
from optsched.experiments.papers.a_srpt import ARTEFACTS as A_SRPT
from optsched.experiments.papers.artefact import (
    Artefact,
    Scale,
    Verdict,
    read_verdict,
    verdict_file,
    write_verdict,
)
from optsched.experiments.papers.pictures import headline, summary
from optsched.experiments.papers.running import Progress, runs_of
from optsched.experiments.papers.sjf_bco import ARTEFACTS as SJF_BCO
from optsched.experiments.papers.sts import ARTEFACTS as STS
from optsched.extras import require_extras
from optsched.io.writing import csv_text, replacing, write_text
from optsched.plotting.axes import house_style

ALL = "all"
ARTEFACTS: dict[str, Artefact] = {artefact.name: artefact for artefact in (*A_SRPT, *SJF_BCO, *STS)}


def names_of(asked: list[str], artefacts: Mapping[str, Artefact] = ARTEFACTS) -> list[str]:
    """The artefacts behind names, "all" for every one; raises InputError."""
    for name in asked:
        if name != ALL and name not in artefacts:
            raise InputError("reproduce", "artefact", shown(name), suggestion(name, artefacts))
    return list(artefacts) if ALL in asked else list(dict.fromkeys(asked))


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
    """Make one artefact; after an interruption the same call continues.

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
        Load that the trace's submissions are rescaled to; by default they stay.
    time_scale : float
        Factor on the trace's submissions and durations.
    progress : callable, optional
        Called with the number of the artefact's finished runs, and of all of them.

    Returns
    -------
    str
        The table and the verdict.

    Raises
    ------
    InputError
        If there is no artefact of that name.
    MissingExtraError
        Before any work, if matplotlib is not installed.
    """
    names_of([name])
    scale = Scale(quick, full, trace, trace_format, load, time_scale)
    return make(ARTEFACTS[name], Path(folder), scale, progress)


def make(artefact: Artefact, folder: Path, scale: Scale, progress: Progress | None = None) -> str:
    """Make an artefact's CSV, text, pictures and verdict in a folder; return the text."""
    name = artefact.name
    if (scale.full or scale.trace) and not artefact.scales:
        raise InputError("reproduce", name, "--full or --trace", "neither: it has one size")
    if scale.quick and scale.full:
        raise InputError("reproduce", name, "--quick and --full", "one of them")
    require_extras(["matplotlib"])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        verdict_file(folder, name).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(str(folder), "", error.strerror or str(error), "a folder") from None
    rows = artefact.rows(runs_of(artefact, folder, scale, progress), scale)
    verdict = replace(artefact.judge(rows, scale), artefact=name, smoke=scale.quick)
    words = [f"Verdict: {verdict}", *([verdict.paragraph] if verdict.paragraph else [])]
    table = summary(rows, artefact.by, artefact.values)
    text = "\n".join([f"# {artefact.where}: {artefact.claim}", "", *table, "", *words])
    cells = rows.astype(object).where(rows.notna(), None)
    write_text(folder / f"{name}.csv", csv_text(list(rows.columns), cells.itertuples(index=False)))
    write_text(folder / f"{name}.md", text + "\n")
    with house_style():
        found = f"Found: {verdict.finding}. {verdict.ours.partition('. ')[0]}."
        figure = headline(artefact.draw(rows), f"Paper: {verdict.paper}.\n{found}")
        for kind, hidden in (("png", "Software"), ("pdf", "CreationDate")):
            with replacing(folder / f"{name}.{kind}") as path:
                figure.savefig(path, format=kind, metadata={hidden: None})
    write_verdict(folder, verdict)
    return text


def verdicts(
    folder: str | Path, artefacts: Mapping[str, Artefact] = ARTEFACTS
) -> dict[str, Verdict | None]:
    """The verdict of every artefact in a folder of results; None where there is none."""
    return {name: read_verdict(Path(folder), name) for name in artefacts}
