"""Where the idle GPUs of a packing are: what keeps the rejected tasks off them."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from optsched.display import Explanation
from optsched.packing.instance import MILLI, PackingInstance, PackingNode, TaskType
from optsched.packing.options import PackingOptions
from optsched.packing.solution import PackingSolution
from optsched.packing.tables import Tables

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
        return asdict(self)

    def table(self) -> tuple[str, list[str], list[list[str]], str]:
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
    room, rejected = Tables(instance).room(solution.tuples), dict(enumerate(instance.arrivals))
    free = [[MILLI] * node.gpus for node in instance.nodes]
    for index, n, gpus in solution.tuples:
        milli = min(instance.tasks[rejected.pop(index)].gpu_milli, MILLI)
        for gpu in gpus:
            free[n][gpu] -= milli
    left = [instance.tasks[t] for t in rejected.values()]
    wanted = [task for task in dict.fromkeys(left) if task.gpus]
    found: dict[str, list[tuple[int, int]]] = {reason: [] for reason in REASONS}
    for n, node in enumerate(instance.nodes):
        for milli in filter(None, free[n]):
            cpu, memory = room[n].tolist()
            reason = _reason(node, milli, free[n].count(MILLI), cpu, memory, wanted)
            found[reason].append((n, milli))
    rows = [
        (reason, sum(milli for _, milli in idle) / MILLI, len({n for n, _ in idle}))
        for reason, idle in found.items()
        if idle
    ]
    return Breakdown(
        instance=instance.name,
        total=instance.gpus,
        idle=sum(map(sum, free)) / MILLI,
        rejected=len(left),
        rejected_gpus=sum(task.gpu_milli for task in left) / MILLI,
        rows=tuple(rows),
    )


def _reason(
    node: PackingNode, milli: int, gpus: int, cpu: int, memory: int, wanted: list[TaskType]
) -> str:
    """What keeps the wanted tasks off a GPU with these free milli, on a node with so much free."""
    conditions: tuple[Callable[[TaskType], bool], ...] = (
        lambda task: True,
        lambda task: task.accepts(node),
        lambda task: task.gpu_milli <= (milli if task.is_share else MILLI * gpus),
        lambda task: task.cpu_milli <= cpu,
        lambda task: task.memory_bytes <= memory,
    )
    for reason, condition in zip(REASONS, conditions, strict=False):
        wanted = [task for task in wanted if condition(task)]
        if not wanted:
            return reason
    return REASONS[-1]
