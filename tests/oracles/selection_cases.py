"""Tiny, nasty instances of resource selection: ties, zeros, exact fits, extreme units."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

FRACTIONS = (
    (),
    ("0.5",),
    ("0.5", "0.25"),
    ("0.333333",),
    ("0.1", "0.2", "0.7"),
    ("0.3", "0.6"),
    ("0.15", "0.85"),
    ("0.4", "0.35", "0.25"),
)
UNITS = (1.0, 1.0, 1.0, 2.0**-20, 2.0**20, 1e-8, 1e-6, 1e-3, 1e3, 1e6, 1e9)


def pick(rng: np.random.Generator, values: Any) -> Any:
    """One of some values, as plain Python."""
    return values[int(rng.integers(len(values)))]


def draw_selection(rng: np.random.Generator) -> dict[str, Any]:
    """An instance that the contract admits, or one that breaks just a job's admissibility."""
    second, dollar = pick(rng, UNITS), pick(rng, UNITS)
    dollar = min(dollar, 1e16 * second)  # files hold rates up to 1e18 $/s
    style = pick(rng, ("whole", "whole", "decimal", "real"))

    def number(low: float, high: float) -> float:
        value = rng.uniform(low, high)
        if style == "real":
            return float(value)
        return max(low, round(value, 0 if style == "whole" else 1))

    kinds = ["A", "B"][: int(rng.integers(1, 3))]
    memory = pick(rng, (8.0, 10.0, 3e10, 1e-8, 7.0))
    gpu_types = {
        kind: {
            "memory_bytes": memory * pick(rng, (1, 1, 2)),
            "slowdown": {f: number(1, 2) for f in pick(rng, FRACTIONS)},
        }
        for kind in kinds
    }
    nodes = [
        _node(rng, number, f"n{i}", pick(rng, kinds), dollar / second)
        for i in range(int(rng.integers(1, 4)))
    ]
    for kind in set(kinds) - {node["gpu_type"] for node in nodes}:
        del gpu_types[kind]
    if len(nodes) > 1 and rng.random() < 0.4:
        nodes = [{**nodes[0], "name": node["name"]} for node in nodes]
        gpu_types = {nodes[0]["gpu_type"]: gpu_types[nodes[0]["gpu_type"]]}
    largest = {
        kind: max(node["gpus"] for node in nodes if node["gpu_type"] == kind) for kind in gpu_types
    }
    now = pick(rng, (0.0, 0.0, 1024.0 * second, -16.0 * second))
    count = int(rng.choice([1, 2, 3, 4], p=[0.1, 0.25, 0.35, 0.3]))
    usable = [pick(rng, sorted(gpu_types))] if rng.random() < 0.2 else sorted(gpu_types)
    jobs = [
        _job(rng, number, f"j{i}", {k: gpu_types[k] for k in usable}, largest, now, second, dollar)
        for i in range(count)
    ]
    if rng.random() < 0.25:
        jobs = [{**jobs[0], "name": job["name"]} for job in jobs]
    return {
        "schema": "optsched/selection",
        "version": 1,
        "name": "drawn",
        "now": now,
        "interval": pick(rng, (0.0, 1.0, number(1, 20), 1000.0)) * second,
        "postponement_penalty": pick(rng, (0.0, 1.0, 2.0, 10.0)),
        "gpu_types": gpu_types,
        "nodes": nodes,
        "jobs": jobs,
    }


def _node(
    rng: np.random.Generator, number: Any, name: str, kind: str, rate: float
) -> dict[str, Any]:
    gpus = int(rng.choice([1, 2, 3, 4], p=[0.3, 0.4, 0.2, 0.1]))
    first = number(1, 5)
    costs = pick(
        rng,
        (
            [0.0] * gpus,
            [first] * gpus,
            [first * (k + 1) for k in range(gpus)],
            list(np.cumsum([number(0, 4) for _ in range(gpus)])),
            [0.0] * (gpus - 1) + [first],
        ),
    )
    return {
        "name": name,
        "gpu_type": kind,
        "gpus": gpus,
        "cost_rate": [float(cost) * rate for cost in costs],
    }


def _job(
    rng: np.random.Generator,
    number: Any,
    name: str,
    gpu_types: dict[str, Any],
    largest: dict[str, int],
    now: float,
    second: float,
    dollar: float,
) -> dict[str, Any]:
    known = sorted(gpu_types)
    if len(known) > 1 and rng.random() < 0.3:
        known = [pick(rng, known)]
    epoch_time = {kind: _times(rng, number, largest[kind], second) for kind in known}
    values = sorted({number(1, 9) for _ in range(int(rng.integers(1, 4)))})
    probabilities = {1: [[1.0]], 2: [[0.5, 0.5], [0.1, 0.9]], 3: [[0.25, 0.5, 0.25], [1 / 3] * 3]}
    completed = pick(rng, (0.0, 0.0, 0.5, values[0], values[-1] if rng.random() < 0.1 else 0.0))
    if len(values) == 1 and completed >= values[0] and rng.random() < 0.9:
        completed = values[0] / 2
    kind = gpu_types[pick(rng, known)]
    shares = [Fraction(1), *map(Fraction, kind["slowdown"])]
    exact = float(Fraction(kind["memory_bytes"]) * pick(rng, shares))
    length = pick(rng, pick(rng, list(epoch_time.values()))) * (pick(rng, values) - completed)
    due = pick(rng, (0.0, -3.0 * second, length, length, 1e4 * second, number(1, 40) * second))
    return {
        "name": name,
        "due_date": now + due,
        "tardiness_weight": pick(rng, (0.0, 1.0, 1.0, number(1, 9), 1e-3)) * dollar / second,
        "memory_bytes": pick(
            rng, (0.0, exact, exact, exact / 2, 3 * exact if rng.random() < 0.15 else 0.0)
        ),
        "completed_epochs": completed,
        "epochs": {"values": values, "probabilities": pick(rng, probabilities[len(values)])},
        "epoch_time": epoch_time,
    }


def _times(rng: np.random.Generator, number: Any, gpus: int, second: float) -> list[float]:
    first = number(1, 9)
    shape = pick(rng, ("even", "linear", "sublinear", "slower"))
    speed = {
        "even": lambda k: 1.0,
        "linear": lambda k: float(k),
        "sublinear": lambda k: float(k) ** 0.75,
        "slower": lambda k: 1.0 / k,
    }[shape]
    return [first / speed(k) * second for k in range(1, gpus + 1)]
