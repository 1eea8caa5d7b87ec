"""Load instances by path, or by the name of one that is shipped with the package."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from optsched.errors import InputError, shown
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
"""A folder with this file is a workload; its catalogue and cluster are in the same folder."""
PARTS = (WORKLOAD, "catalogue.json", "cluster.json")


def shipped_folder() -> Path:
    """The folder of shipped instances: inside the wheel, or next to the package in a checkout."""
    package = Path(__file__).resolve().parent.parent
    in_wheel = package / "_shipped" / "instances"
    return in_wheel if in_wheel.is_dir() else package.parent / "instances"


def shipped_files() -> dict[str, Path]:
    """Files of the shipped instances by name, which leaves out folders in the problem's."""
    root = shipped_folder()
    files = {
        f"{problem}/{path.stem}": path
        for problem in FOLDERS
        if problem != ONLINE
        for path in (root / problem).rglob("*.json")
        if path.name != BEST_KNOWN
    }
    workloads = (path.parent for path in (root / ONLINE).glob(f"*/{WORKLOAD}"))
    return files | {f"{ONLINE}/{folder.name}": folder for folder in workloads}


def shipped_names() -> list[str]:
    """Names of the shipped instances, such as "placement/vgg19-16" or "online/small-400x40"."""
    return sorted(shipped_files())


def shipped_plans() -> list[str]:
    """Names of the shipped sweep plans, such as "plans/placement"."""
    return sorted(f"{PLANS}/{path.stem}" for path in (shipped_folder() / PLANS).glob("*.toml"))


def copy_shipped(target: str | Path) -> int:
    """Copy the shipped instances and plans into a new folder; return the number of files."""
    root, folder = shipped_folder(), Path(target)
    try:
        files = [path for problem in FOLDERS for path in (root / problem).rglob("*.json")]
        files += (path for path in (root / ONLINE).glob("*/*") if path.is_file())
        files += (root / PLANS).glob("*.toml")
        copies = {path: folder / path.relative_to(root) for path in sorted(files)}
        for copy in copies.values():
            if copy.exists():
                raise InputError(str(copy), "", "an existing file", "an empty folder")
        for path, copy in copies.items():
            write_bytes(copy, path.read_bytes())
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(str(target), "", reason, "a writable folder") from None
    return len(copies)


def find(reference: str | Path) -> list[Path]:
    """Resolve a path, a folder or a name to instance files."""
    path = Path(reference)
    workload = workload_folder(path)
    if workload is not None:
        return [workload]
    for candidate in (path, _shipped(str(reference))):
        if candidate is not None and os.path.isdir(candidate):
            files = [p for p in candidate.glob("*.json") if p.name != BEST_KNOWN]
            files += [p.parent for p in candidate.glob(f"*/{WORKLOAD}")]
            if not files:
                raise InputError(str(reference), "", "a folder without *.json", "instance files")
            return sorted(files)
        if candidate is not None and os.path.isfile(candidate):
            return [candidate]
    from optsched.library.sets import entry_of, library_set, set_names

    if str(reference) in set_names():
        return [Path(entry.name) for entry in library_set(str(reference)).entries]
    if entry_of(str(reference)) is not None:
        return [path]
    close_match = difflib.get_close_matches(str(reference), shipped_names(), n=1)
    expected = "a file, a folder or a name of `optsched instances list`"
    hint = (
        f"did you mean {close_match[0]!r}?"
        if close_match
        else "`optsched instances list` shows the names"
    )
    message = f"no such file or instance; {hint}"
    raise InputError(str(reference), "", "no such file or instance", expected, message)


def workload_folder(reference: str | Path) -> Path | None:
    """The folder behind a workload's folder or shipped name, such as "online/small-400x40"."""
    path, parts = Path(reference), Path(reference).parts
    is_name = len(parts) == 2 and parts[0] == ONLINE
    for folder in (path, shipped_folder() / path) if is_name else (path,):
        if os.path.isfile(folder / WORKLOAD):
            return folder
    return None


def files_read(reference: str | Path) -> list[Path]:
    """The files that `find` or `load` reads for a reference; the reference itself if none."""
    folder = workload_folder(reference)
    if folder is not None:
        return [folder / name for name in PARTS]
    try:
        instances = find(reference)
    except InputError:
        return [Path(reference)]
    return [
        file
        for path in instances
        for file in ([path / name for name in PARTS] if path.is_dir() else [path])
    ]


def load(reference: str | Path | Mapping[str, object]) -> Instance:
    """Load one instance.

    Parameters
    ----------
    reference : str, Path or mapping
        A file, a workload's folder, the name of a shipped instance such as "placement/vgg19-16" or
        "online/small-400x40", or the parsed JSON of a file.

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
    if isinstance(reference, Mapping):
        document = dict(reference)
        return resolve(problem_of(document, "instance").instance).from_dict(document)
    if not isinstance(reference, str | Path):
        raise InputError("load", "", shown(reference), "a name, a file, a folder or a mapping")
    files = find(reference)
    if len(files) > 1:
        raise InputError(str(reference), "", f"{len(files)} instances", "one")
    if not files[0].exists():
        from optsched.library.sets import load_entry, required_entry

        return load_entry(required_entry(files[0].as_posix()))
    if files[0].is_dir():
        return resolve(PROBLEMS[ONLINE].instance).of_folder(files[0])
    source = str(files[0])
    document = read_document(source)
    return resolve(problem_of(document, source).instance).from_dict(document, source)


def _shipped(name: str) -> Path | None:
    """The folder or file of a shipped name; a folder within the problem's may be left out."""
    parts = Path(name).parts
    if not parts or len(parts) > 3 or parts[0] not in FOLDERS or ".." in parts:
        return None
    place = shipped_folder().joinpath(*parts)
    if os.path.isdir(place) or not os.path.isdir(place.parent):
        return place
    return shipped_files().get(f"{parts[0]}/{place.name.removesuffix('.json')}")
