"""The placement problem's data: one job's stages and the servers that offer it GPUs.

Units: seconds, bytes, bytes per second. Source: a-srpt, section III.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import FailFast, Field, model_validator

from optsched.display import listed, number
from optsched.schema import (
    FORMAT,
    About,
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
MOST_MICRO_BATCHES = 2**20
MOST_COUNTS = 2**21
"""Most stages x servers: a solution of so many counts is still a file that can be read."""
CONSISTENCY = 1e-6
"""Relative tolerance of the sizes that two neighbouring stages state for one transfer."""


class Cluster(FileModel):
    """The servers' common hardware: GPUs a server has, NIC and in-server bandwidth (bytes/s)."""

    gpus_per_server: Annotated[
        int, Between(1, MOST_GPUS_PER_SERVER), About("GPUs that each server has.", "GPUs", 8)
    ]
    inter_bandwidth: Annotated[
        Positive, About("b_e, what a server's network card carries.", "bytes/s", 1.25e9)
    ]
    intra_bandwidth: Annotated[
        Positive, About("b_i, what links inside a server carry.", "bytes/s", 3e11)
    ]


class Stage(FileModel):
    """A pipeline stage: times and sizes of one replica for one iteration."""

    name: Annotated[Name, About("The stage's name.", "", "conv1-8")]
    replicas: Annotated[
        int,
        Between(1, MOST_REPLICAS),
        About(
            "k_s, data-parallel replicas; each takes one GPU, or `tensor_parallel` of them.",
            "replicas",
            5,
        ),
    ]
    forward_time: Annotated[
        NonNegative, About("p^f_s, forward pass of one replica for one iteration.", "seconds", 0.01)
    ]
    backward_time: Annotated[
        NonNegative,
        About("p^b_s, backward pass of one replica for one iteration.", "seconds", 0.02),
    ]
    input_bytes: Annotated[
        NonNegative,
        About("d^in_s, activations that a replica takes in; 0 in the first stage.", "bytes", 1e8),
    ]
    output_bytes: Annotated[
        NonNegative,
        About("d^out_s, activations that a replica sends on; 0 in the last stage.", "bytes", 1e8),
    ]
    parameter_bytes: Annotated[
        NonNegative,
        About("h_s, trainable parameters, all-reduced among the replicas.", "bytes", 3.7e7),
    ]
    tensor_parallel: Annotated[
        int,
        Between(1, MOST_GPUS_PER_SERVER),
        About("q_s, GPUs that hold the slices of a replica, all in one server.", "GPUs", 1),
    ] = 1
    tensor_bytes: Annotated[
        NonNegative, About("c_s, what is all-reduced among a replica's slices.", "bytes", 0.0)
    ] = 0.0
    expert_bytes: Annotated[
        NonNegative,
        About("e_s, what a replica sends in the all-to-all between experts.", "bytes", 0.0),
    ] = 0.0

    @property
    def gpus(self) -> int:
        """GPUs of all replicas, q_s k_s."""
        return self.tensor_parallel * self.replicas


class Job(FileModel):
    """One job: a pipeline of replicated stages."""

    model: Annotated[Name, About("The trained model's name.", "", "VGG19")]
    all_reduce: Annotated[
        Literal["ring", "double-tree"],
        About("How gradients are summed among a stage's replicas.", "", "ring"),
    ]
    stages: Annotated[
        tuple[Stage, ...],
        FailFast(),
        Field(strict=False, max_length=MOST_STAGES),
        About("The pipeline's stages, in order; what one sends is what the next takes in."),
    ]
    micro_batches: Annotated[
        Annotated[int, Between(1, MOST_MICRO_BATCHES)] | None,
        About(
            "M, micro-batches of an iteration whose gradients are summed at its end; "
            "none: an asynchronous pipeline.",
            "micro-batches",
            8,
        ),
    ] = None

    @property
    def replicas(self) -> int:
        """Replicas of all stages."""
        return sum(stage.replicas for stage in self.stages)

    @property
    def gpus(self) -> int:
        """GPUs the job needs, g = sum of q_s k_s."""
        return sum(stage.gpus for stage in self.stages)

    @property
    def is_sliced(self) -> bool:
        """Whether some replica takes more than one GPU."""
        return any(stage.tensor_parallel > 1 for stage in self.stages)

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
        if self.replicas > MOST_REPLICAS:
            raise fault("stages", f"{self.replicas} replicas", f"at most {MOST_REPLICAS} in all")
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
    """A job and the free GPUs offered to it; read with `optsched.load`."""

    schema_: Annotated[Literal["optsched/placement"], FORMAT] = Field(alias="schema")
    cluster: Annotated[Cluster, About("The servers' common hardware.")]
    free_gpus: Annotated[
        tuple[Annotated[int, Between(0, MOST_GPUS_PER_SERVER)], ...],
        FailFast(),
        Field(strict=False, max_length=MOST_SERVERS),
        About(
            "g_m, free GPUs of each server; their sum is the GPUs of the job, or more where "
            "replicas take several GPUs each.",
            "GPUs",
            [8, 5, 3],
        ),
    ]
    job: Annotated[Job, About("The job that is placed.")]

    def facts(self) -> dict[str, str]:
        """What it is, for a prompt or a page."""
        return {
            "placement": self.name,
            "model": self.job.model,
            "replicas by stage": listed(stage.replicas for stage in self.job.stages),
            **self._parallelism(),
            "free GPUs by server": listed(self.free_gpus),
            "GPUs": str(self.job.gpus),
            "NIC": f"{number(8e-9 * self.cluster.inter_bandwidth)} Gbit/s",
            "all-reduce": self.job.all_reduce,
        }

    def _parallelism(self) -> dict[str, str]:
        """What there is of it besides stages and their replicas."""
        job, said = self.job, {}
        if job.is_sliced:
            said["GPUs of a replica"] = listed(stage.tensor_parallel for stage in job.stages)
        if any(stage.expert_bytes for stage in job.stages):
            said["bytes between experts"] = listed(f"{s.expert_bytes:.3g}" for s in job.stages)
        if job.micro_batches is not None:
            said["micro-batches"] = str(job.micro_batches)
        return said

    @property
    def fills_the_offer(self) -> bool:
        """Whether the job needs every GPU on offer, so that no server may keep one free."""
        return sum(self.free_gpus) == self.job.gpus

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
        offered, needed = sum(self.free_gpus), self.job.gpus
        if self.job.is_sliced:
            if offered < needed:
                expected = f"at least the {needed} GPUs of the job"
                raise fault("free_gpus", f"a sum of {offered}", expected)
        elif offered != needed:
            raise fault("free_gpus", f"a sum of {offered}", f"the {needed} replicas of the job")
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

    Examples
    --------
    >>> truncate_offer([4, 3, 2], 8)
    [4, 3, 1]
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
