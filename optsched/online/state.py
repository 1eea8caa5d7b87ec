"""Files of the next decision: the state of a cluster, and the decision of a policy about it.

Times are seconds from any origin, the same in every file of a cluster.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from optsched.online.data.catalogue import Catalogue
from optsched.online.data.cluster import MAX_GPUS, MAX_SERVERS, OnlineCluster
from optsched.online.data.workload_files import MAX_NAME_LENGTH
from optsched.schema import (
    FORMAT,
    VERSION,
    About,
    Between,
    FileModel,
    Name,
    NonNegative,
    Number,
    Positive,
    Version,
    fault,
    parse,
    require_schema,
)

MAX_JOBS = 100_000

_JobId = Annotated[str, Field(min_length=1, max_length=MAX_NAME_LENGTH)]
_NamedJob = Annotated[_JobId, About("The job's name, unique in the state.", "", "j17")]
_Servers = Annotated[
    dict[Annotated[str, Field(pattern=r"^[0-9]{1,7}$")], Annotated[int, Between(1, MAX_GPUS)]],
    Field(min_length=1, max_length=MAX_SERVERS),
    About("GPUs by the server's 0-based index.", "GPUs", {"0": 8, "3": 4}),
]


class WaitingJob(FileModel):
    """A job that has been submitted and has not started."""

    job_id: _NamedJob
    submit_time: Annotated[Number, About("Submission time.", "seconds", 120.0)]
    gpus: Annotated[int, Between(1, MAX_GPUS), About("g, all held at once.", "GPUs", 16)]
    model: Annotated[Name, About("A key of the catalogue.", "", "VGG19-16")]
    predicted: Annotated[
        NonNegative, About("n~, predicted iterations in all.", "iterations", 1.2e4)
    ]
    user: Annotated[str, About("Submitting user, for limits and own policies.", "", "u7")] = ""
    group: Annotated[str, About("Recurring job, for limits and own policies.", "", "g3")] = ""
    walltime: Annotated[
        Positive | None, About("The user's estimate; for `easy` and windows.", "seconds", 3600.0)
    ] = None


class ActiveJob(WaitingJob):
    """A job that holds GPUs."""

    start: Annotated[Number, About("Start time.", "seconds", 180.0)]
    servers: _Servers


class Delay(FileModel):
    """A job that refused its first offer and waits for a better one."""

    alpha: Annotated[
        NonNegative, About("kappa, time of an iteration on the first offer.", "seconds", 0.5)
    ]
    until: Annotated[
        Number | None, About("End of the delay window; null: no end.", "seconds", 900.0)
    ] = None


class Memory(FileModel):
    """What a policy remembers from one decision to the next."""

    clock: Annotated[
        Number, About("Time at which the remaining work of `virtual` holds.", "seconds", 120.0)
    ] = 0.0
    virtual: Annotated[
        dict[_JobId, NonNegative],
        Field(max_length=MAX_JOBS),
        About("Remaining work on the virtual machine by job.", "seconds", {"j17": 42.0}),
    ] = Field(default_factory=dict)
    released: Annotated[
        tuple[_JobId, ...],
        Field(strict=False, max_length=MAX_JOBS),
        About("Waiting jobs that the virtual machine has completed, in order.", "", ["j16"]),
    ] = ()
    delayed: Annotated[
        dict[_JobId, Delay],
        Field(max_length=MAX_JOBS),
        About("Jobs that wait for a better offer."),
    ] = Field(default_factory=dict)


class _File(FileModel):
    schema_: Annotated[str, FORMAT] = Field(alias="schema")
    version: Annotated[Version, VERSION]

    @classmethod
    def from_dict(cls, document: Any, source: str = "decide") -> Self:
        """Create an object from a parsed JSON document; raises InputError."""
        require_schema(cls, document, source)
        return parse(cls, document, source)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of its file."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class OnlineState(_File):
    """A cluster at one time: waiting and running jobs, and the memory of the last decision."""

    schema_: Annotated[Literal["optsched/online-state"], FORMAT] = Field(alias="schema")
    now: Annotated[Number, About("Time of the decision.", "seconds", 300.0)]
    cluster: Annotated[OnlineCluster, About("The content of cluster.json.")]
    catalogue: Annotated[Catalogue, About("The content of catalogue.json.")]
    queue: Annotated[
        tuple[WaitingJob, ...],
        Field(strict=False, max_length=MAX_JOBS),
        About("Waiting jobs. Ties are broken by submission time, then by this order."),
    ]
    running: Annotated[
        tuple[ActiveJob, ...],
        Field(strict=False, max_length=MAX_JOBS),
        About("Running jobs, in any order."),
    ]
    memory: Annotated[
        Memory | None, About("`memory` of the last decision; left out for the first.")
    ] = None

    def to_dict(self) -> dict[str, Any]:
        """The state as the JSON object of its file."""
        return {**super().to_dict(), "catalogue": self.catalogue.to_dict()}

    @model_validator(mode="after")
    def _check_jobs(self) -> Self:
        for name, count in Counter(job.job_id for job in (*self.queue, *self.running)).items():
            if count > 1:
                raise fault("", f"job {name} twice", "each job once")
        if self.memory is not None and self.memory.clock > self.now:
            raise fault("memory.clock", str(self.memory.clock), f"at most {self.now}, which is now")
        for kind, jobs in (("queue", self.queue), ("running", self.running)):
            for i, job in enumerate(jobs):
                time = max(job.submit_time, getattr(job, "start", job.submit_time))
                if time > self.now:
                    raise fault(f"{kind}[{i}]", f"time {time}", f"at most {self.now}, which is now")
        taken: Counter[int] = Counter()
        for i, job in enumerate(self.running):
            if sum(job.servers.values()) != job.gpus:
                found, expected = f"{sum(job.servers.values())} GPUs", f"the job's {job.gpus}"
                raise fault(f"running[{i}].servers", found, expected)
            for server, gpus in job.servers.items():
                taken[int(server)] += gpus
                if int(server) >= self.cluster.num_servers:
                    expected = f"servers 0 to {self.cluster.num_servers - 1}"
                    raise fault(f"running[{i}].servers", server, expected)
                if taken[int(server)] > self.cluster.server_gpus[int(server)]:
                    found = f"{taken[int(server)]} GPUs held on server {server}"
                    expected = f"at most {self.cluster.server_gpus[int(server)]}"
                    raise fault(f"running[{i}].servers", found, expected)
        return self


class JobStart(FileModel):
    """A job to start now, and where."""

    job_id: _NamedJob
    servers: _Servers
    alpha: Annotated[NonNegative, About("Time of an iteration on these GPUs.", "seconds", 0.4)]


class OnlineDecision(_File):
    """What a policy does about a state."""

    schema_: Annotated[Literal["optsched/online-decision"], FORMAT] = Field(alias="schema")
    policy: Annotated[Name, About("Policy name.", "", "a-srpt")]
    now: Annotated[Number, About("Time of the decision.", "seconds", 300.0)]
    starts: Annotated[
        tuple[JobStart, ...],
        Field(strict=False, max_length=MAX_JOBS),
        About("Jobs to start now, in the order in which they were chosen."),
    ]
    wake: Annotated[
        Number | None,
        About("Time of the next decision if no job arrives or ends before.", "seconds", 420.0),
    ] = None
    memory: Annotated[Memory, About("To be passed on in the next state.")]
