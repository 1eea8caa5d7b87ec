"""The makespan problem's data: ring-all-reduce jobs and the servers they share.

Units: seconds, bytes, bytes per second; starts, ends and the horizon in slots. Source: sjf-bco,
section 4; models/makespan/README.md.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Annotated, Any, Literal, Self

from pydantic import Field, WithJsonSchema, WrapValidator, model_validator

from optsched.checking import slack
from optsched.display import counted, listed, number
from optsched.errors import shown
from optsched.io.numerals import without_numpy
from optsched.schema import (
    FORMAT,
    LARGEST,
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

SCHEMA = "optsched/makespan"
# Far above any cluster; the products bound the memory of the arrays by GPU and by worker.
MAX_SERVERS = 2**14
MAX_GPUS_PER_SERVER = 2**12
MAX_GPUS = 2**20
MAX_JOBS = 2**15
MAX_WORKERS = 2**22
# Iterations and slots stay far below 2^53, so that sums of them are exact in floats.
MAX_ITERATIONS = 10**12
MAX_HORIZON = 10**9
FLOOR_TOLERANCE = 1e-9
"""Added before the floor of slot / tau, so that 1 / 0.1 counts as 10; the checker repeats it."""


def _table_or_number(value: Any, number: Callable[[Any], Any]) -> Any:
    """Return a table of f, a number a, or a function of p, which the instance tabulates."""
    if isinstance(value, list | tuple):
        return _table(value)
    return value if callable(value) else number(value)


def _table(values: Sequence[Any], where: str = "") -> tuple[float, ...]:
    if not 1 <= len(values) <= MAX_JOBS:
        raise fault(where, counted(len(values), "value"), f"1 to {MAX_JOBS} values of f")
    table = tuple(map(without_numpy, values))
    for p, (before, value) in enumerate(zip((1.0, *table), table, strict=False), start=1):
        if type(value) not in (int, float) or not before <= value <= LARGEST:
            expected = f"a number in [{before:g}, {LARGEST:g}]: f >= 1 is non-decreasing"
            raise fault(where, f"f = {shown(value)} at p = {p}", expected)
    return table


_NUMBER_SCHEMA = {"type": "number", "minimum": 0.0, "maximum": LARGEST}
_TABLE_SCHEMA = {
    "type": "array", "items": {**_NUMBER_SCHEMA, "minimum": 1.0},
    "minItems": 1, "maxItems": MAX_JOBS,
}  # fmt: skip
Degradation = Annotated[
    float | tuple[float, ...],
    Between(0.0, LARGEST),
    WrapValidator(_table_or_number),
    WithJsonSchema({"anyOf": [_NUMBER_SCHEMA, _TABLE_SCHEMA]}),
]


class Network(FileModel):
    """Link bandwidths and contention parameters."""

    inter_bandwidth: Annotated[Positive, About("b_e, links between servers.", "bytes/s", 1.25e9)]
    intra_bandwidth: Annotated[Positive, About("b_i, links inside a server.", "bytes/s", 3e11)]
    contention_share: Annotated[
        float,
        Between(0.0, 1.0),
        About(
            "xi_1: p jobs on a link contend like k = xi_1 p, equation (7); unused if degradation "
            "is a list.",
            "share",
            0.5,
        ),
    ]
    degradation: Annotated[
        Degradation,
        About(
            "eta of the slowdown f = max(1, k + eta (k - 1)), k = xi_1 p, by link sharing; or f at "
            "p = 1, 2, ..., a list of values >= 1 that do not decrease; the last holds beyond. "
            "Python takes a function of p, too, and lists its values up to the largest p possible.",
            "ratio",
            0.2,
        ),
    ]
    overhead_per_server: Annotated[
        NonNegative,
        About("xi_2 gamma_0, overhead of an iteration for each server used.", "seconds", 0.001),
    ]
    overhead_on_one_server: Annotated[
        bool, About("Whether the overhead also applies to a job inside one server.", "", True)
    ]


class RingJob(FileModel):
    """One job: a ring of G workers that trains F iterations."""

    name: Annotated[Name, About("Unique job name.", "", "j0")]
    gpus: Annotated[
        int, Between(1, MAX_GPUS), About("G_j, held together from start to end.", "GPUs", 4)
    ]
    iterations: Annotated[
        int, Between(1, MAX_ITERATIONS), About("F_j, iterations to train.", "iterations", 3000)
    ]
    gradient_bytes: Annotated[NonNegative, About("m_j, all-reduced each iteration.", "bytes", 1e8)]
    batch_size: Annotated[
        NonNegative, About("M_j, samples per worker and iteration.", "samples", 32)
    ]
    forward_time_per_sample: Annotated[
        NonNegative, About("Delta f_j, forward time of a sample.", "seconds", 1e-4)
    ]
    backward_time: Annotated[
        NonNegative, About("Delta b_j, backward time of an iteration.", "seconds", 5e-3)
    ]


class MakespanInstance(InstanceFile):
    """Jobs released at slot 0 and a cluster of servers; read with `optsched.load`."""

    schema_: Annotated[Literal["optsched/makespan"], FORMAT] = Field(alias="schema")
    servers: Annotated[
        tuple[Annotated[int, Between(1, MAX_GPUS_PER_SERVER)], ...],
        Items(MAX_SERVERS),
        About("O_s, GPUs of each server.", "GPUs", [4, 8]),
    ]
    network: Annotated[Network, About("Link bandwidths and contention parameters.")]
    compute_rate: Annotated[Positive, About("C, reduction rate of a worker.", "bytes/s", 1e11)]
    slot: Annotated[Positive, About("Length of a slot.", "seconds", 1.0)]
    progress: Annotated[
        Literal["floor", "continuous"],
        About(
            "floor: integral iterations a slot and starts; continuous: slot / tau, real starts.",
            "",
            "floor",
        ),
    ]
    horizon: Annotated[
        int, Between(1, MAX_HORIZON), About("Deadline for all completions.", "slots", 1200)
    ]
    jobs: Annotated[tuple[RingJob, ...], Items(MAX_JOBS), About("The jobs, released at slot 0.")]

    def facts(self) -> dict[str, str]:
        return {
            "makespan": self.name,
            "jobs": str(len(self.jobs)),
            "GPUs requested": str(sum(job.gpus for job in self.jobs)),
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
    def max_level(self) -> int:
        """Q: upper bound on the spanning jobs on one server; each has a GPU there."""
        return min(sum(job.gpus >= 2 for job in self.jobs), max(self.servers))

    @property
    def slotted(self) -> bool:
        """Whether progress is integral: whole iterations a slot, starts and ends at whole slots."""
        return self.progress == "floor"

    @property
    def horizon_tolerance(self) -> float:
        """Tolerance on a completion at the horizon: 0 with integral progress."""
        return 0.0 if self.slotted else slack(self.horizon)

    @property
    def latest_end(self) -> float:
        """Latest end within the horizon, for methods, bounds and the checker alike."""
        return self.horizon + self.horizon_tolerance

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        if not self.servers or not self.jobs:
            raise fault("jobs" if self.servers else "servers", "none", "at least one")
        if self.gpus > MAX_GPUS:
            raise fault("servers", f"{self.gpus} GPUs", f"at most {MAX_GPUS}")
        name, times = Counter(job.name for job in self.jobs).most_common(1)[0]
        if times > 1:
            raise fault("jobs", f"{times} jobs named {name!r}"[:80], "each name once")
        for where, job in self._named_jobs():
            if job.gpus > self.gpus:
                expected = f"at most the {self.gpus} of the cluster"
                raise fault(f"{where}.gpus", f"{job.gpus} GPUs", expected)
        workers = sum(job.gpus for job in self.jobs)
        if workers > MAX_WORKERS:
            raise fault("jobs", f"{workers} workers in all", f"at most {MAX_WORKERS}")
        return self

    @model_validator(mode="after")
    def _tabulate_degradation(self) -> Self:
        """Replace a function of p by its table."""
        where, function = "network.degradation", self.network.degradation
        if callable(function):
            try:
                values = [function(p) for p in range(1, max(1, self.max_level) + 1)]
            except Exception as error:
                found = f"{type(error).__name__}: {error}"
                raise fault(where, found, "a function of p = 1, 2, ...") from None
            network = self.network.model_copy(update={"degradation": _table(values, where)})
            object.__setattr__(self, "network", network)
        return self

    @model_validator(mode="after")
    def _check_jobs_can_run(self) -> Self:
        for (where, job), fewest in zip(self._named_jobs(), min_servers(self), strict=True):
            can_span = job.gpus > 1 and len(self.servers) > 1
            server_counts = [1] * (fewest == 1) + [max(2, fewest)] * can_span
            if any(iteration_time(self, job, servers, 1) == 0 for servers in server_counts):
                raise fault(where, "iteration time 0", "an iteration time above 0 s")
            if all(iterations_per_slot(self, job, servers, 1) == 0 for servers in server_counts):
                found = f"an iteration longer than a slot ({self.slot:g} s) on every placement"
                raise fault(where, found, "a longer slot, or progress=continuous")
        return self

    def _named_jobs(self) -> Iterator[tuple[str, RingJob]]:
        for index, job in enumerate(self.jobs):
            yield f"jobs[{index}] ({job.name})", job


def slowdown(network: Network, level: int) -> float:
    """f of a link that p >= 1 jobs share: of the table, or by (7) from xi_1 and a.

    The max with 1 (models/makespan/README.md) keeps a single job within its link's bandwidth.
    """
    if isinstance(network.degradation, tuple):
        return float(network.degradation[min(level, len(network.degradation)) - 1])
    contending = network.contention_share * level
    return max(1.0, contending + network.degradation * (contending - 1))


def bandwidth(network: Network, servers: int, level: int) -> float:
    """B_j in bytes/s of a job on `servers` servers at contention level p."""
    if servers == 1:
        return network.intra_bandwidth
    return network.inter_bandwidth / slowdown(network, level)


def iteration_time(instance: MakespanInstance, job: RingJob, servers: int, level: int) -> float:
    """tau_j of (8) in seconds; the level counts the job itself.

    The kernels and the checker re-implement it with the same order of operations, so that
    floor(slot / tau) is identical everywhere.

    Parameters
    ----------
    instance : MakespanInstance
        Jobs and servers.
    job : RingJob
        One of its jobs.
    servers : int
        Number of servers the job runs on.
    level : int
        p, number of jobs on its busiest link, itself included.

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
    has_overhead = servers > 1 or network.overhead_on_one_server
    return (
        2 * job.gradient_bytes * (workers - 1) / (workers * bandwidth(network, servers, level))
        + job.gradient_bytes * (workers - 1) / (workers * instance.compute_rate)
        + (network.overhead_per_server * servers if has_overhead else 0.0)
        + job.forward_time_per_sample * job.batch_size
        + job.backward_time
    )


def iterations_per_slot(
    instance: MakespanInstance, job: RingJob, servers: int, level: int
) -> float:
    """phi_j: floor(slot / tau + 1e-9), at most F_j; slot / tau with continuous progress."""
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
        p, number of jobs on its busiest link, itself included.

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


def min_servers(instance: MakespanInstance) -> list[int]:
    largest_first = list(accumulate(sorted(instance.servers, reverse=True)))
    return [bisect_left(largest_first, job.gpus) + 1 for job in instance.jobs]
