"""The command that reproduces tables and figures of the papers."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from optsched.cli.exit_codes import DONE, FAILED
from optsched.cli.progress import StepProgress
from optsched.cli.settings import require_folder
from optsched.cli.show import console, note
from optsched.errors import InputError, OptschedError
from optsched.experiments.papers.artefact import STORE, Scale
from optsched.extras import require_extras
from optsched.io.outputs import require_file, require_outputs


def reproduce(
    artifacts: Annotated[
        list[str] | None,
        Argument(metavar="ARTIFACT...", help="e.g. a-srpt-table2, or all."),
    ] = None,
    output: Annotated[str | None, Option("-o", metavar="DIR", help="Output folder.")] = None,
    quick: Annotated[bool, Option("--quick", help="Fewer seeds, for a smoke test.")] = False,
    full: Annotated[bool, Option("--full", help="The paper's sizes, where it has them.")] = False,
    trace: Annotated[
        str | None, Option(metavar="FILE", help="Trace of a-srpt's artefacts.")
    ] = None,
    trace_format: Annotated[
        str, Option(metavar="NAME", help="Format of --trace (see `optsched import`).")
    ] = "pai",
    load: Annotated[
        float | None,
        Option(metavar="X", help="Scale the trace's submission times to this load."),
    ] = None,
    time_scale: Annotated[float, Option(metavar="X", help="Factor of the trace's times.")] = 1.0,
    list_all: Annotated[bool, Option("--list", help="List the artefacts.")] = False,
    page: Annotated[
        str | None, Option(metavar="FILE", help="Write the verdicts as Markdown.")
    ] = None,
) -> int:
    """Reproduce a table or a figure of a paper, with the paper's values beside ours."""
    from optsched.experiments.papers.artefacts import ARTEFACTS, names_of, verdicts
    from optsched.experiments.papers.reproduction_page import OTHERS, write_page

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
    if (not artifacts and page is None) or output is None:
        raise InputError("reproduce", "", "no artefact or no -o", "ARTIFACT... -o DIR, or --list")
    scale = Scale(quick, full, trace, trace_format, load, time_scale)
    names = names_of(artifacts or [])
    require_folder(output, [trace])
    require_file(page, "standard output is used for the verdicts")
    require_outputs([page], [trace])
    require_extras(["matplotlib"])
    failed = [name for name in names if not _reproduced(name, output, scale, len(names) > 1)]
    verdict_by_name = verdicts(output)
    for name in names:
        out.print(
            "failed" if name in failed else str(verdict_by_name[name]), markup=False, soft_wrap=True
        )
    if page is not None:
        write_page(page, verdict_by_name)
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
