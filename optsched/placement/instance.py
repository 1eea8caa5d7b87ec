"""The placement problem's data: one job's stages and the servers that offer it GPUs.

Units: seconds, bytes, bytes per second. Source: a-srpt, section III.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from optsched.display import listed, number
from optsched.schema import (
    FORMAT,
    About,
    Between,
    FileModel,
    InstanceFile,
    Items,
    Name,
    NonNegative,
    Positive,
    fault,
)

SCHEMA = "optsched/placement"
MAX_GPUS_PER_SERVER = 1024
"""Counts on a server then fit in the 16 bits of the kernels' tables."""
MAX_REPLICAS = 2**15
MAX_STAGES = 4096
MAX_SERVERS = 2**15
MAX_MICRO_BATCHES = 2**20
MAX_COUNTS = 2**21
"""Largest stages x servers: the solution's file stays within the size that `load` accepts."""
TRANSFER_RTOL = 1e-6
"""Relative tolerance between the bytes that a stage sends and those that the next receives."""


class Cluster(FileModel):
    """The servers' common hardware: GPUs per server, NIC and intra-server bandwidth (bytes/s)."""

    gpus_per_server: Annotated[
        int, Between(1, MAX_GPUS_PER_SERVER), About("GPUs that each server has.", "GPUs", 8)
    ]
    inter_bandwidth: Annotated[
        Positive, About("b_e, bandwidth of a server's NIC.", "bytes/s", 1.25e9)
    ]
    intra_bandwidth: Annotated[
        Positive, About("b_i, bandwidth of the links inside a server.", "bytes/s", 3e11)
    ]


