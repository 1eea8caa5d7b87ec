"""Sets of frozen instances: the generator's arguments and the hash of each instance.

Sets are immutable; a flawed set is superseded by one with the next number. A set's file holds the
generator's arguments, the seed and the SHA-256 of the canonical JSON of each instance. Instances
are generated on demand, and rejected if the hash differs. Workloads and speed profiles are stored
in a file of their own: their last digits depend on the versions of numpy and Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched.errors import InputError, shown, suggestion
from optsched.files import instance_sha256, read_document
from optsched.library.shipped import FOLDERS, load, shipped_folder
from optsched.problem import resolve
from optsched.problems import PROBLEMS

if TYPE_CHECKING:
    from optsched.typing import Instance

NAME = re.compile(r"^([a-z-]+/[a-z0-9.-]+)/[0-9]{3}$")
FILE_NAME = re.compile(r"^([a-z0-9.-]+)-([0-9]{3})$")
"""An instance's name in its own file: its set's, and its number."""


@dataclass(frozen=True)
class Entry:
    name: str  # ``problem/set/number``
    arguments: Mapping[str, Any]  # of the generator
    seed: int
    sha256: str  # hash of the canonical JSON without ``provenance``
    file: str | None = None  # name of the shipped instance, if no generator can make it
    # properties of the instance in a few numbers
    features: Mapping[str, float] = field(default_factory=dict)

    @property
    def problem(self) -> str:
        return self.name.partition("/")[0]

    @property
    def set_name(self) -> str:
        """``problem/set``."""
        return self.name.rpartition("/")[0]

    @property
    def file_name(self) -> str:
        """The instance's name in its own file, such as "plans-1-007"."""
        if self.file is not None:
            return self.file.rpartition("/")[2]
        return "-".join(self.name.split("/")[1:])


@dataclass(frozen=True)
class LibrarySet:
    """A set: its name, its purpose, the methods run on it, with their options, its instances."""

    name: str
    purpose: str
    methods: tuple[str, ...]
    entries: tuple[Entry, ...]
    options: Mapping[str, Any] = field(default_factory=dict)


def library_folder() -> Path:
    return shipped_folder() / "library"


@lru_cache
def set_names() -> tuple[str, ...]:
    root = library_folder()
    files = (path for problem in FOLDERS for path in sorted((root / problem).glob("*.json")))
    return tuple(path.relative_to(root).with_suffix("").as_posix() for path in files)


@lru_cache
def library_set(name: str) -> LibrarySet:
    if name not in set_names():
        raise InputError("library", "", shown(name), suggestion(name, set_names()))
    document = read_document(library_folder() / f"{name}.json")
    entries = (
        Entry(
            f"{name}/{instance['number']}",
            instance.get("arguments", {}),
            instance.get("seed", 0),
            instance["sha256"],
            instance.get("file"),
            instance.get("features", {}),
        )
        for instance in document["instances"]
    )
    methods, options = tuple(document["methods"]), document.get("options", {})
    return LibrarySet(name, document["why"], methods, tuple(entries), options)


def all_entries() -> Iterator[Entry]:
    for name in set_names():
        yield from library_set(name).entries


def entry_of(reference: str) -> Entry | None:
    match = NAME.match(reference)
    if match is None or match[1] not in set_names():
        return None
    return next((e for e in library_set(match[1]).entries if e.name == reference), None)


def find_entry(problem: str, file_name: str, sha256: str) -> Entry | None:
    """Find the library instance with this SHA-256 and, if it does not ship alone, file name."""
    match = FILE_NAME.match(file_name)
    entry = None if match is None else entry_of(f"{problem}/{match[1]}/{match[2]}")
    if entry is None:
        stored = (e for e in all_entries() if e.file is not None and e.sha256 == sha256)
        entry = next(stored, None)
    return entry if entry is not None and entry.sha256 == sha256 else None


def required_entry(reference: str) -> Entry:
    entry = entry_of(reference)
    if entry is None:
        expected = "problem/set/number, as `optsched library list` shows"
        raise InputError("library", "", shown(reference), expected)
    return entry


def load_entry(entry: Entry) -> Instance:
    """Generate or read an instance; raises InputError if its hash differs."""
    from optsched.verbs.generating import generate

    stored = _stored(entry.set_name)
    if entry.file is not None:
        instance = load(entry.file)
    elif stored is not None:
        document = stored[entry.name.rpartition("/")[2]]
        instance = resolve(PROBLEMS[entry.problem].instance).from_dict(document, entry.name)
    else:
        arguments = dict(entry.arguments)
        instance = generate(entry.problem, entry.seed, name=entry.file_name, **arguments)
    sha256 = instance_sha256(instance.to_dict())
    if sha256 != entry.sha256:
        expected = f"{entry.sha256}: another version of the generator made it"
        raise InputError(entry.name, "sha256", sha256, expected)
    return instance


@lru_cache
def _stored(set_name: str) -> dict[str, Any] | None:
    """The stored instances of a set by number; None if they are generated on demand."""
    path = library_folder() / f"{set_name}.instances.json.gz"
    return read_document(path) if path.is_file() else None


def write_set(name: str, folder: str | Path) -> int:
    """Write a set's instances as files, workloads as folders, and return their number."""
    from optsched.files import write_document
    from optsched.online.data.catalogue import write_catalogue
    from optsched.online.data.workload_files import write_workload
    from optsched.online.instance import FILES, OnlineInstance

    entries = library_set(name).entries
    for path in (Path(folder) / entry.file_name for entry in entries):
        for existing in filter(Path.exists, (path, Path(f"{path}.json"))):
            raise InputError(str(existing), "", "an existing file", "an empty folder")
    for entry in entries:
        instance, path = load_entry(entry), Path(folder) / entry.file_name
        if isinstance(instance, OnlineInstance):
            write_workload(path / FILES[0], instance.workload)
            write_catalogue(path / FILES[1], instance.catalogue)
            write_document(path / FILES[2], instance.cluster.to_dict())
        else:
            write_document(Path(f"{path}.json"), instance.to_dict())
    return len(entries)
