"""The selection problem's data: nodes of GPUs, and jobs that want some of them for an interval.

Units: seconds, bytes, dollars per second. Source: sts, sections III and IV.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PlainValidator, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from optsched.display import listed, number
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
    Number,
    Positive,
    fault,
)
from optsched.uncertainty.epochs import Epochs

SCHEMA = "optsched/selection"
MAX_GPUS_PER_NODE = 256
MAX_NODES = 20_000
MAX_JOBS = 100_000
MAX_TYPES = 64
MAX_FRACTIONS = 16
MAX_TABLE = 2**24
"""Entries of jobs x types x configurations that a method tabulates at once: 128 MB of floats."""
MAX_FRACTION_LENGTH = 12
"""Characters of a fraction, so that common denominators stay small."""


def _fraction_key(value: Any) -> str:
    text = value if isinstance(value, str) else ""
    digits = text.removeprefix("0").removeprefix(".")
    plain = digits.isascii() and digits.isdigit() and len(text) <= MAX_FRACTION_LENGTH
    if not plain or text not in (f"0.{digits}", f".{digits}") or int(digits) == 0:
        raise PydanticCustomError(
            "fraction", "{expected}", {"expected": "a decimal string in (0, 1) such as '0.25'"}
        )
    return text


FractionKey = Annotated[
    str,
    PlainValidator(_fraction_key),
    WithJsonSchema({"type": "string", "pattern": r"^0?\.[0-9]+$"}),
]
Slowdown = Annotated[float, Between(1.0, LARGEST)]


class GpuType(FileModel):
    """A GPU type: memory of one GPU, and the slowdown b_f of each fraction it may be shared in."""

    memory_bytes: Annotated[Positive, About("M, memory of one GPU.", "bytes", 2.4e10)]
    slowdown: Annotated[
        dict[FractionKey, Slowdown],
        Field(max_length=MAX_FRACTIONS),
        About("b_f, slowdown on a fraction f of a GPU, by fraction.", "ratio", {"0.5": 1.04}),
    ]

    @property
    def fractions(self) -> tuple[Fraction, ...]:
        """The fractions below 1, exact, largest first."""
        return tuple(sorted((Fraction(key) for key in self.slowdown), reverse=True))

    def slowdown_of(self, fraction: Fraction) -> float:
        """b_f; 1 for the whole GPU."""
        if fraction == 1:
            return 1.0
        return next(b for key, b in self.slowdown.items() if Fraction(key) == fraction)

    def holds(self, memory: float, fraction: Fraction) -> bool:
        """Whether m_j <= f M (bytes), compared as exact rationals."""
        return memory <= self.memory_of(fraction)

    def memory_of(self, fraction: Fraction) -> float:
        """f M in bytes, rounded down."""
        exact = fraction * Fraction(self.memory_bytes)
        nearest = float(exact)
        return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, 0.0)

    @model_validator(mode="after")
    def _fractions_differ(self) -> Self:
        if len({Fraction(key) for key in self.slowdown}) < len(self.slowdown):
            raise fault("slowdown", "the same fraction twice", "distinct fractions")
        return self


class Node(FileModel):
    """A node: K_n GPUs of one type, and c_nk, dollars per second while k = 1..K_n are in use."""

    name: Annotated[Name, About("The node's name, once in an instance.", "", "n0")]
    gpu_type: Annotated[Name, About("A key of gpu_types.", "", "K80")]
    gpus: Annotated[int, Between(1, MAX_GPUS_PER_NODE), About("K_n.", "GPUs", 4)]
    cost_rate: Annotated[
        tuple[NonNegative, ...],
        Items(MAX_GPUS_PER_NODE),
        About(
            "c_nk, cost of the node while k = 1..K_n of its GPUs are in use; non-decreasing in k.",
            "dollars/s",
            [1e-4, 1.8e-4],
        ),
    ]

    @model_validator(mode="after")
    def _rates_fit(self) -> Self:
        if len(self.cost_rate) != self.gpus:
            found = f"{len(self.cost_rate)} rates at node {self.name}"
            raise fault("cost_rate", found, f"one for each of 1..{self.gpus} GPUs")
        pairs = zip(self.cost_rate, self.cost_rate[1:], strict=False)
        if any(after < before for before, after in pairs):
            raise fault("cost_rate", f"a rate that falls at node {self.name}", "non-decreasing")
        return self


class SelectionJob(FileModel):
    """A job."""

    name: Annotated[Name, About("The job's name, once in an instance.", "", "j0")]
    kind: Annotated[
        Name | None,
        About(
            "Jobs of one kind, such as runs of one network, share estimates over time with "
            "`knowledge=estimated`; those without it are of one kind.",
            "",
            "resnet50",
        ),
    ] = None
    due_date: Annotated[
        Number,
        About("d_j on the clock of the instance's `now`; may lie in the past.", "seconds", 9000.0),
    ]
    tardiness_weight: Annotated[
        NonNegative, About("eta_j, what lateness costs.", "dollars/s", 0.03)
    ]
    memory_bytes: Annotated[NonNegative, About("m_j, needed on each of its GPUs.", "bytes", 5e9)]
    completed_epochs: Annotated[
        NonNegative,
        About("Epochs done; the distribution is conditioned on needing more.", "epochs", 0),
    ] = 0
    epochs: Annotated[Epochs, About("The distribution of the epochs that it takes in all.")]
    epoch_time: Annotated[
        dict[
            Name,
            Annotated[tuple[Positive, ...], Items(MAX_GPUS_PER_NODE)],
        ],
        About(
            "An epoch with 1..K whole GPUs, by GPU type, K those of the type's largest node; "
            "a type left out is not usable.",
            "seconds",
            {"K80": [120.0, 65.0]},
        ),
    ]

    @model_validator(mode="after")
    def _has_work_left(self) -> Self:
        if max(self.epochs.values) <= self.completed_epochs:
            found = f"{self.completed_epochs:g} at job {self.name}, at least every value of epochs"
            raise fault("completed_epochs", found, f"below {max(self.epochs.values):g}")
        return self


class SelectionInstance(InstanceFile):
    """Nodes and jobs at one scheduling point; read with `optsched.load`."""

    schema_: Annotated[Literal["optsched/selection"], FORMAT] = Field(alias="schema")
    now: Annotated[Number, About("T_c, the moment of the decision.", "seconds", 0.0)]
    interval: Annotated[
        NonNegative, About("H, until the next scheduling point at the latest.", "seconds", 3600.0)
    ]
    postponement_penalty: Annotated[
        NonNegative,
        About(
            "rho: factor on the worst-case tardiness of a postponed job.",
            "ratio",
            10.0,
        ),
    ]
    gpu_types: Annotated[
        dict[Name, GpuType],
        Field(max_length=MAX_TYPES),
        About("The GPU types of the nodes, by name."),
    ]
    nodes: Annotated[
        tuple[Node, ...], Items(MAX_NODES), About("The nodes, in the order to which ties refer.")
    ]
    jobs: Annotated[
        tuple[SelectionJob, ...], Items(MAX_JOBS), About("All jobs, waiting and running.")
    ]

    def facts(self) -> dict[str, str]:
        return {
            str(self.schema_).removeprefix("optsched/"): self.name,
            "jobs": str(len(self.jobs)),
            "nodes": str(len(self.nodes)),
            "GPUs": str(sum(node.gpus for node in self.nodes)),
            "GPU types": listed(self.largest),
            "interval": number(self.interval, "s"),
        }

    @cached_property
    def largest(self) -> Mapping[str, int]:
        """GPUs of each type's largest node; types without a node are left out."""
        largest: dict[str, int] = {}
        for node in self.nodes:
            largest[node.gpu_type] = max(largest.get(node.gpu_type, 0), node.gpus)
        return largest

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with some fields changed; cached values derived from the nodes are dropped."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop("largest", None)  # pydantic copies the cache, even if `nodes` changed
        return copied

    def due_in(self, job: SelectionJob) -> float:
        """Seconds from now to the job's due date, d_j - T_c; negative when it is overdue."""
        return job.due_date - self.now

    def exclusions(self, job: SelectionJob) -> list[str]:
        """Reasons why GPU types of the cluster cannot run a job."""
        reasons = []
        for name in self.largest:
            memory = self.gpu_types[name].memory_bytes
            if name not in job.epoch_time:
                reasons.append(f"{name} is not in its epoch_time")
            elif not self.gpu_types[name].holds(job.memory_bytes, Fraction(1)):
                needed = number(job.memory_bytes, "bytes")
                reasons.append(f"{name} has {number(memory)} of the {needed} it needs")
        absent = [name for name in job.epoch_time if name not in self.largest]
        return [*reasons, *(f"{name} has no node" for name in absent)]

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not self.nodes or not self.jobs:
            raise fault("nodes" if not self.nodes else "jobs", "none", "at least one")
        self._require_new_names("nodes", "jobs")
        for index, node in enumerate(self.nodes):
            if node.gpu_type not in self.gpu_types:
                known = ", ".join(self.gpu_types) or "a key of gpu_types"
                raise fault(f"nodes[{index}].gpu_type", repr(node.gpu_type), known[:200])
        largest = self.largest
        widest = max(largest.values()) + MAX_FRACTIONS
        if len(self.jobs) * len(largest) * widest > MAX_TABLE:
            found = f"{len(self.jobs)} jobs x {len(largest)} types x {widest} configurations"
            raise fault("jobs", found, f"at most {MAX_TABLE} in all")
        for index, job in enumerate(self.jobs):
            self._job_fits(index, job, largest)
        self._costs_fit()
        return self

    def _costs_fit(self) -> None:
        """Reject instances whose costs exceed LARGEST."""
        highest_rate = max(node.cost_rate[-1] for node in self.nodes)
        slowdowns = [b for gpu_type in self.gpu_types.values() for b in gpu_type.slowdown.values()]
        total = 0.0
        for index, job in enumerate(self.jobs):
            slowest = max(max(times) for times in job.epoch_time.values())
            longest = max(job.epochs.values) * slowest * max(slowdowns, default=1.0)
            late = max(self.interval + longest - self.due_in(job), 0.0)
            rate = job.tardiness_weight * max(self.postponement_penalty, 1.0)
            cost = rate * late + highest_rate * longest
            total += cost
            if total > LARGEST:
                found = f"costs of up to {max(cost, total):.2g} dollars with job {job.name}"
                expected = f"at most {LARGEST:g}: count money in a larger unit"
                raise fault(f"jobs[{index}]", found, expected)

    def _job_fits(self, index: int, job: SelectionJob, largest: Mapping[str, int]) -> None:
        for name, times in job.epoch_time.items():
            where = f"jobs[{index}].epoch_time"
            if name not in self.gpu_types:
                raise fault(where, repr(name)[:80], "a key of gpu_types")
            if name in largest and len(times) != largest[name]:
                raise fault(
                    f"{where}.{name}",
                    f"{len(times)} times at job {job.name}",
                    f"{largest[name]}, the GPUs of the type's largest node",
                )
        if not any(
            name in largest and self.gpu_types[name].holds(job.memory_bytes, Fraction(1))
            for name in job.epoch_time
        ):
            found = f"job {job.name}, which fits on no node ({listed(self.exclusions(job))})"
            expected = "a node of a type in its epoch_time with GPUs of enough memory"
            raise fault(f"jobs[{index}]", found, expected)
