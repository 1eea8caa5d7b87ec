"""Sets of frozen instances: how each is made, and the hash that says it was made right.

A set never changes; one with a flaw is followed by another of the next number. Its file holds, for
each instance, the generator's arguments, the seed and the SHA-256 of its canonical JSON, so that it
is made on demand, bit for bit, or refused. Workloads and speed profiles are stored beside it:
their last digits are those of the versions of numpy and Python that drew them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from optsched.errors import InputError, shown, suggestion
from optsched.files import read_document
from optsched.library.shipped import FOLDERS, load, shipped_folder
from optsched.problem import resolve
from optsched.problems import PROBLEMS
from optsched.schema import FileModel, Name, parse

if TYPE_CHECKING:
    from optsched.typing import Instance

SCHEMA = "optsched/library-set"
LIBRARY = "library"
NAME = re.compile(r"^([a-z-]+)/([a-z0-9.-]+)(?:/([0-9]{3}))?$")
FILE_NAME = re.compile(r"^([a-z0-9.-]+)-([0-9]{3})$")
"""The name that an instance has in its own file: its set's, and its number."""


class _Instance(FileModel):
    number: Annotated[str, Field(pattern="^[0-9]{3}$")]
    arguments: dict[str, Any] = Field(default_factory=dict)
    seed: Annotated[int, Field(ge=0)] = 0
    file: Name | None = None
    features: dict[str, float] = Field(default_factory=dict)
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _SetFile(FileModel):
    schema_: Literal["optsched/library-set"] = Field(alias="schema")
    version: Literal[1]
    name: Name
    why: str
    methods: Annotated[tuple[str, ...], Field(strict=False)]
    instances: Annotated[tuple[_Instance, ...], Field(strict=False, max_length=999)]


@dataclass(frozen=True)
class Entry:
    """One instance of a set.

    Attributes
    ----------
    name : str
        ``problem/set/number``.
    arguments, seed
        The generator's.
    file : str or None
        Of what no generator can make: the shipped instance's name.
    features : mapping
        What it is like, in a few numbers.
    sha256 : str
        Of the canonical JSON without ``provenance``.
    """

    name: str
    arguments: Mapping[str, Any]
    seed: int
    sha256: str
    file: str | None = None
    features: Mapping[str, float] = field(default_factory=dict)

    @property
    def problem(self) -> str:
        """The problem's name."""
        return self.name.partition("/")[0]

    @property
    def set_name(self) -> str:
        """``problem/set``."""
        return self.name.rpartition("/")[0]

    @property
    def file_name(self) -> str:
        """The instance's name in its file, such as "plans-1-007"."""
        if self.file is not None:
            return self.file.rpartition("/")[2]
        return "-".join(self.name.split("/")[1:])


@dataclass(frozen=True)
class LibrarySet:
    """A set: its name, why it is there, the methods its runs take, and its instances."""

    name: str
    why: str
    methods: tuple[str, ...]
    entries: tuple[Entry, ...]


def library_folder() -> Path:
    """The folder of the sets and records that ship."""
    return shipped_folder() / LIBRARY


@lru_cache
def set_names() -> tuple[str, ...]:
    """Names of all sets, such as "placement/plans-1"."""
    root = library_folder()
    files = (path for problem in FOLDERS for path in sorted((root / problem).glob("*.json")))
    return tuple(path.relative_to(root).with_suffix("").as_posix() for path in files)


@lru_cache
def library_set(name: str) -> LibrarySet:
    """The set of a name; raises InputError."""
    if name not in set_names():
        raise InputError("library", "", shown(name), suggestion(name, set_names()))
    return read_set(library_folder() / f"{name}.json")


def entries(names: tuple[str, ...] | None = None) -> Iterator[Entry]:
    """The instances of some sets, or of all."""
    for name in set_names() if names is None else names:
        yield from library_set(name).entries


def entry_of(reference: str) -> Entry | None:
    """The instance of a name; None if there is none."""
    found = NAME.match(reference)
    if found is None or found[3] is None or f"{found[1]}/{found[2]}" not in set_names():
        return None
    every = library_set(f"{found[1]}/{found[2]}").entries
    return next((entry for entry in every if entry.name == reference), None)


def entry_behind(problem: str, file_name: str, sha256: str) -> Entry | None:
    """The instance that a file's name and hash are those of."""
    found = FILE_NAME.match(file_name)
    entry = None if found is None else entry_of(f"{problem}/{found[1]}/{found[2]}")
    if entry is None:
        stored = (each for each in entries() if each.file is not None)
        entry = next((each for each in stored if each.sha256 == sha256), None)
    return entry if entry is not None and entry.sha256 == sha256 else None


def required_entry(reference: str) -> Entry:
    """The instance of a name; raises InputError."""
    entry = entry_of(reference)
    if entry is None:
        expected = "problem/set/number, as `optsched library list` shows"
        raise InputError("library", "", shown(reference), expected)
    return entry


def make(entry: Entry) -> Instance:
    """Make an instance, or read it where it is stored; refuses one that is not the frozen one."""
    from optsched.files import instance_sha256
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
        raise InputError(
            entry.name,
            "sha256",
            sha256,
            f"{entry.sha256}: another version of the generator made it",
        )
    return instance


@lru_cache
def _stored(set_name: str) -> dict[str, Any] | None:
    """The instances of a set by number, where a generator's last digits are numpy's version's."""
    path = library_folder() / f"{set_name}.instances.json.gz"
    return read_document(path) if path.is_file() else None


def write_set(name: str, folder: str | Path) -> int:
    """Make the instances of a set as files of a folder, workloads as folders; how many."""
    from optsched.files import write_document
    from optsched.online.data.catalogue import write_catalogue
    from optsched.online.data.workload_files import write_workload
    from optsched.online.instance import FILES, OnlineInstance

    every = library_set(name).entries
    for entry in every:
        place = Path(folder) / entry.file_name
        for path in (place, Path(f"{place}.json")):
            if path.exists():
                raise InputError(str(path), "", "a file", "none: choose an empty folder")
    for entry in every:
        instance, place = make(entry), Path(folder) / entry.file_name
        if isinstance(instance, OnlineInstance):
            write_workload(place / FILES[0], instance.workload)
            write_catalogue(place / FILES[1], instance.catalogue)
            write_document(place / FILES[2], instance.cluster.to_dict())
        else:
            write_document(Path(f"{place}.json"), instance.to_dict())
    return len(every)


def read_set(path: Path) -> LibrarySet:
    """Read a set's file; raises InputError."""
    read = parse(_SetFile, read_document(path), str(path))
    made = (
        Entry(
            f"{read.name}/{each.number}",
            each.arguments,
            each.seed,
            each.sha256,
            each.file,
            each.features,
        )
        for each in read.instances
    )
    return LibrarySet(read.name, read.why, read.methods, tuple(made))
