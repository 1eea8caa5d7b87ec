"""The simulated cluster: equal servers."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from optsched.files import read_document
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


class OnlineCluster(FileModel):
    """Servers, GPUs each has, NIC and in-server bandwidth (bytes/s); the file cluster.json."""

    schema_: Annotated[Literal["optsched/cluster"], FORMAT] = Field(alias="schema")
    version: Annotated[Version, VERSION]
    servers: Annotated[
        int,
        Between(1, MAX_SERVERS),
        About("Number of servers, all equal.", "servers", 250),
    ]
    gpus_per_server: Annotated[
        int, Between(1, MAX_GPUS_PER_SERVER), About("GPUs that each server has.", "GPUs", 8)
    ]
    inter_bandwidth: Annotated[
        Positive, About("b_e, NIC bandwidth of a server.", "bytes/s", 1.25e9)
    ]
    intra_bandwidth: Annotated[Positive, About("b_i, bandwidth inside a server.", "bytes/s", 3e11)]
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
        """Create a cluster; the defaults are a-srpt's V-B: 250 x 8, 10 Gbit/s, 300 GB/s.

        Parameters
        ----------
        servers : int, optional
            Number of servers, all equal.
        gpus_per_server : int, optional
            GPUs of each server.
        inter_bandwidth : float, optional
            NIC bandwidth of a server, bytes/s.
        intra_bandwidth : float, optional
            Bandwidth inside a server, bytes/s.

        Returns
        -------
        OnlineCluster
            The cluster.

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
        """G, GPUs in all."""
        return self.servers * self.gpus_per_server

    @property
    def hardware(self) -> Cluster:
        return Cluster(
            gpus_per_server=self.gpus_per_server,
            inter_bandwidth=self.inter_bandwidth,
            intra_bandwidth=self.intra_bandwidth,
        )

    @model_validator(mode="after")
    def _check_size(self) -> Self:
        if self.gpus > MAX_GPUS:
            raise fault("servers", f"{self.gpus} GPUs in all", f"at most {MAX_GPUS}")
        return self


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
