"""The makespan problem's data: ring-all-reduce jobs and the servers they share.

Units: seconds, bytes, bytes per second; starts, ends and the horizon in slots. Source: sjf-bco,
section 4; models/makespan/README.md.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import Annotated, Literal, Self

from pydantic import FailFast, Field, model_validator

from optsched.checking import slack
from optsched.display import counted, listed, number
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

SCHEMA = "optsched/makespan"
MOST_SERVERS = 2**14
MOST_GPUS_PER_SERVER = 2**12
MOST_GPUS = 2**20
MOST_JOBS = 2**15
MOST_WORKERS = 2**22
"""Workers of all jobs together."""
MOST_ITERATIONS = 10**12
LONGEST_HORIZON = 10**9
FLOOR_TOLERANCE = 1e-9
"""Added before the floor of slot / tau, so that 1 / 0.1 counts as 10."""


class Network(FileModel):
    """Links between and inside servers, and what sharing one costs."""

    inter_bandwidth: Annotated[Positive, About("b_e, links between servers.", "bytes/s", 1.25e9)]
    intra_bandwidth: Annotated[Positive, About("b_i, links inside a server.", "bytes/s", 3e11)]
    contention_share: Annotated[
        float,
        Between(0.0, 1.0),
        About("xi_1: contending jobs count for this share, k = xi_1 p (7).", "share", 0.5),
    ]
    degradation: Annotated[
        NonNegative,
        About(
            "a of f = max(1, k + a (k - 1)), what sharing a link costs beyond its share.",
            "ratio",
            0.2,
        ),
    ]
    overhead_per_server: Annotated[
        NonNegative,
        About("xi_2 gamma_0, what an iteration costs for each server used.", "seconds", 0.001),
    ]
    overhead_on_one_server: Annotated[
        bool, About("Whether a job inside one server pays that too.", "", True)
    ]


class RingJob(FileModel):
    """One job: a ring of G workers that trains F iterations."""

    name: Annotated[Name, About("The job's name, once in an instance.", "", "j0")]
    gpus: Annotated[
        int, Between(1, MOST_GPUS), About("G_j, all of them at once, from start to end.", "GPUs", 4)
    ]
    iterations: Annotated[
        int, Between(1, MOST_ITERATIONS), About("F_j, iterations to train.", "iterations", 3000)
    ]
    gradient_bytes: Annotated[NonNegative, About("m_j, all-reduced each iteration.", "bytes", 1e8)]
    batch_size: Annotated[NonNegative, About("M_j, of a worker and iteration.", "samples", 32)]
    forward_time_per_sample: Annotated[NonNegative, About("Delta f_j.", "seconds", 1e-4)]
    backward_time: Annotated[NonNegative, About("Delta b_j, of an iteration.", "seconds", 5e-3)]


class MakespanInstance(InstanceFile):
    """Jobs that are all there at slot 0, and a cluster; read with `optsched.load`."""

    schema_: Annotated[Literal["optsched/makespan"], FORMAT] = Field(alias="schema")
    servers: Annotated[
        tuple[Annotated[int, Between(1, MOST_GPUS_PER_SERVER)], ...],
        FailFast(),
        Field(strict=False, max_length=MOST_SERVERS),
        About("O_s, GPUs of each server.", "GPUs", [4, 8]),
    ]
    network: Annotated[Network, About("Links, and what sharing one costs.")]
    compute_rate: Annotated[Positive, About("C, what a worker reduces.", "bytes/s", 1e11)]
    slot: Annotated[Positive, About("How long a slot is.", "seconds", 1.0)]
    progress: Annotated[
        Literal["floor", "continuous"],
        About(
            "Whole iterations a slot and integer starts, or the rate slot / tau and real ones.",
            "",
            "floor",
        ),
    ]
    horizon: Annotated[
        int,
        Between(1, LONGEST_HORIZON),
        About("A completion after it is infeasible.", "slots", 1200),
    ]
    jobs: Annotated[
        tuple[RingJob, ...],
        FailFast(),
        Field(strict=False, max_length=MOST_JOBS),
        About("The jobs, all there at slot 0."),
    ]

    def facts(self) -> dict[str, str]:
        """What it is, for a prompt or a page."""
        return {
            "makespan": self.name,
            "jobs": str(len(self.jobs)),
            "GPUs wanted": str(sum(job.gpus for job in self.jobs)),
            "servers": f"{len(self.servers)} of {listed(sorted(set(self.servers)))} GPUs",
            "GPUs": str(sum(self.servers)),
            "horizon": counted(self.horizon, "slot"),
            "slot": number(self.slot, "s"),
            "progress": self.progress,
        }

    @property
    def gpus(self) -> int:
        """GPUs of the cluster."""
        return sum(self.servers)

    @property
    def slotted(self) -> bool:
        """Whether starts and ends are whole slots."""
        return self.progress == "floor"

    @property
    def horizon_tolerance(self) -> float:
        """Rounding allowed in an end at the horizon: none where slots are whole."""
        return 0.0 if self.slotted else slack(self.horizon)

    @property
    def latest_end(self) -> float:
        """Latest end within the horizon, for methods, bounds and the checker alike."""
        return self.horizon + self.horizon_tolerance

    @model_validator(mode="after")
    def _sizes(self) -> Self:
        if not self.servers or not self.jobs:
            missing = "servers" if not self.servers else "jobs"
            raise fault(missing, "none", "at least one")
        if self.gpus > MOST_GPUS:
            raise fault("servers", f"{self.gpus} GPUs", f"at most {MOST_GPUS}")
        name, times = Counter(job.name for job in self.jobs).most_common(1)[0]
        if times > 1:
            raise fault("jobs", f"{times} jobs named {name!r}"[:80], "each name once")
        return self

    @model_validator(mode="after")
    def _every_job_can_run(self) -> Self:
        for index, job in enumerate(self.jobs):
            if job.gpus > self.gpus:
                raise fault(
                    f"jobs[{index}] ({job.name}).gpus",
                    f"{job.gpus} GPUs",
                    f"at most the {self.gpus} of the cluster",
                )
        if sum(job.gpus for job in self.jobs) > MOST_WORKERS:
            raise fault("jobs", "more workers", f"at most {MOST_WORKERS} in all")
        prefix = server_prefix(self.servers)
        for index, job in enumerate(self.jobs):
            where = f"jobs[{index}] ({job.name})"
            fewest = fewest_servers(job.gpus, prefix)
            spans = job.gpus > 1 and len(self.servers) > 1
            widths = [1] * (fewest == 1) + [max(2, fewest)] * spans
            if any(iteration_time(self, job, servers, 1) == 0 for servers in widths):
                raise fault(where, "an iteration that takes no time", "tau above 0")
            if all(iterations_per_slot(self, job, servers, 1) == 0 for servers in widths):
                raise fault(
                    where,
                    f"an iteration longer than a slot ({self.slot:g} s) wherever it runs",
                    "tau of at most a slot, or continuous progress",
                )
        return self


def bandwidth(network: Network, servers: int, level: int) -> float:
    """B_j in bytes/s of a job on `servers` servers at contention level p; 1 when alone.

    Without the max of models/makespan/README.md a link would give a lone job more than it has.

    Parameters
    ----------
    network : Network
        Links, and what sharing one costs.
    servers : int
        Number of servers the job runs on.
    level : int
        p, jobs that share its busiest link, itself counted; 1 when it is alone.

    Returns
    -------
    float
        Bytes per second.

    Examples
    --------
    >>> import optsched
    >>> network = optsched.load("makespan/fig2").network
    >>> [bandwidth(network, servers, level) for servers, level in ((1, 0), (2, 1), (2, 2))]
    [125000000000.0, 1250000000.0, 500000000.0]
    """
    if servers == 1:
        return network.intra_bandwidth
    contending = network.contention_share * level
    return network.inter_bandwidth / max(1.0, contending + network.degradation * (contending - 1))


def iteration_time(instance: MakespanInstance, job: RingJob, servers: int, level: int) -> float:
    """tau_j of (8) in seconds; the level counts the job itself.

    The loader and all methods use this formula; the compiled loops and the checker repeat it
    independently, operation by operation, so that floor(slot / tau) is the same everywhere.

    Parameters
    ----------
    instance : MakespanInstance
        Jobs and servers.
    job : RingJob
        One of its jobs.
    servers : int
        Number of servers the job runs on.
    level : int
        p, jobs that share its busiest link, itself counted; 1 when it is alone.

    Returns
    -------
    float
        Seconds.

    Examples
    --------
    >>> import optsched
    >>> fig2 = optsched.load("makespan/fig2")
    >>> round(iteration_time(fig2, fig2.jobs[0], 2, 1), 3)
    0.205
    """
    network, workers = instance.network, job.gpus
    pays = servers > 1 or network.overhead_on_one_server
    return (
        2 * job.gradient_bytes * (workers - 1) / (workers * bandwidth(network, servers, level))
        + job.gradient_bytes * (workers - 1) / (workers * instance.compute_rate)
        + (network.overhead_per_server * servers if pays else 0.0)
        + job.forward_time_per_sample * job.batch_size
        + job.backward_time
    )


def iterations_per_slot(
    instance: MakespanInstance, job: RingJob, servers: int, level: int
) -> float:
    """phi_j: floor(slot / tau + 1e-9), at most F_j; slot / tau under continuous progress.

    Parameters
    ----------
    instance : MakespanInstance
        Jobs and servers.
    job : RingJob
        One of its jobs.
    servers : int
        Number of servers the job runs on.
    level : int
        p, jobs that share its busiest link, itself counted; 1 when it is alone.

    Returns
    -------
    float
        Iterations.

    Examples
    --------
    >>> import optsched
    >>> instance = optsched.load("makespan/fig2")
    >>> job = instance.jobs[0]
    >>> iterations_per_slot(instance, job, 1, 1) > iterations_per_slot(instance, job, 2, 2)
    True
    """
    tau = iteration_time(instance, job, servers, level)
    per_slot = instance.slot / tau if tau > 0 else math.inf
    if not instance.slotted:
        return per_slot
    return float(math.floor(min(per_slot + FLOOR_TOLERANCE, job.iterations)))


def duration(instance: MakespanInstance, job: RingJob, servers: int, level: int) -> float:
    """Slots of a job at one level throughout; infinity if it makes no progress.

    Parameters
    ----------
    instance : MakespanInstance
        Jobs and servers.
    job : RingJob
        One of its jobs.
    servers : int
        Number of servers the job runs on.
    level : int
        p, jobs that share its busiest link, itself counted; 1 when it is alone.

    Returns
    -------
    float
        Slots.

    Examples
    --------
    >>> import optsched
    >>> fig2 = optsched.load("makespan/fig2")
    >>> duration(fig2, fig2.jobs[0], 1, 0), duration(fig2, fig2.jobs[0], 2, 1)
    (4.0, 10.0)
    """
    per_slot = iterations_per_slot(instance, job, servers, level)
    if per_slot == 0:
        return math.inf
    if not instance.slotted:
        return job.iterations / per_slot
    return float(-(-job.iterations // int(per_slot)))


def spanning_duration(instance: MakespanInstance, job: RingJob, fewest: int) -> float:
    """Least slots over two or more servers; infinity if impossible.

    More servers and more contention only slow a job, so it runs alone on as few as hold it.
    """
    if job.gpus < 2 or len(instance.servers) < 2:
        return math.inf
    return duration(instance, job, max(2, fewest), 1)


def server_prefix(servers: Sequence[int]) -> list[int]:
    """GPUs of the largest server, of the two largest, and so on."""
    return list(accumulate(sorted(servers, reverse=True)))


def fewest_servers(gpus: int, prefix: Sequence[int]) -> int:
    """Fewest servers that hold so many GPUs, given `server_prefix`."""
    return bisect_left(prefix, gpus) + 1
