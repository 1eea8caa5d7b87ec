"""Instances by path or by name: files of the user, and those that travel in the package."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from optsched.errors import InputError
from optsched.files import read_document
from optsched.io.writing import write_bytes
from optsched.problem import resolve
from optsched.problems import PROBLEMS, problem_of

if TYPE_CHECKING:
    from optsched.typing import Instance

BEST_KNOWN = "best_known.json"
PLANS = "plans"
FOLDERS = tuple(PROBLEMS)
ONLINE = "online"
WORKLOAD = "workload.csv"
"""What makes a folder a workload, with its catalogue and cluster beside it."""
PARTS = (WORKLOAD, "catalogue.json", "cluster.json")


def shipped_folder() -> Path:
    """The folder of shipped instances: inside the wheel, or beside the package in a checkout."""
    here = Path(__file__).resolve().parent.parent
    inside = here / "_shipped" / "instances"
    return inside if inside.is_dir() else here.parent / "instances"


def shipped_names() -> list[str]:
    """Names of the shipped instances, such as "placement/vgg19-16" or "online/small-400x40".

    A set of its own is a folder within a problem's: "placement/efficient/vgg19-32-25g".
    """
    root = shipped_folder()
    files = (
        path
        for folder in FOLDERS
        for path in (root / folder).rglob("*.json")
        if path.name != BEST_KNOWN and folder != ONLINE
    )
    workloads = (path.parent for path in (root / ONLINE).glob(f"*/{WORKLOAD}"))
    named = (*(path.with_suffix("") for path in files), *workloads)
    return sorted(path.relative_to(root).as_posix() for path in named)


def shipped_plans() -> list[str]:
    """Names of the shipped sweep plans, such as "plans/placement"."""
    return sorted(f"{PLANS}/{path.stem}" for path in (shipped_folder() / PLANS).glob("*.toml"))


def copy_shipped(target: str | Path) -> int:
    """Copy the shipped instances and plans into a new folder; return the number of files."""
    root, folder = shipped_folder(), Path(target)
    try:
        instances = sorted(p for name in FOLDERS for p in (root / name).rglob("*.json"))
        workloads = sorted(p for p in (root / ONLINE).glob("*/*") if p.is_file())
        copies = [
            (path, folder / path.relative_to(root))
            for path in (*instances, *workloads, *sorted((root / PLANS).glob("*.toml")))
        ]
        for _, copy in copies:
            if copy.exists():
                raise InputError(str(copy), "", "a file", "none: choose an empty folder")
        for path, copy in copies:
            write_bytes(copy, path.read_bytes())
    except OSError as error:
        raise InputError(
            str(target), "", error.strerror or str(error), "a writable folder"
        ) from None
    return len(copies)


def find(reference: str | Path) -> list[Path]:
    """Instances behind a path, a folder, or the name of a shipped instance or problem."""
    path = Path(reference)
    workload = workload_folder(path)
    if workload is not None:
        return [workload]
    for candidate in (path, _shipped(str(reference))):
        if candidate is None:
            continue
        if os.path.isdir(candidate):
            files = sorted(
                [
                    *(p for p in candidate.glob("*.json") if p.name != BEST_KNOWN),
                    *(p.parent for p in candidate.glob(f"*/{WORKLOAD}")),
                ]
            )
            if not files:
                raise InputError(str(reference), "", "a folder without *.json", "instance files")
            return files
        if os.path.isfile(candidate):
            return [candidate]
    named = _of_library(str(reference))
    if named:
        return named
    near = difflib.get_close_matches(str(reference), shipped_names(), n=1)
    expected = "a file, a folder or a name of `optsched instances list`"
    hint = f"did you mean {near[0]!r}?" if near else "`optsched instances list` shows the names"
    message = f"no such file or instance; {hint}"
    raise InputError(str(reference), "", "no such file or instance", expected, message)


def workload_folder(reference: str | Path) -> Path | None:
    """The folder behind a workload's folder or shipped name, such as "online/small-400x40"."""
    path, parts = Path(reference), Path(reference).parts
    shipped = shipped_folder() / path
    named = len(parts) == 2 and parts[0] == ONLINE
    for folder in (path, shipped) if named else (path,):
        if os.path.isfile(folder / WORKLOAD):
            return folder
    return None


def files_behind(reference: str | Path) -> list[Path]:
    """What `find` or `load` would read for a reference; itself, where that is nothing."""
    folder = workload_folder(reference)
    if folder is not None:
        return [folder / name for name in PARTS]
    try:
        return [
            file
            for each in find(reference)
            for file in ([each / name for name in PARTS] if each.is_dir() else [each])
        ]
    except InputError:
        return [Path(reference)]


def load(reference: str | Path) -> Instance:
    """Load one instance.

    Parameters
    ----------
    reference : str or Path
        A file, a workload's folder, or the name of a shipped instance such as
        "placement/vgg19-16" or "online/small-400x40".

    Returns
    -------
    PlacementInstance, SelectionInstance, OnlineInstance, ...
        An instance of the problem or format that the file's ``schema`` names.

    Raises
    ------
    InputError
        One line: file, JSON path, found, expected.

    Examples
    --------
    >>> import optsched
    >>> optsched.load("placement/vgg19-16").job.model
    'VGG19'
    """
    files = find(reference)
    if len(files) > 1:
        raise InputError(str(reference), "", f"{len(files)} instances", "one")
    if not files[0].exists():
        from optsched.library.sets import make, required_entry

        return make(required_entry(files[0].as_posix()))
    if files[0].is_dir():
        return resolve(PROBLEMS[ONLINE].instance).of_folder(files[0])
    source = str(files[0])
    document = read_document(source)
    return resolve(problem_of(document, source).instance).from_dict(document, source)


def _of_library(reference: str) -> list[Path]:
    """The names of a set's instances, or that of one; none for anything else."""
    from optsched.library.sets import entry_of, library_set, set_names

    if reference in set_names():
        return [Path(entry.name) for entry in library_set(reference).entries]
    return [] if entry_of(reference) is None else [Path(reference)]


def _shipped(name: str) -> Path | None:
    parts = Path(name).parts
    if not parts or len(parts) > 3 or parts[0] not in FOLDERS or ".." in parts:
        return None
    place = shipped_folder().joinpath(*parts)
    return (
        place
        if os.path.isdir(place)
        else place.with_name(f"{place.name.removesuffix('.json')}.json")
    )
