"""The runs of an artefact: its plan swept into a store beside its files.

The store is that of any sweep, so a stopped artefact continues where it was, and artefacts share
their common runs. Runs of another version of this package's code are not reused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from optsched.errors import InputError, OptschedError
from optsched.experiments.frame import read_store
from optsched.experiments.papers.artefact import Artefact, Scale
from optsched.experiments.plans.plan import Family, Plan
from optsched.experiments.plans.units import canonical
from optsched.experiments.run.runner import Standing, sweep
from optsched.experiments.store.row import Status
from optsched.external import module_of
from optsched.methods import warm_up

if TYPE_CHECKING:
    import pandas as pd

STORE = "runs.sqlite"
Progress = Callable[[int, int], None]
"""Called with the number of finished runs, and of all runs."""


def runs_of(
    artefact: Artefact, folder: Path, scale: Scale, progress: Progress | None = None
) -> pd.DataFrame:
    """Run the missing runs of an artefact's plan; return all of them in the plan's order."""
    import pandas as pd

    if artefact.plan is None:
        return pd.DataFrame()
    families = tuple(artefact.plan(scale))
    text = canonical([family.model_dump(mode="json") for family in families])
    code = f"{_code()}{_digest(scale.trace)}"
    if artefact.timed is not None and not scale.quick:
        warm_up(artefact.timed)

    def report(standing: Standing) -> None:
        if progress is not None:
            progress(standing.done + standing.run, standing.total)

    sweep(
        Plan(artefact.name, families, text, artefact.command, code=code),
        folder / STORE,
        workers=0 if scale.quick else 1 if artefact.timed else None,
        retry_errors=True,
        allow=_modules(families),
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
            raise InputError(scale.trace, artefact.name, message, "a trace that has such jobs")
        raise OptschedError(message)
    return frame


def _modules(families: Sequence[Family]) -> set[str]:
    """The modules whose functions a plan uses as methods or generators."""
    named = {name for family in families for name in (*family.methods, family.generator or "")}
    return {module for name in named if (module := module_of(name)) is not None}


@lru_cache(maxsize=1)
def _code() -> str:
    """A digest of this package's source."""
    root = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _digest(trace: str | None) -> str:
    """A digest of a trace's content, file or folder: its name does not identify its rows."""
    if trace is None:
        return ""
    files = sorted(Path(trace).glob("*")) if Path(trace).is_dir() else [Path(trace)]
    digest = hashlib.sha256()
    for path in files:
        if path.is_file():
            with path.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()
