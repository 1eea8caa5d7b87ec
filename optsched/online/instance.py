"""Instance of the online problem: workload, catalogue and cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from optsched.display import Displayed, number
from optsched.errors import InputError, shown
from optsched.library import WORKLOAD
from optsched.online.data.catalogue import Catalogue, read_catalogue
from optsched.online.data.cluster import OnlineCluster, read_cluster
from optsched.online.data.workload import Workload
from optsched.online.data.workload_files import read_workload

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = "optsched/online"
FILES = (WORKLOAD, "catalogue.json", "cluster.json")
MAX_JOBS = 100_000
"""Maximum jobs of a sweep instance (stored as JSON); `optsched simulate` has no such limit."""


@dataclass(frozen=True, eq=False, repr=False)
class OnlineInstance(Displayed):
    """Online instance, as written by `optsched generate workload`.

    Attributes
    ----------
    workload, catalogue, cluster
        The jobs, their configurations and the cluster.
    provenance : mapping
        How the instance was generated or imported.
    """

    workload: Workload
    catalogue: Catalogue
    cluster: OnlineCluster
    provenance: Mapping[str, Any] = field(default_factory=dict)
    schema_: str = SCHEMA

    @property
    def name(self) -> str:
        return self.workload.name

    def facts(self) -> dict[str, str]:
        times, cluster = self.workload.submit_time, self.cluster
        span = float(times.max() - times.min()) if len(self.workload) else 0.0
        return {
            "online": self.name,
            "jobs": str(len(self.workload)),
            "submitted within": number(span / 3600, "h"),
            "servers": cluster.describe(),
            "models": str(len(self.catalogue.models)),
        }

    @classmethod
    def of_folder(cls, folder: str | Path) -> Self:
        """Read the three `FILES` of a folder; raises InputError."""
        table, models, machine = (Path(folder) / name for name in FILES)
        workload = read_workload(table).named(Path(folder).name)
        if len(workload) > MAX_JOBS:
            found, expected = f"{shown(len(workload))} jobs", f"at most {MAX_JOBS} in a sweep"
            raise InputError(str(table), "", found, expected)
        return cls(workload, read_catalogue(models), read_cluster(machine))

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], source: str = "online") -> Self:
        """Create an instance from the output of `to_dict`; raises InputError."""
        if set(document) | {"provenance"} != set(_KEYS):
            found, expected = f"keys {', '.join(map(str, document))}", f"keys {', '.join(_KEYS)}"
            raise InputError(source, "", found, expected)
        workload = Workload.of(**document["workload"], name=document["name"])
        catalogue = Catalogue.from_dict(document["catalogue"], source)
        cluster = OnlineCluster.from_dict(document["cluster"], source)
        return cls(workload, catalogue, cluster, document.get("provenance", {}))

    def with_(self, **fields: Any) -> Self:
        """Return a variant with other values of some fields; the workload may be a data frame."""
        unknown = next((name for name in fields if name not in self.__dataclass_fields__), None)
        if unknown is not None:
            raise InputError("online", unknown, shown(fields[unknown]), "no such field")
        table = fields.get("workload", self.workload)
        if not isinstance(table, Workload):
            fields["workload"] = Workload.of(**dict(table), name=self.name)
        return replace(self, **fields)

    def to_frame(self) -> pd.DataFrame:
        """Return the jobs as a data frame, with the arguments of `Workload.of` as columns."""
        import pandas as pd

        return pd.DataFrame(self.to_dict()["workload"])

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "version": 1,
            "name": self.name,
            "provenance": dict(self.provenance),
            "cluster": self.cluster.to_dict(),
            "catalogue": self.catalogue.to_dict(),
            "workload": self.workload.lists(),
        }


_KEYS = ("schema", "version", "name", "provenance", "cluster", "catalogue", "workload")
