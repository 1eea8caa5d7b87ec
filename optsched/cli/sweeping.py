"""Commands around result stores: sweep, table, report."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

from optsched.cli import show
from optsched.cli.exit_codes import DONE
from optsched.cli.progress import SweepProgress
from optsched.cli.show import note
from optsched.declared import require
from optsched.errors import InputError
from optsched.experiments.report import table_formats
from optsched.experiments.report.table import gap_table
from optsched.experiments.run.runner import SweepState
from optsched.experiments.run.runner import sweep as run_sweep
from optsched.experiments.store.store import files_of_store
from optsched.io.outputs import require_file, require_outputs
from optsched.io.writing import STANDARD_OUTPUT, write_text

StoreFile = Annotated[str, Argument(metavar="RESULTS.sqlite", help="A result store.")]
ToFile = Annotated[str | None, Option(metavar="FILE", help="Write the table to this file.")]


def sweep(
    plan: Annotated[str, Argument(metavar="PLAN.toml", help="A plan, or plans/placement.")],
    store: Annotated[str, Option(metavar="RESULTS.sqlite", help="Result store.")],
    workers: Annotated[int | None, Option(metavar="N", help="[default: one per core]")] = None,
    dask: Annotated[str | None, Option(metavar="ADDRESS", help="Run on a Dask cluster.")] = None,
    retry: Annotated[str | None, Option(metavar="errors", help="Run failed units again.")] = None,
    allow: Annotated[
        list[str] | None,
        Option(metavar="MODULE", help="Allow the plan to run methods of this module."),
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
    pairs: Annotated[str | None, Option(metavar="FILE", help="CSV of wins by pair.")] = None,
) -> int:
    """Print the gap table of each family, or write it as CSV, LaTeX or Markdown."""
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
    output: Annotated[str, Option("-o", metavar="FILE.html", help="The page to write.")],
) -> int:
    """Write a self-contained page with tables, plots, instances, versions and command lines."""
    from optsched.experiments.report.page import write_report

    write_report(store, output)
    if output != STANDARD_OUTPUT:
        note(f"wrote {output} ({Path(output).stat().st_size / 1e3:.0f} kB)")
    return DONE