class Stage(FileModel):
    """A pipeline stage: times and sizes of one replica for one iteration."""

    name: Annotated[Name, About("The stage's name.", "", "conv1-8")]
    replicas: Annotated[
        int,
        Between(1, MAX_REPLICAS),
        About("k_s, data-parallel replicas, of `tensor_parallel` GPUs each.", "replicas", 5),
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
        About("d^in_s, activations received by a replica; 0 in the first stage.", "bytes", 1e8),
    ]
    output_bytes: Annotated[
        NonNegative,
        About("d^out_s, activations sent by a replica; 0 in the last stage.", "bytes", 1e8),
    ]
    parameter_bytes: Annotated[
        NonNegative,
        About("h_s, trainable parameters, all-reduced among the replicas.", "bytes", 3.7e7),
    ]
    tensor_parallel: Annotated[
        int,
        Between(1, MAX_GPUS_PER_SERVER),
        About("q_s, GPUs per replica (tensor slices), all in one server.", "GPUs", 1),
    ] = 1
    tensor_bytes: Annotated[
        NonNegative, About("c_s, all-reduced between the tensor slices of a replica.", "bytes", 0.0)
    ] = 0.0
    expert_bytes: Annotated[
        NonNegative,
        About("e_s, sent by a replica in the expert all-to-all.", "bytes", 0.0),
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
        Items(MAX_STAGES),
        About("The pipeline's stages, in order; each receives what the stage before it sends."),
    ]
    micro_batches: Annotated[
        Annotated[int, Between(1, MAX_MICRO_BATCHES)] | None,
        About("M, micro-batches per iteration; none: asynchronous.", "micro-batches", 8),
    ] = None

    @property
    def replicas(self) -> int:
        return sum(stage.replicas for stage in self.stages)

    @property
    def gpus(self) -> int:
        """GPUs the job needs, g = sum of q_s k_s."""
        return sum(stage.gpus for stage in self.stages)

    @property
    def has_tensor_slices(self) -> bool:
        """Whether some replica takes more than one GPU."""
        return any(stage.tensor_parallel > 1 for stage in self.stages)

    @model_validator(mode="after")
    def _check_transfers(self) -> Self:
        if not self.stages:
            raise fault("stages", "no stage", "at least one stage")
        if self.stages[0].input_bytes != 0:
            raise fault("stages[0].input_bytes", f"{self.stages[0].input_bytes:g}", "0")
        last = len(self.stages) - 1
        if self.stages[last].output_bytes != 0:
            raise fault(f"stages[{last}].output_bytes", f"{self.stages[last].output_bytes:g}", "0")
        for index in range(1, len(self.stages)):
            self._check_transfer(index)
        if self.replicas > MAX_REPLICAS:
            raise fault("stages", f"{self.replicas} replicas", f"at most {MAX_REPLICAS} in all")
        return self

    def _check_transfer(self, index: int) -> None:
        previous, stage = self.stages[index - 1], self.stages[index]
        sent = previous.output_bytes * previous.replicas
        received = stage.input_bytes * stage.replicas
        if abs(sent - received) > TRANSFER_RTOL * max(sent, received):
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
        tuple[Annotated[int, Between(0, MAX_GPUS_PER_SERVER)], ...],
        Items(MAX_SERVERS),
        About(
            "g_m, free GPUs of each server; they sum to the job's GPUs, or to more if some replica "
            "takes several GPUs.",
            "GPUs",
            [8, 5, 3],
        ),
    ]
    job: Annotated[Job, About("The job that is placed.")]

    def facts(self) -> dict[str, str]:
        return {
            "placement": self.name,
            "model": self.job.model,
            "replicas by stage": listed(stage.replicas for stage in self.job.stages),
            **self._parallelism_facts(),
            "free GPUs by server": listed(self.free_gpus),
            "GPUs": str(self.job.gpus),
            "NIC": f"{number(8e-9 * self.cluster.inter_bandwidth)} Gbit/s",
            "all-reduce": self.job.all_reduce,
        }

    def _parallelism_facts(self) -> dict[str, str]:
        """Facts about tensor slices, experts and micro-batches, if there are any."""
        job, facts = self.job, {}
        if job.has_tensor_slices:
            facts["GPUs of a replica"] = listed(stage.tensor_parallel for stage in job.stages)
        if any(stage.expert_bytes for stage in job.stages):
            facts["bytes between experts"] = listed(f"{s.expert_bytes:.3g}" for s in job.stages)
        if job.micro_batches is not None:
            facts["micro-batches"] = str(job.micro_batches)
        return facts

    @property
    def uses_all_gpus(self) -> bool:
        return sum(self.free_gpus) == self.job.gpus

    @property
    def shape(self) -> tuple[int, int]:
        """Stages and servers: the shape of a solution's counts."""
        return len(self.job.stages), len(self.free_gpus)

    @model_validator(mode="after")
    def _check_free_gpus(self) -> Self:
        limit = self.cluster.gpus_per_server
        for server, free in enumerate(self.free_gpus):
            if free > limit:
                raise fault(f"free_gpus[{server}]", str(free), f"at most gpus_per_server = {limit}")
        total, needed = sum(self.free_gpus), self.job.gpus
        if self.job.has_tensor_slices:
            if total < needed:
                expected = f"at least the {needed} GPUs of the job"
                raise fault("free_gpus", f"a sum of {total}", expected)
        elif total != needed:
            raise fault("free_gpus", f"a sum of {total}", f"the {needed} replicas of the job")
        stages, servers = self.shape
        if stages * servers > MAX_COUNTS:
            raise fault(
                "free_gpus", f"{stages} stages x {servers} servers", f"at most {MAX_COUNTS} counts"
            )
        return self


def truncate_offer(free_gpus: list[int], gpus: int) -> list[int]:
    """Take just enough free GPUs for a job.

    Servers are used in descending order of free GPUs, ties by index; the last one used gives only
    the GPUs that are still missing.

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


def symmetric_server_pairs(free_gpus: tuple[int, ...]) -> list[tuple[int, int]]:
    """Pairs of consecutive servers with equal free GPUs, for symmetry breaking."""
    latest: dict[int, int] = {}
    pairs = []
    for server, free in enumerate(free_gpus):
        if free in latest:
            pairs.append((latest[free], server))
        latest[free] = server
    return pairs
