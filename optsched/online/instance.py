"""A workload with its cluster and catalogue in one object, as sweeps name, hash and store it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from typing import Any, Self

from optsched.display import Displayed, number
from optsched.errors import InputError, shown
from optsched.library import WORKLOAD
from optsched.online.data.catalogue import Catalogue, read_catalogue
from optsched.online.data.cluster import OnlineCluster, read_cluster
from optsched.online.data.workload import COLUMNS, WALLTIME, Workload
from optsched.online.data.workload_files import read_workload

SCHEMA = "optsched/online"
FILES = (WORKLOAD, "catalogue.json", "cluster.json")
MOST_JOBS = 100_000
"""Of one instance of a sweep, which keeps it as text; `optsched simulate` takes more."""


@dataclass(frozen=True, eq=False, repr=False)
class OnlineInstance(Displayed):
    """What `optsched generate workload` writes into a folder.

    Attributes
    ----------
    workload, catalogue, cluster
        The jobs, their configurations, and where they run.
    provenance : mapping
        How it was made.
    """

    workload: Workload
    catalogue: Catalogue
    cluster: OnlineCluster
    provenance: Mapping[str, Any] = field(default_factory=dict)
    schema_: str = SCHEMA

    @property
    def name(self) -> str:
        """The workload's name."""
        return self.workload.name

    def facts(self) -> dict[str, str]:
        """What it is, for a prompt or a page."""
        times, cluster = self.workload.submit_time, self.cluster
        span = float(times.max() - times.min()) if len(self.workload) else 0.0
        return {
            "online": self.name,
            "jobs": str(len(self.workload)),
            "submitted within": number(span / 3600, "h"),
            "servers": f"{cluster.servers} of {cluster.gpus_per_server} GPUs",
            "models": str(len(self.catalogue.models)),
        }

    @classmethod
    def of_folder(cls, folder: str | Path) -> Self:
        """Read the three `FILES` of a folder; raises InputError."""
        table, models, machine = (Path(folder) / name for name in FILES)
        workload = read_workload(table).named(Path(folder).name)
        _require_few(len(workload), str(table))
        return cls(workload, read_catalogue(models), read_cluster(machine))

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], source: str = "online") -> Self:
        """Make an instance of what `to_dict` gives; raises InputError."""
        if set(document) != {"schema", "version", "name", "provenance", "workload", *_PARTS}:
            raise InputError(source, "", "other keys", "what a sweep's store holds")
        workload = Workload.of(**document["workload"], name=document["name"])
        catalogue = Catalogue.from_dict(document["catalogue"], source)
        cluster = OnlineCluster.from_dict(document["cluster"], source)
        return cls(workload, catalogue, cluster, document["provenance"])

    def to_dict(self) -> dict[str, Any]:
        """The instance as one JSON object."""
        labels = {name: getattr(self.workload, name).text() for name in ("user", "group", "model")}
        columns = {name: list(getattr(self.workload, name)) for name in COLUMNS[:1]}
        columns |= {name: getattr(self.workload, name).tolist() for name in COLUMNS[1:4]}
        if (walltime := self.workload.walltime) is not None:
            columns[WALLTIME] = [None if isnan(value) else value for value in walltime.tolist()]
        return {
            "schema": SCHEMA,
            "version": 1,
            "name": self.name,
            "provenance": dict(self.provenance),
            "cluster": self.cluster.to_dict(),
            "catalogue": self.catalogue.to_dict(),
            "workload": {**columns, **labels},
        }


_PARTS = ("catalogue", "cluster")


def _require_few(jobs: int, source: str) -> None:
    if jobs > MOST_JOBS:
        raise InputError(source, "", f"{shown(jobs)} jobs", f"at most {MOST_JOBS} in a sweep")
