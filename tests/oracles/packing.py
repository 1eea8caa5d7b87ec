"""Packing, written from its definition alone: brute force over tasks, nodes and GPUs.

A document's nodes have CPU, memory and GPUs of 1,000 milli of one model. A task takes CPU and
memory of one node and no GPU, a share of one GPU below 1,000 milli, or whole GPUs. Wanted is the
largest sum of milli that fits, tasks chosen at will; the objective is what is left idle, in GPUs.
"""

from functools import cache
from typing import Any

import numpy as np

Node = tuple[int, int, tuple[int, ...]]
"""Free CPU, free memory, and the free milli of each GPU, sorted."""


def least_idle(document: dict) -> float:
    """GPUs that stay idle in the best packing."""
    tasks = [task for task in document["tasks"] for _ in range(task["count"])]
    models = [node["model"] for node in document["nodes"]]

    @cache
    def most(index: int, nodes: tuple[Node, ...]) -> int:
        if index == len(tasks):
            return 0
        task, best = tasks[index], most(index + 1, nodes)
        for n, node in enumerate(nodes):
            if task.get("models") and models[n] not in task["models"]:
                continue
            for after in ways(node, task):
                packed = most(index + 1, (*nodes[:n], after, *nodes[n + 1 :]))
                best = max(best, packed + task["gpu_milli"])
        return best

    start = tuple(
        (node["cpu_milli"], node["memory_bytes"], (1000,) * node["gpus"])
        for node in document["nodes"]
    )
    capacity = 1000 * sum(node["gpus"] for node in document["nodes"])
    return (capacity - most(0, start)) / 1000


def ways(node: Node, task: dict) -> set[Node]:
    """What may be left of a node when it takes a task; nothing if it cannot."""
    cpu, memory, gpus = node[0] - task["cpu_milli"], node[1] - task["memory_bytes"], list(node[2])
    milli = task["gpu_milli"]
    if cpu < 0 or memory < 0:
        return set()
    if milli >= 1000:
        if gpus.count(1000) < milli // 1000:
            return set()
        for _ in range(milli // 1000):
            gpus[gpus.index(1000)] = 0
        return {(cpu, memory, tuple(sorted(gpus)))}
    if milli == 0:
        return {(cpu, memory, node[2])}
    left = set()
    for g, free in enumerate(gpus):
        if free >= milli:
            left.add((cpu, memory, tuple(sorted([*gpus[:g], free - milli, *gpus[g + 1 :]]))))
    return left


def fragmentation(node: dict, cpu: int, gpus: list[int], mix: list[tuple[dict, float]]) -> float:
    """FGD's F_n: expected milli of a node's free GPUs that a task of the mix cannot use.

    All of them if the node cannot take the task, or if it asks no GPU; else those GPUs that have
    less than the task asks of one GPU.
    """
    total = 0.0
    for task, share in mix:
        milli, count = min(task["gpu_milli"], 1000), -(-task["gpu_milli"] // 1000)
        accepted = not task.get("models") or node["model"] in task["models"]
        fits = accepted and cpu >= task["cpu_milli"] and sum(g >= milli for g in gpus) >= count
        usable = fits and milli > 0
        total += share * sum(g for g in gpus if not usable or g < milli)
    return total


FAMILIES = ("plain", "exact fractions", "CPU-bound", "models", "whole GPUs", "memory-bound")


def draw(seed: int, number: int) -> dict[str, Any]:
    """A tiny document of one of the families."""
    rng = np.random.default_rng([seed, number])
    family = FAMILIES[number % len(FAMILIES)]
    fractions = {
        "exact fractions": [200, 300, 500, 250, 750],
        "whole GPUs": [1000, 2000, 3000, 500],
    }.get(family, [100, 260, 330, 460, 500, 510, 700, 1000, 2000, 0])
    cpus = [1000, 2000, 3000] if family == "CPU-bound" else [4000, 8000]
    memories = [2, 3, 5] if family == "memory-bound" else [16, 32]
    nodes = [
        {
            "name": f"n{i}",
            "cpu_milli": int(rng.choice(cpus)),
            "memory_bytes": int(rng.choice(memories)),
            "gpus": int(rng.integers(1, 4)),
            "model": str(rng.choice(["T4", "P100"])),
        }
        for i in range(rng.integers(1, 3))
    ]
    tasks = [
        {
            "name": f"t{i}",
            "count": int(rng.integers(1, 4)),
            "cpu_milli": int(rng.choice([0, 500, 1000, 1500])),
            "memory_bytes": int(rng.integers(0, 4)),
            "gpu_milli": int(rng.choice(fractions)),
            "models": [str(rng.choice(["T4", "P100"]))]
            if rng.random() < (0.6 if family == "models" else 0.1)
            else [],
        }
        for i in range(rng.integers(1, 5))
    ]
    arrivals = [t for t, task in enumerate(tasks) for _ in range(task["count"])]
    return {
        "schema": "optsched/packing",
        "version": 1,
        "name": f"case-{number}",
        "nodes": nodes,
        "tasks": tasks,
        "arrivals": [int(t) for t in rng.permutation(arrivals)],
    }
