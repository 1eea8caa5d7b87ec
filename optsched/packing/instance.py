"""The packing problem's data: nodes with shared GPUs, types of tasks, and the order of arrival.

Units: thousandths of a CPU core and of a GPU ("milli"), bytes. Source: FGD (USENIX ATC '23).
"""

from collections import Counter
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from optsched.display import listed
from optsched.schema import FORMAT, About, Between, FileModel, InstanceFile, Items, Name, fault

SCHEMA = "optsched/packing"
MILLI = 1000
"""Thousandths of a GPU in one GPU."""
MAX_GPUS_PER_NODE = 64
MAX_NODES = 20_000
MAX_TYPES = 20_000
MAX_ARRIVALS = 1_000_000
MAX_MODELS = 64

Amount = Annotated[int, Between(0, 2**50)]
Demand = tuple[int, int, int, tuple[str, ...]]
"""CPU, bytes of memory, milli of GPUs and accepted models of a task."""


class PackingNode(FileModel):
    """A node: CPU, memory, and GPUs of one model."""

    name: Annotated[Name, About("The node's name, once in an instance.", "", "n0")]
    cpu_milli: Annotated[Amount, About("CPU.", "thousandths of a core", 64000)]
    memory_bytes: Annotated[Amount, About("Memory.", "bytes", 274877906944)]
    gpus: Annotated[int, Between(0, MAX_GPUS_PER_NODE), About("GPUs.", "GPUs", 8)]
    model: Annotated[Name, About("The model of its GPUs.", "", "T4")]


class TaskType(FileModel):
    """Tasks with equal demands."""

    name: Annotated[Name, About("The type's name, once in an instance.", "", "t0")]
    count: Annotated[int, Between(1, MAX_ARRIVALS), About("Tasks of this type.", "tasks", 3)]
    cpu_milli: Annotated[Amount, About("CPU of a task.", "thousandths of a core", 6000)]
    memory_bytes: Annotated[Amount, About("Memory of a task.", "bytes", 12884901888)]
    gpu_milli: Annotated[
        int,
        Between(0, MAX_GPUS_PER_NODE * MILLI),
        About("A share of one GPU, or a multiple of 1000: whole GPUs.", "thousandths", 460),
    ]
    models: Annotated[
        tuple[Name, ...],
        Items(MAX_MODELS),
        About("GPU models that the task accepts; none listed: all.", "", ["T4"]),
    ] = ()

    @property
    def gpus(self) -> int:
        """GPUs that a task occupies, wholly or in part."""
        return -(-self.gpu_milli // MILLI)

    @property
    def is_share(self) -> bool:
        return 0 < self.gpu_milli < MILLI

    def accepts(self, node: PackingNode) -> bool:
        """Whether the model of a node's GPUs suits the task."""
        return not self.models or node.model in self.models

    def fits(self, node: PackingNode) -> bool:
        """Whether an empty node can take the task."""
        fits_gpus = self.gpus <= node.gpus and self.accepts(node)
        return fits_gpus and (
            self.cpu_milli <= node.cpu_milli and self.memory_bytes <= node.memory_bytes
        )

    @model_validator(mode="after")
    def _asks_a_share_or_whole_gpus(self) -> Self:
        if self.gpu_milli > MILLI and self.gpu_milli % MILLI:
            expected = f"a share of one GPU up to {MILLI}, or a multiple of {MILLI}"
            raise fault("gpu_milli", str(self.gpu_milli), expected)
        return self


class PackingInstance(InstanceFile):
    """Nodes, and tasks in their order of arrival; read with `optsched.load`."""

    schema_: Annotated[Literal["optsched/packing"], FORMAT] = Field(alias="schema")
    nodes: Annotated[tuple[PackingNode, ...], Items(MAX_NODES), About("The nodes.")]
    tasks: Annotated[tuple[TaskType, ...], Items(MAX_TYPES), About("The types of tasks.")]
    arrivals: Annotated[
        tuple[Annotated[int, Between(0, MAX_TYPES)], ...],
        Items(MAX_ARRIVALS),
        About("The type of each task in the order of arrival: indices of `tasks`.", "index", [0]),
    ]

    @property
    def gpus(self) -> int:
        return sum(node.gpus for node in self.nodes)

    @property
    def requested_milli(self) -> int:
        """Thousandths of a GPU that all tasks ask."""
        return sum(task.count * task.gpu_milli for task in self.tasks)

    def facts(self) -> dict[str, str]:
        return {
            "packing": self.name,
            "nodes": str(len(self.nodes)),
            "GPUs": str(self.gpus),
            "models": listed(sorted({node.model for node in self.nodes if node.gpus})),
            "tasks": f"{len(self.arrivals)} of {len(self.tasks)} types",
            "requested": f"{self.requested_milli / (MILLI * self.gpus):.1%} of the GPUs",
        }

    @classmethod
    def of_arrivals(
        cls, nodes: list[dict[str, Any]], arrivals: list[Demand], source: str, **fields: Any
    ) -> Self:
        """Make an instance of nodes and arriving tasks; types are numbered in sorted order."""
        counts = Counter(arrivals)
        types = {demand: t for t, demand in enumerate(sorted(counts))}
        keys = ("cpu_milli", "memory_bytes", "gpu_milli", "models")
        tasks = [
            {"name": f"t{t}", "count": counts[demand], **dict(zip(keys, demand, strict=True))}
            for demand, t in types.items()
        ]
        head = {"schema": SCHEMA, "version": 1, **fields}
        order = [types[demand] for demand in arrivals]
        return cls.from_dict(head | {"nodes": nodes, "tasks": tasks, "arrivals": order}, source)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not self.gpus:
            raise fault("nodes", "no GPU", "at least one")
        if not self.arrivals:
            raise fault("arrivals", "none", "at least one task")
        self._require_new_names("nodes", "tasks")
        for index, t in enumerate(self.arrivals):
            if t >= len(self.tasks):
                expected = f"an index of tasks, below {len(self.tasks)}"
                raise fault(f"arrivals[{index}]", str(t), expected)
        counts = Counter(self.arrivals)
        for t, task in enumerate(self.tasks):
            if counts[t] != task.count:
                expected = f"{task.count}, the task's count, of them in arrivals"
                raise fault(f"tasks[{t}]", f"{counts[t]} arrivals", expected)
        return self
