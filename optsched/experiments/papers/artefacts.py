"""The artefacts by name, and the command that makes them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from optsched.errors import InputError, shown
from optsched.experiments.papers.a_srpt import artefacts as a_srpt
from optsched.experiments.papers.artefact import Artefact, Scale
from optsched.experiments.papers.gathering import Progress, making
from optsched.experiments.papers.sjf_bco import artefacts as sjf_bco
from optsched.experiments.papers.sts import artefacts as sts
from optsched.experiments.papers.verdict import Verdict, read_verdict, verdict_file
from optsched.extras import require_extras
from optsched.problem import resolve

ALL = "all"
ARTEFACTS: dict[str, Artefact] = {
    artefact.name: artefact for artefact in (*a_srpt.ARTEFACTS, *sjf_bco.ARTEFACTS, *sts.ARTEFACTS)
}


def names_of(asked: list[str]) -> list[str]:
    """The artefacts behind names, "all" for every one; raises InputError."""
    for name in asked:
        if name != ALL and name not in ARTEFACTS:
            known = ", ".join(ARTEFACTS)
            raise InputError("reproduce", "artefact", shown(name), f"one of {known}")
    return list(ARTEFACTS) if ALL in asked else list(dict.fromkeys(asked))


def modules_of(names: Iterable[str]) -> list[str]:
    """What some artefacts take of optional dependencies."""
    return list(dict.fromkeys(m for name in names for m in ARTEFACTS[name].modules))


def reproduce(
    name: str,
    folder: str | Path,
    *,
    quick: bool = False,
    full: bool = False,
    trace: str | None = None,
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
    trace : str, optional
        A PAI job CSV for the artefacts that need one; without it they run on synthetic jobs.
    progress : callable, optional
        Called with how many of the artefact's steps are done, and of how many.

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
    require_extras(artefact.modules)
    folder = Path(folder)
    verdict_file(folder, name).unlink(missing_ok=True)
    scale = Scale(quick, full, trace)
    with making(folder, name, f"{scale!r} {_digest(trace)}", progress):
        text: str = resolve(artefact.run)(folder, scale if artefact.scales else quick)
    return text


def _digest(trace: str | None) -> str:
    """Of a trace's content: its name alone does not tell which rows it made."""
    if trace is None or not Path(trace).is_file():
        return ""
    with Path(trace).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def verdicts(folder: str | Path) -> dict[str, Verdict | None]:
    """The verdict of every artefact in a folder of results; None where there is none."""
    return {name: read_verdict(Path(folder), name) for name in ARTEFACTS}
