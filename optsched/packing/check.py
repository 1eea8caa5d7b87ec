"""The independent checker of packings: every capacity of every node, and the idle GPUs.

Shares no code with the methods. The equations are those of models/packing/README.md.
"""

from typing import Any

from optsched.checking import CheckReport, Violation, claim_violation, instance_violations
from optsched.packing.instance import MILLI, PackingInstance
from optsched.packing.options import PackingOptions
from optsched.packing.solution import PackingSolution, TaskPlacement


def check(
    instance: PackingInstance, solution: PackingSolution, options: dict[str, Any] | None = None
) -> CheckReport:
    """Check a packing and recompute the idle GPUs.

    Rules: "instance"; "task" (7), placed once; "node"; "model"; "gpus" (5)-(6), number and indices;
    "cpu" (2), "memory" (3), "gpu" (4); "claimed objective" (1).
    """
    PackingOptions.from_dict(solution.options if options is None else options)
    mismatch = instance_violations(solution.instance, instance.name)
    if mismatch:
        return CheckReport(None, tuple(mismatch))
    violations = _references(instance, solution.placements)
    if violations:
        return CheckReport(None, tuple(violations))
    violations = _capacities(instance, solution.placements)
    allocated = sum(
        instance.tasks[instance.arrivals[placed.task]].gpu_milli for placed in solution.placements
    )
    idle = (MILLI * instance.gpus - allocated) / MILLI
    if solution.objective is not None:
        claim = claim_violation(solution.objective, idle)
        violations += [] if claim is None else [claim]
    return CheckReport(idle, tuple(violations))


def _references(
    instance: PackingInstance, placements: tuple[TaskPlacement, ...]
) -> list[Violation]:
    """Tasks, nodes and GPUs exist; a task is placed once, on GPUs of a model that it accepts."""
    violations, seen = [], set()
    for placed in placements:
        where = f"task {placed.task}"
        if not 0 <= placed.task < len(instance.arrivals) or placed.task in seen:
            violations.append(Violation("task", "(7)", where, 1))
            continue
        seen.add(placed.task)
        if not 0 <= placed.node < len(instance.nodes):
            violations.append(Violation("node", "x_tn", where, 1))
            continue
        task = instance.tasks[instance.arrivals[placed.task]]
        node = instance.nodes[placed.node]
        if task.models and node.model not in task.models:
            violations.append(Violation("model", "x_tn", where, 1))
        wanted = -(-task.gpu_milli // MILLI)
        gpus = {gpu for gpu in placed.gpus if 0 <= gpu < node.gpus}
        if len(gpus) != wanted or len(placed.gpus) != wanted:
            amount = max(abs(len(placed.gpus) - wanted), 1)
            violations.append(Violation("gpus", "(5)-(6)", where, amount))
    return violations


def _capacities(
    instance: PackingInstance, placements: tuple[TaskPlacement, ...]
) -> list[Violation]:
    """(2) and (3): CPU and memory of each node; (4): 1,000 milli of each GPU."""
    excess: dict[tuple[str, str, str], int] = {}
    for placed in placements:
        task, node = instance.tasks[instance.arrivals[placed.task]], instance.nodes[placed.node]
        where, milli = f"node {node.name}", min(task.gpu_milli, MILLI)
        for rule, amount, capacity in (
            (("cpu", "(2)", where), task.cpu_milli, node.cpu_milli),
            (("memory", "(3)", where), task.memory_bytes, node.memory_bytes),
            *((("gpu", "(4)", f"{where}, GPU {gpu}"), milli, MILLI) for gpu in placed.gpus),
        ):
            excess[rule] = excess.get(rule, -capacity) + amount
    return [Violation(*rule, amount) for rule, amount in excess.items() if amount > 0]
