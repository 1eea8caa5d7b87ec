"""Commands around experiments: sweep, table, report, reproduce."""

import shlex
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

from optsched.cli import show
from optsched.cli.exit_codes import DONE, FAILED
from optsched.cli.progress import StepProgress, SweepProgress
from optsched.cli.settings import require_folder
from optsched.cli.show import console, note
from optsched.declared import require
from optsched.errors import InputError, OptschedError, require_extras
from optsched.experiments.papers.artefact import STORE, Scale
from optsched.experiments.report import table_formats
from optsched.experiments.report.table import gap_table
from optsched.experiments.run.runner import SweepState
from optsched.experiments.run.runner import sweep as run_sweep
from optsched.experiments.store.store import files_of_store
from optsched.io.outputs import require_file, require_outputs
from optsched.io.writing import STANDARD_OUTPUT, write_text

StoreFile = Annotated[str, Argument(metavar="RESULTS.sqlite", help="Result store of a sweep.")]
ToFile = Annotated[str | None, Option(metavar="FILE", help="Write this format to FILE.")]


def sweep(
    plan: Annotated[str, Argument(metavar="PLAN.toml", help="Plan file or name.")],
    store: Annotated[str, Option(metavar="RESULTS.sqlite", help="Result store; may exist.")],
    workers: Annotated[int | None, Option(metavar="N", help="Processes. [default: cores]")] = None,
    dask: Annotated[str | None, Option(metavar="ADDRESS", help="Run on a Dask cluster.")] = None,
    retry: Annotated[str | None, Option(metavar="errors", help="Run failed units again.")] = None,
    allow: Annotated[
        list[str] | None,
        Option(metavar="MODULE", help="Allow methods from this module; may be repeated."),
    ] = None,
) -> int:
    """Run the missing units (instance, method, seed) of a plan; repeat the command to resume."""
    require("sweep", "--retry", retry, Literal["errors"] | None)
    if workers is not None and dask is not None:
        raise InputError("sweep", "", "--workers and --dask", "one of them")
    require_file(store, "it is a database")
    require_outputs([store], [plan])
    last = SweepState(0, 0)

    def show_state(now: SweepState) -> None:
        nonlocal last
        last = now
        progress.show(now)

    command = shlex.join(["optsched", *sys.argv[1:]])
    try:
        with SweepProgress() as progress:
            state = run_sweep(
                plan,
                store,
                workers=workers,
                dask=dask,
                retry_errors=retry == "errors",
                allow=tuple(allow or ()),
                command=command,
                progress=show_state,
            )
    except KeyboardInterrupt:
        rows = last.done + last.run
        note(f"{rows} of {last.total} units are stored in {store}; resume with: {command}")
        raise
    print(f"{store}: {state.total} units, {state.run} run, {state.failed} failed")
    return DONE


def table(
    store: StoreFile,
    csv: ToFile = None,
    latex: ToFile = None,
    markdown: ToFile = None,
    pairs: Annotated[str | None, Option(metavar="FILE", help="Write pairwise wins as CSV.")] = None,
) -> int:
    """Print a gap table for each family of instances, or write it as CSV, LaTeX or Markdown."""
    require_outputs([csv, latex, markdown, pairs], files_of_store(store))
    tables = gap_table(store)
    formats: list[tuple[str | None, Any]] = [
        (csv, table_formats.as_csv),
        (latex, table_formats.as_latex),
        (markdown, table_formats.as_markdown),
        (pairs, table_formats.pairs_as_csv),
    ]
    for path, form in formats:
        if path is not None:
            write_text(path, form(tables))
            if path != STANDARD_OUTPUT:
                show.note(f"wrote {path}")
    if not any(path for path, _ in formats):
        show.gap_tables(tables)
    return DONE


def report(
    store: StoreFile,
    output: Annotated[str, Option("-o", metavar="FILE.html", help="Output file.")],
) -> int:
    """Write an HTML report: tables, plots, instances, versions and command lines."""
    from optsched.experiments.report.page import write_report

    write_report(store, output)
    if output != STANDARD_OUTPUT:
        note(f"wrote {output} ({Path(output).stat().st_size / 1e3:.0f} kB)")
    return DONE


def reproduce(
    artifacts: Annotated[
        list[str] | None,
        Argument(metavar="ARTIFACT...", help="Names in --list, e.g. a-srpt-table2, or all."),
    ] = None,
    output: Annotated[str | None, Option("-o", metavar="DIR", help="Output folder.")] = None,
    quick: Annotated[bool, Option("--quick", help="Use fewer seeds, as a smoke test.")] = False,
    full: Annotated[bool, Option("--full", help="Use the paper's instance sizes.")] = False,
    trace: Annotated[
        str | None, Option(metavar="FILE", help="Trace for the artefacts of a-srpt.")
    ] = None,
    trace_format: Annotated[
        str, Option(metavar="NAME", help="Format of --trace (see `optsched import`).")
    ] = "pai",
    load: Annotated[
        float | None,
        Option(metavar="X", help="Rescale the trace's submission times to this load."),
    ] = None,
    time_scale: Annotated[float, Option(metavar="X", help="Multiply the trace's times.")] = 1.0,
    list_all: Annotated[bool, Option("--list", help="List the artefacts.")] = False,
) -> int:
    """Reproduce a table or a figure of a paper, with the paper's values beside ours."""
    from optsched.experiments.papers.artefacts import ARTEFACTS, OTHERS, names_of, verdicts

    out = console()
    if list_all:
        for artefact in ARTEFACTS.values():
            out.print(f"{artefact.name:18} {artefact.claim}", markup=False)
            out.print(f"{'':18} {artefact.command}", markup=False)
            out.print(f"{'':18} {artefact.reference}; {artefact.runtime}", markup=False)
        out.print("\nTables and figures without results, and where they are covered:")
        for other, what, home in OTHERS:
            out.print(f"{other:18} {what}: {home}", markup=False)
        return DONE
    if not artifacts or output is None:
        raise InputError("reproduce", "", "no artefact or no -o", "ARTIFACT... -o DIR, or --list")
    scale = Scale(quick, full, trace, trace_format, load, time_scale)
    names = names_of(artifacts)
    require_folder(output, [trace])
    require_extras(["matplotlib"])
    failed = [name for name in names if not _reproduced(name, output, scale, len(names) > 1)]
    verdict_by_name = verdicts(output)
    for name in names:
        out.print(
            "failed" if name in failed else str(verdict_by_name[name]), markup=False, soft_wrap=True
        )
    return FAILED if failed else DONE


def _reproduced(name: str, folder: str, scale: Scale, continue_on_error: bool) -> bool:
    """Reproduce one artefact; with `continue_on_error` print a failure and return False."""
    from optsched.experiments.papers.artefacts import reproduce as run

    began = time.perf_counter()
    try:
        with StepProgress(name) as progress:
            page = run(name, folder, **asdict(scale), progress=progress)
        console().print(page, markup=False, soft_wrap=True)
    except KeyboardInterrupt:
        if (Path(folder) / STORE).is_file():
            note(f"{name}: finished runs are stored in {folder}; repeat the command to resume")
        raise
    except OptschedError as error:
        if not continue_on_error:
            raise
        note(f"{name}: {error}")
        return False
    note(f"{name}: {time.perf_counter() - began:.0f} s")
    return True
