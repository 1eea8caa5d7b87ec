"""The placement problem's data: one job's stages and the servers that offer it GPUs.

Units: seconds, bytes, bytes per second. Source: a-srpt, section III.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import FailFast, Field, model_validator

from optsched.display import listed, number
from optsched.schema import (
    Between,
    FileModel,
    InstanceFile,
    Name,
    NonNegative,
    Positive,
    fault,
)

SCHEMA = "optsched/placement"
MOST_GPUS_PER_SERVER = 1024
MOST_REPLICAS = 2**15
MOST_STAGES = 4096
MOST_SERVERS = 2**15
MOST_COUNTS = 2**21
"""Most stages x servers: a solution of so many counts is still a file that can be read."""
CONSISTENCY = 1e-6
"""Relative tolerance of the sizes that two neighbouring stages state for one transfer."""


class Cluster(FileModel):
    """The servers' common hardware: GPUs a server has, NIC and in-server bandwidth (bytes/s)."""

    gpus_per_server: Annotated[int, Between(1, MOST_GPUS_PER_SERVER)]
    inter_bandwidth: Positive
    intra_bandwidth: Positive


class Stage(FileModel):
    """A pipeline stage: times and sizes of one replica for one iteration.

    Attributes
    ----------
    replicas : int
        Data-parallel replicas, k_s; each takes one GPU.
    forward_time, backward_time : float
        Seconds, p^f_s and p^b_s.
    input_bytes, output_bytes : float
        Activations in and out, d^in_s and d^out_s.
    parameter_bytes : float
        Trainable parameters, h_s.
    """

    name: Name
    replicas: Annotated[int, Between(1, MOST_REPLICAS)]
    forward_time: NonNegative
    backward_time: NonNegative
    input_bytes: NonNegative
    output_bytes: NonNegative
    parameter_bytes: NonNegative


class Job(FileModel):
    """One job: a pipeline of replicated stages."""

    model: Name
    all_reduce: Literal["ring", "double-tree"]
    stages: Annotated[tuple[Stage, ...], FailFast(), Field(strict=False, max_length=MOST_STAGES)]

    @property
    def gpus(self) -> int:
        """GPUs the job needs, g = sum of the replicas."""
        return sum(stage.replicas for stage in self.stages)

    @model_validator(mode="after")
    def _sizes_agree(self) -> Self:
        if not self.stages:
            raise fault("stages", "no stage", "at least one stage")
        if self.stages[0].input_bytes != 0:
            raise fault("stages[0].input_bytes", f"{self.stages[0].input_bytes:g}", "0")
        last = len(self.stages) - 1
        if self.stages[last].output_bytes != 0:
            raise fault(f"stages[{last}].output_bytes", f"{self.stages[last].output_bytes:g}", "0")
        for index in range(1, len(self.stages)):
            self._transfer_agrees(index)
        if self.gpus > MOST_REPLICAS:
            raise fault("stages", f"{self.gpus} replicas", f"at most {MOST_REPLICAS} in all")
        return self

    def _transfer_agrees(self, index: int) -> None:
        before, stage = self.stages[index - 1], self.stages[index]
        sent = before.output_bytes * before.replicas
        received = stage.input_bytes * stage.replicas
        if abs(sent - received) > CONSISTENCY * max(sent, received):
            raise fault(
                f"stages[{index}].input_bytes",
                f"{received:g} bytes in all",
                f"the {sent:g} bytes that stages[{index - 1}] sends",
            )


class PlacementInstance(InstanceFile):
    """A job and the free GPUs offered to it; read with `optsched.load`.

    Attributes
    ----------
    free_gpus : tuple of int
        g_m, free GPUs of each server; their sum is the job's number of replicas.
    """

    schema_: Literal["optsched/placement"] = Field(alias="schema")
    cluster: Cluster
    free_gpus: Annotated[
        tuple[Annotated[int, Between(0, MOST_GPUS_PER_SERVER)], ...],
        FailFast(),
        Field(strict=False, max_length=MOST_SERVERS),
    ]
    job: Job

    def facts(self) -> dict[str, str]:
        """What it is, for a prompt or a page."""
        return {
            "placement": self.name,
            "model": self.job.model,
            "replicas by stage": listed(stage.replicas for stage in self.job.stages),
            "free GPUs by server": listed(self.free_gpus),
            "GPUs": str(self.job.gpus),
            "NIC": f"{number(8e-9 * self.cluster.inter_bandwidth)} Gbit/s",
            "all-reduce": self.job.all_reduce,
        }

    @property
    def shape(self) -> tuple[int, int]:
        """Stages and servers: the shape of a solution's counts."""
        return len(self.job.stages), len(self.free_gpus)

    @model_validator(mode="after")
    def _offer_fits(self) -> Self:
        most = self.cluster.gpus_per_server
        for server, free in enumerate(self.free_gpus):
            if free > most:
                raise fault(f"free_gpus[{server}]", str(free), f"at most gpus_per_server = {most}")
        if sum(self.free_gpus) != self.job.gpus:
            raise fault(
                "free_gpus",
                f"a sum of {sum(self.free_gpus)}",
                f"the {self.job.gpus} replicas of the job",
            )
        stages, servers = self.shape
        if stages * servers > MOST_COUNTS:
            raise fault(
                "free_gpus", f"{stages} stages x {servers} servers", f"at most {MOST_COUNTS} counts"
            )
        return self


def truncate_offer(free_gpus: list[int], gpus: int) -> list[int]:
    """Cut an offer of free GPUs down to what a job needs.

    Servers are drained in descending order of free GPUs, ties by index; the last one drained
    gives only what is still missing, the rest give nothing.

    Parameters
    ----------
    free_gpus : list of int
        Free GPUs by server.
    gpus : int
        GPUs needed.

    Returns
    -------
    list of int
        GPUs taken by server, summing to `gpus`.

    Raises
    ------
    ValueError
        If the offer holds fewer than `gpus`.
    """
    if sum(free_gpus) < gpus:
        raise ValueError(f"the offer holds {sum(free_gpus)} GPUs, fewer than {gpus}")
    taken = [0] * len(free_gpus)
    for server in sorted(range(len(free_gpus)), key=lambda m: (-free_gpus[m], m)):
        taken[server] = min(free_gpus[server], gpus - sum(taken))
    return taken


def equal_neighbours(free_gpus: tuple[int, ...]) -> list[tuple[int, int]]:
    """Each server paired with the next one of as many free GPUs: the symmetry of the problem."""
    latest: dict[int, int] = {}
    pairs = []
    for server, free in enumerate(free_gpus):
        if free in latest:
            pairs.append((latest[free], server))
        latest[free] = server
    return pairs
