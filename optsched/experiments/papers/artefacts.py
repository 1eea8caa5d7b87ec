"""The artefacts by name, and the command that makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from optsched.errors import InputError, shown, suggestion
from optsched.experiments.papers import sjf_bco
from optsched.experiments.papers.a_srpt import fig4, fig5, simulations, table1, table2
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
from optsched.experiments.papers.sts import epochs_and_arrivals, fig7, over_time
from optsched.extras import require_extras
from optsched.io.writing import csv_text, replacing, write_text
from optsched.plotting.axes import house_style

ALL = "all"
ARTEFACTS: dict[str, Artefact] = {
    artefact.name: artefact
    for artefact in (
        *(table1.ARTEFACT, table2.ARTEFACT, fig4.FIG4, fig5.ARTEFACT),
        *(*simulations.ARTEFACTS, fig4.FIG9, *sjf_bco.ARTEFACTS),
        *(epochs_and_arrivals.FIG2, epochs_and_arrivals.FIG3, *over_time.ARTEFACTS, fig7.ARTEFACT),
    )
}


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
    progress: Progress | None = None,
    artefacts: Mapping[str, Artefact] = ARTEFACTS,
    **scale: Any,
) -> str:
    """Make one artefact; after an interruption the same call continues.

    Parameters
    ----------
    name : str
        A name of `artefacts`.
    folder : str or Path
        Folder for its CSV, text, pictures and verdict.
    progress : callable, optional
        Called with the number of the artefact's finished runs, and of all of them.
    artefacts : mapping
        By default the papers'.
    **scale
        ``quick=True``: fewer seeds, a smoke test, and the verdict says so. ``full=True``: the
        paper's sizes, for artefacts that are scaled down by default. ``trace`` and
        ``trace_format`` (default "pai"): a file of jobs, of a format of `optsched import`, instead
        of synthetic jobs. ``load``: load that the trace's submissions are rescaled to.
        ``time_scale``: factor on the trace's submissions and durations.

    Returns
    -------
    str
        The table and the verdict.

    Raises
    ------
    InputError
        If there is no artefact of that name, or it does not take this scale.
    MissingExtraError
        Before any work, if matplotlib is not installed.
    """
    names_of([name], artefacts)
    artefact, scale_, target = artefacts[name], Scale(**scale), Path(folder)
    if (scale_.full or scale_.trace) and not artefact.scales:
        raise InputError("reproduce", name, "--full or --trace", "neither: it has one size")
    if scale_.quick and scale_.full:
        raise InputError("reproduce", name, "--quick and --full", "one of them")
    require_extras(["matplotlib"])
    try:
        target.mkdir(parents=True, exist_ok=True)
        verdict_file(target, name).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(str(folder), "", error.strerror or str(error), "a folder") from None
    rows = artefact.rows(runs_of(artefact, target, scale_, progress), scale_)
    verdict = replace(artefact.judge(rows, scale_), artefact=name, smoke=scale_.quick)
    words = [f"Verdict: {verdict}", *([verdict.paragraph] if verdict.paragraph else [])]
    table = summary(rows, artefact.by, artefact.values)
    text = "\n".join([f"# {artefact.where}: {artefact.claim}", "", *table, "", *words])
    cells = rows.astype(object).where(rows.notna(), None)
    write_text(target / f"{name}.csv", csv_text(list(rows.columns), cells.itertuples(index=False)))
    write_text(target / f"{name}.md", text + "\n")
    with house_style():
        result = f"Found: {verdict.finding}. {verdict.ours.partition('. ')[0]}."
        figure = headline(artefact.draw(rows), f"Paper: {verdict.paper}.\n{result}")
        for kind, hidden in (("png", "Software"), ("pdf", "CreationDate")):
            with replacing(target / f"{name}.{kind}") as path:
                figure.savefig(path, format=kind, metadata={hidden: None})
    write_verdict(target, verdict)
    return text


def verdicts(
    folder: str | Path, artefacts: Mapping[str, Artefact] = ARTEFACTS
) -> dict[str, Verdict | None]:
    """The verdict of every artefact in a folder of results; None where there is none."""
    return {name: read_verdict(Path(folder), name) for name in artefacts}
