"""The makespan problem's data: ring-all-reduce jobs and the servers they share.

Units: seconds, bytes, bytes per second; starts, ends and the horizon in slots. Source: sjf-bco,
section 4; models/makespan/README.md.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from itertools import accumulate
from typing import Annotated, Literal, Self

from pydantic import FailFast, Field, model_validator

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
        held = list(accumulate(sorted(self.servers, reverse=True)))
        for index, job in enumerate(self.jobs):
            fewest = bisect_left(held, job.gpus) + 1
            self._refuse_stuck(f"jobs[{index}] ({job.name})", self._least_slots(job, fewest))
        return self

    def _refuse_stuck(self, where: str, slots: float) -> None:
        if slots == 0:
            raise fault(where, "an iteration that takes no time", "tau above 0")
        if slots == math.inf:
            raise fault(
                where,
                f"an iteration longer than a slot ({self.slot:g} s) wherever it runs",
                "tau of at most a slot, or continuous progress",
            )

    def _least_slots(self, job: RingJob, fewest: int) -> float:
        """Slots in one server if one holds the job, or across the fewest with links to itself.

        Only for refusing a job that can never run: methods have `progress`, the checker its own.
        With its links to itself a job gets the whole bandwidth, since xi_1 <= 1 makes f = 1.
        """
        choices = [1] if fewest == 1 else []
        if job.gpus > 1 and len(self.servers) > 1:
            choices.append(max(2, fewest))
        return min(self._slots_across(job, servers) for servers in choices)

    def _slots_across(self, job: RingJob, servers: int) -> float:
        network = self.network
        bandwidth = network.intra_bandwidth if servers == 1 else network.inter_bandwidth
        pays = servers > 1 or network.overhead_on_one_server
        exchanged = job.gradient_bytes * (job.gpus - 1) / job.gpus
        tau = (
            exchanged * (2 / bandwidth + 1 / self.compute_rate)
            + (network.overhead_per_server * servers if pays else 0.0)
            + job.forward_time_per_sample * job.batch_size
            + job.backward_time
        )
        if tau == 0:
            return 0.0
        if not self.slotted:
            return job.iterations * tau / self.slot
        whole = math.floor(min(self.slot / tau + 1e-9, job.iterations))
        return math.inf if whole == 0 else float(-(-job.iterations // whole))
