"""Where the idle GPUs of a packing are: what keeps the rejected tasks off them."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from optsched.display import Explanation
from optsched.packing.instance import MILLI, PackingInstance, PackingNode, TaskType
from optsched.packing.options import PackingOptions
from optsched.packing.solution import PackingSolution

REASONS = ("no task left", "wrong model", "stranded", "no CPU", "no memory", "usable")
"""In this order: no rejected task asks a GPU; none accepts the model; none fits the GPU's free
share or the node's free GPUs; the node lacks CPU, or memory, for those that do; one fits."""


@dataclass(frozen=True, repr=False)
class Breakdown(Explanation):
    """The idle GPUs and their nodes by reason; `rejected` tasks ask for `rejected_gpus`."""

    right = ("GPUs", "share of idle", "nodes")

    instance: str
    total: int
    idle: float
    rejected: int
    rejected_gpus: float
    rows: tuple[tuple[str, float, int], ...]

    def to_dict(self) -> dict[str, Any]:
        """The breakdown as a JSON object."""
        return asdict(self)

    def table(self) -> tuple[str, list[str], list[list[str]], str]:
        """Title, headings, a row for each reason, and the rejected tasks."""
        headings = ["reason", "GPUs", "share of idle", "nodes"]
        rows = [
            [reason, f"{gpus:.2f}", f"{gpus / self.idle:.1%}", str(nodes)]
            for reason, gpus, nodes in self.rows
        ]
        share = 1 - self.idle / self.total
        title = f"{self.instance}: {self.idle:.2f} of {self.total} GPUs idle, {share:.2%} allocated"
        closing = f"rejected: {self.rejected} tasks that ask {self.rejected_gpus:.2f} GPUs"
        return title, headings, rows, closing


def explain(
    instance: PackingInstance, solution: PackingSolution, options: PackingOptions
) -> Breakdown:
    """Break down the idle GPUs of a packing by what keeps the rejected tasks off them."""
    cpu = [node.cpu_milli for node in instance.nodes]
    memory = [node.memory_bytes for node in instance.nodes]
    free = [[MILLI] * node.gpus for node in instance.nodes]
    for placed in solution.placements:
        task = instance.tasks[instance.arrivals[placed.task]]
        cpu[placed.node] -= task.cpu_milli
        memory[placed.node] -= task.memory_bytes
        for gpu in placed.gpus:
            free[placed.node][gpu] -= min(task.gpu_milli, MILLI)
    placed_tasks = {placed.task for placed in solution.placements}
    left = [t for index, t in enumerate(instance.arrivals) if index not in placed_tasks]
    wanted = [task for task in map(instance.tasks.__getitem__, sorted(set(left))) if task.gpus]
    rooms: dict[str, list[tuple[int, int]]] = {reason: [] for reason in REASONS}
    for n, node in enumerate(instance.nodes):
        for room in filter(None, free[n]):
            reason = _reason(node, room, free[n].count(MILLI), cpu[n], memory[n], wanted)
            rooms[reason].append((n, room))
    rows = [
        (reason, sum(room for _, room in found) / MILLI, len({n for n, _ in found}))
        for reason, found in rooms.items()
        if found
    ]
    return Breakdown(
        instance=instance.name,
        total=instance.gpus,
        idle=sum(map(sum, free)) / MILLI,
        rejected=len(left),
        rejected_gpus=sum(instance.tasks[t].gpu_milli for t in left) / MILLI,
        rows=tuple(rows),
    )


def _reason(
    node: PackingNode, room: int, free_gpus: int, cpu: int, memory: int, wanted: list[TaskType]
) -> str:
    """What keeps the wanted tasks off a GPU with this room, on a node with so much free."""
    conditions: tuple[Callable[[TaskType], bool], ...] = (
        lambda task: True,
        lambda task: task.accepts(node),
        lambda task: task.gpu_milli <= (room if task.is_share else MILLI * free_gpus),
        lambda task: task.cpu_milli <= cpu,
        lambda task: task.memory_bytes <= memory,
    )
    for reason, condition in zip(REASONS, conditions, strict=False):
        wanted = [task for task in wanted if condition(task)]
        if not wanted:
            return reason
    return REASONS[-1]
