"""The artefacts by name, and their reproduction: run the plan, then write the files.

The plan is swept into a result store in the output folder. It is an ordinary sweep: interrupted
artefacts resume, and common runs are shared. Runs of another version of this package's code are not
reused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched.errors import InputError, OptschedError, require_extras, shown, suggestion
from optsched.experiments.papers import sjf_bco
from optsched.experiments.papers.a_srpt import simulations, table1, table2
from optsched.experiments.papers.artefact import STORE, Artefact, Scale
from optsched.experiments.papers.pictures import headline, summary
from optsched.experiments.papers.sts import epochs_and_arrivals, fig7, over_time
from optsched.experiments.papers.verdict import Verdict, read_verdict, verdict_file, write_verdict
from optsched.experiments.plans.plan import Plan
from optsched.experiments.plans.units import canonical
from optsched.experiments.run.runner import SweepState, sweep
from optsched.experiments.store.store import Status, read_store
from optsched.external import module_of
from optsched.io.writing import csv_text, replacing, write_text
from optsched.methods import warm_up
from optsched.plotting.axes import house_style

if TYPE_CHECKING:
    import pandas as pd

Progress = Callable[[int, int], None]
"""Called with the number of finished runs, and of all runs."""
ALL = "all"
ARTEFACTS: dict[str, Artefact] = {
    artefact.name: artefact
    for artefact in (
        *(table1.ARTEFACT, table2.ARTEFACT, *simulations.ARTEFACTS, *sjf_bco.ARTEFACTS),
        *(epochs_and_arrivals.FIG2, epochs_and_arrivals.FIG3, *over_time.ARTEFACTS, fig7.ARTEFACT),
    )
}

OTHERS = (
    ("a-srpt, Fig. 1", "three kinds of parallelism, drawn", "the job model of models/placement"),
    ("a-srpt, Fig. 2", "an example of a placement", "the instance placement/fig2"),
    ("a-srpt, Fig. 3", "the idea of A-SRPT, drawn", "models/online"),
    ("sjf-bco, Table 1", "notation", "models/makespan"),
    ("sjf-bco, Fig. 1", "a ring of three workers, drawn", "models/makespan"),
    ("sjf-bco, Fig. 2", "two ways to place two jobs", "the instance makespan/fig2"),
    ("sjf-bco, Fig. 3", "the idea of SJF-BCO, drawn", "models/makespan"),
    ("sts, Fig. 1", "the framework, drawn", "models/rolling"),
    ("sts, Tables I, II", "notation", "models/selection"),
    (
        "sts, Table III",
        "prices of GPUs by the hour",
        "what `optsched generate selection` draws from",
    ),
    ("sts, Table IV", "fractions of GPUs", "what `optsched generate selection` draws from"),
)
"""Tables and figures without a testable result, and where this package covers them."""


def names_of(requested: list[str], artefacts: Mapping[str, Artefact] = ARTEFACTS) -> list[str]:
    """Resolve names, where "all" stands for every one; raises InputError."""
    for name in requested:
        if name != ALL and name not in artefacts:
            raise InputError("reproduce", "artefact", shown(name), suggestion(name, artefacts))
    return list(artefacts) if ALL in requested else list(dict.fromkeys(requested))


def reproduce(
    name: str,
    folder: str | Path,
    *,
    progress: Progress | None = None,
    artefacts: Mapping[str, Artefact] = ARTEFACTS,
    **scale: Any,
) -> str:
    """Reproduce one table or figure; repeat the call to resume after an interruption.

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
        ``quick=True``: a smoke test with few seeds, marked as such in the verdict. ``full=True``:
        the paper's sizes, for artefacts that are scaled down by default. ``trace`` and
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
    if (scale_.full or scale_.trace) and not artefact.is_scalable:
        raise InputError("reproduce", name, "--full or --trace", "neither, as it has one size")
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
    table = summary(rows, artefact.group_columns, artefact.value_columns)
    lines = [f"# {artefact.reference}: {artefact.claim}", "", *table, "", f"Verdict: {verdict}"]
    text = "\n".join([*lines, *([verdict.why] if verdict.why else [])])
    printable = rows.astype(object).where(rows.notna(), None)
    write_text(
        target / f"{name}.csv", csv_text(list(rows.columns), printable.itertuples(index=False))
    )
    write_text(target / f"{name}.md", text + "\n")
    with house_style():
        found = [f"{part.claim}: holds in {part.count}" for part in verdict.parts]
        figure = headline(
            artefact.draw(rows), f"{verdict.finding.capitalize()}. {'; '.join(found)}."
        )
        for kind, varying in (("png", "Software"), ("pdf", "CreationDate")):
            with replacing(target / f"{name}.{kind}") as path:
                figure.savefig(path, format=kind, metadata={varying: None})
    write_verdict(target, verdict)
    return text


def verdicts(
    folder: str | Path, artefacts: Mapping[str, Artefact] = ARTEFACTS
) -> dict[str, Verdict | None]:
    return {name: read_verdict(Path(folder), name) for name in artefacts}


def runs_of(
    artefact: Artefact, folder: Path, scale: Scale, progress: Progress | None = None
) -> pd.DataFrame:
    """Run the missing runs of an artefact's plan; return all of them in the plan's order."""
    import pandas as pd

    if artefact.plan is None:
        return pd.DataFrame()
    families = tuple(artefact.plan(scale))
    text = canonical([family.model_dump(mode="json") for family in families])
    trace = [] if scale.trace is None else [Path(scale.trace), *Path(scale.trace).glob("*")]
    code = _source_digest() + (_digest(trace) if trace else "")
    names = {name for family in families for name in (*family.methods, family.generator or "")}
    if artefact.timed_problem is not None and not scale.quick:
        warm_up(artefact.timed_problem)

    def report(state: SweepState) -> None:
        if progress is not None:
            progress(state.done + state.run, state.total)

    sweep(
        Plan(artefact.name, families, text, artefact.command, code=code),
        folder / STORE,
        workers=0 if scale.quick else 1 if artefact.timed_problem else None,
        retry_errors=True,
        allow={module for name in names if (module := module_of(name)) is not None},
        command=artefact.command,
        progress=report,
    )
    frame = read_store(folder / STORE)
    frame = frame[frame["plan"] == artefact.name].reset_index(drop=True)
    failed = frame[frame["status"] != Status.DONE]
    if len(failed):
        first = failed.iloc[0]
        message = f"{first['method']} on {first['instance']}: {first['message']}"
        if scale.trace is not None:
            raise InputError(scale.trace, artefact.name, message, "a trace that suits this figure")
        raise OptschedError(message)
    return frame


@lru_cache(maxsize=1)
def _source_digest() -> str:
    return _digest(Path(__file__).resolve().parents[2].rglob("*.py"))[:16]


def _digest(paths: Iterable[Path]) -> str:
    """A digest of files' contents: a trace's path alone does not identify its rows."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        if path.is_file():
            with path.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()
