"""The simulated cluster: equal servers, or groups of servers with equally many GPUs."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from optsched.arrays import Ints
from optsched.errors import shown
from optsched.files import read_document
from optsched.online.data.limits import MAX_WINDOWS, MaintenanceWindow, Priorities, Quotas
from optsched.placement.instance import MAX_GPUS_PER_SERVER, Cluster
from optsched.schema import (
    FORMAT,
    PROVENANCE,
    VERSION,
    About,
    Between,
    FileModel,
    Positive,
    Version,
    fault,
    parse,
)

MAX_SERVERS = 2**20
MAX_GPUS = 2**24

Gpus = Annotated[int, Between(1, MAX_GPUS_PER_SERVER)]
Count = Annotated[int, Between(1, MAX_SERVERS)]


class ServerGroup(FileModel):
    """Servers with equally many GPUs."""

    gpus: Annotated[Gpus, About("GPUs that each of them has.", "GPUs", 8)]
    count: Annotated[Count, About("Number of these servers.", "servers", 40)]


class OnlineCluster(FileModel):
    """Servers, GPUs each has, NIC and in-server bandwidth (bytes/s); the file cluster.json.

    Servers are numbered group by group. With unequal ones a server's NIC bandwidth is in proportion
    to its GPUs: `inter_bandwidth` is that of the largest.
    """

    schema_: Annotated[Literal["optsched/cluster"], FORMAT] = Field(alias="schema")
    version: Annotated[Version, VERSION]
    servers: Annotated[
        Count | Annotated[tuple[ServerGroup, ...], Field(min_length=1, strict=False)],
        About("Number of servers, all equal; or groups of servers.", "servers", 250),
    ]
    gpus_per_server: Annotated[
        Gpus | None, About("GPUs that each server has, if all are equal.", "GPUs", 8)
    ] = None
    inter_bandwidth: Annotated[
        Positive, About("b_e, NIC bandwidth of a server.", "bytes/s", 1.25e9)
    ]
    intra_bandwidth: Annotated[Positive, About("b_i, bandwidth inside a server.", "bytes/s", 3e11)]
    maintenance: Annotated[
        tuple[MaintenanceWindow, ...],
        Field(strict=False, max_length=MAX_WINDOWS),
        About("When servers run no job."),
    ] = ()
    quotas: Annotated[Quotas, About("Most GPUs that a user or group may hold.")] = Quotas()
    priorities: Annotated[Priorities, About("Whose jobs come first.")] = Priorities()
    provenance: Annotated[dict[str, Any], PROVENANCE] = Field(default_factory=dict)

    @classmethod
    def from_dict(cls, document: Any, source: str = "cluster") -> Self:
        """Create a cluster from a parsed JSON document; raises InputError."""
        return parse(cls, document, source)

    @classmethod
    def of(
        cls,
        servers: int = 250,
        gpus_per_server: int = 8,
        inter_bandwidth: float = 1.25e9,
        intra_bandwidth: float = 3e11,
    ) -> Self:
        """Create a cluster of equal servers, by default that of a-srpt's V-B.

        Examples
        --------
        >>> OnlineCluster.of(servers=2, gpus_per_server=4).gpus
        8
        """
        return cls(
            servers=servers,
            gpus_per_server=gpus_per_server,
            inter_bandwidth=inter_bandwidth,
            intra_bandwidth=intra_bandwidth,
        )

    def to_dict(self) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)

    @property
    def gpus(self) -> int:
        return sum(gpus * count for gpus, count in self._groups())

    @property
    def num_servers(self) -> int:
        return sum(count for _, count in self._groups())

    @property
    def largest_server(self) -> int:
        """GPUs of the largest server."""
        return max(gpus for gpus, _ in self._groups())

    @property
    def is_equal(self) -> bool:
        """Whether all servers have equally many GPUs."""
        return len({gpus for gpus, _ in self._groups()}) == 1

    @cached_property
    def server_gpus(self) -> Ints:
        """GPUs of each server."""
        sizes, counts = zip(*self._groups(), strict=True)
        return np.repeat(np.array(sizes, dtype=np.int64), counts)

    def describe(self, link: str = " of ") -> str:
        """Servers and GPUs, such as "40 of 8 and 20 of 4 GPUs"."""
        return f"{' and '.join(f'{count}{link}{gpus}' for gpus, count in self._groups())} GPUs"

    def _groups(self) -> Iterator[tuple[int, int]]:
        """GPUs and number of the servers of each group."""
        if isinstance(self.servers, int):
            yield self.gpus_per_server or 0, self.servers
        else:
            yield from ((group.gpus, group.count) for group in self.servers)

    @property
    def limits(self) -> tuple[str, ...]:
        """Names of the limits that it states."""
        quotas, priorities = self.quotas, self.priorities
        stated = {
            "maintenance": self.maintenance,
            "quotas": quotas.users or quotas.groups,
            "priorities": priorities.users or priorities.groups,
        }
        return tuple(name for name, value in stated.items() if value)

    def without_limits(self) -> Self:
        """The same servers without maintenance windows, quotas and priorities."""
        limits = ("maintenance", "quotas", "priorities")
        return self.from_dict({k: v for k, v in self.to_dict().items() if k not in limits})

    @property
    def hardware(self) -> Cluster:
        return Cluster(
            gpus_per_server=self.largest_server,
            inter_bandwidth=self.inter_bandwidth,
            intra_bandwidth=self.intra_bandwidth,
        )

    @model_validator(mode="after")
    def _check_size(self) -> Self:
        if isinstance(self.servers, int) != (self.gpus_per_server is not None):
            if isinstance(self.servers, int):
                raise fault("gpus_per_server", "missing", "a number, as servers is one")
            raise fault("gpus_per_server", shown(self.gpus_per_server), "none beside groups")
        if self.num_servers > MAX_SERVERS:
            raise fault("servers", f"{self.num_servers} in all", f"at most {MAX_SERVERS}")
        if self.gpus > MAX_GPUS:
            raise fault("servers", f"{self.gpus} GPUs in all", f"at most {MAX_GPUS}")
        for i, window in enumerate(self.maintenance):
            if window.last_server >= self.num_servers:
                expected = f"servers 0 to {self.num_servers - 1}"
                raise fault(f"maintenance[{i}].servers", str(window.last_server), expected)
        return self


def filled(server_gpus: Ints, gpus: int) -> list[int]:
    """GPUs that the largest servers give a job, the largest first."""
    sizes = np.sort(server_gpus)[::-1]
    left = gpus - (np.cumsum(sizes) - sizes)
    offer: list[int] = np.minimum(sizes, left)[left > 0].tolist()
    return offer


def read_cluster(path: str | Path) -> OnlineCluster:
    """Read cluster.json; raises InputError.

    Parameters
    ----------
    path : str or Path
        cluster.json.

    Returns
    -------
    OnlineCluster
        The cluster.

    Examples
    --------
    >>> from optsched.library import shipped_folder
    >>> read_cluster(shipped_folder() / "online/small-400x40/cluster.json").gpus
    320
    """
    return OnlineCluster.from_dict(read_document(path), str(path))
