"""Selection in other corners: wide nodes, single GPUs, distinct nodes, crowds, late jobs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from oracles.selection_cases import pick

SHARES = ((), ("0.5",), ("0.5", "0.25"), ("0.6", "0.4", "0.2"), ("0.333333", "0.666667"))


def draw_wide(rng: np.random.Generator) -> dict[str, Any]:
    """An instance of one of the families below, in units that may be tiny or huge."""
    family = pick(rng, (_wide, _single, _distinct, _crowd, _crowd, _mixed))
    second, dollar = pick(rng, (1.0, 1.0, 2.0**-10, 1e6)), pick(rng, (1.0, 1.0, 1e-6, 2.0**20))
    sizes, kinds, distinct, count = family(rng)
    values = (1.0, 2.0, 3.0, 5.0) if rng.random() < 0.6 else tuple(rng.uniform(0.5, 9, 6))
    gpu_types = {
        kind: {
            "memory_bytes": pick(rng, (8.0, 24.0)),
            "slowdown": {f: pick(rng, (1.0, 1.0, 1.25, 2.0)) for f in pick(rng, SHARES)},
        }
        for kind in sorted(set(kinds))
    }
    slope = pick(rng, (0.0, 0.5, 1.0))
    rates = {size: _rates(rng, size, values, slope) for size in sorted(set(sizes))}
    nodes = [
        {
            "name": f"n{at}",
            "gpu_type": kind,
            "gpus": size,
            "cost_rate": [
                rate * dollar / second
                for rate in (_rates(rng, size, values, slope) if distinct else rates[size])
            ],
        }
        for at, (size, kind) in enumerate(zip(sizes, kinds, strict=True))
    ]
    largest = {
        kind: max(node["gpus"] for node in nodes if node["gpu_type"] == kind) for kind in gpu_types
    }
    jobs = [_job(rng, f"j{at}", gpu_types, largest, values, second, dollar) for at in range(count)]
    if rng.random() < 0.3:  # all alike but for the name
        jobs = [{**jobs[0], "name": job["name"]} for job in jobs]
    return {
        "schema": "optsched/selection",
        "version": 1,
        "name": family.__name__.removeprefix("_"),
        "now": 0.0,
        "interval": pick(rng, (0.0, 1.0, 30.0)) * second,
        "postponement_penalty": pick(rng, (0.0, 0.01, 1.0, 10.0, 1000.0)),
        "gpu_types": gpu_types,
        "nodes": nodes,
        "jobs": jobs,
    }


def _wide(rng: np.random.Generator) -> tuple[list[int], list[str], bool, int]:
    sizes = [pick(rng, (8, 8, 16)), *([pick(rng, (1, 2, 8))] if rng.random() < 0.5 else [])]
    return sizes, ["A"] * len(sizes), False, int(rng.integers(1, 4))


def _single(rng: np.random.Generator) -> tuple[list[int], list[str], bool, int]:
    count = int(rng.integers(1, 5))
    kinds = [pick(rng, ("A", "B")) for _ in range(count)]
    return [1] * count, kinds, bool(rng.random() < 0.5), int(rng.integers(1, 6))


def _distinct(rng: np.random.Generator) -> tuple[list[int], list[str], bool, int]:
    count = int(rng.integers(3, 7))
    return [pick(rng, (1, 2)) for _ in range(count)], ["A"] * count, True, int(rng.integers(2, 5))


def _crowd(rng: np.random.Generator) -> tuple[list[int], list[str], bool, int]:
    count = int(rng.integers(1, 3))
    return [pick(rng, (1, 2, 3)) for _ in range(count)], ["A"] * count, False, 5


def _mixed(rng: np.random.Generator) -> tuple[list[int], list[str], bool, int]:
    count = int(rng.integers(2, 5))
    kinds = [pick(rng, ("A", "B", "C")) for _ in range(count)]
    sizes = [pick(rng, (1, 2, 4)) for _ in range(count)]
    return sizes, kinds, bool(rng.random() < 0.5), int(rng.integers(2, 4))


def _rates(rng: np.random.Generator, size: int, values: Any, slope: float) -> list[float]:
    """Non-decreasing; all equal, or each step something."""
    first = pick(rng, (0.0, *values))
    steps = [first, *(slope * pick(rng, (0.0, *values)) for _ in range(size - 1))]
    return [float(rate) for rate in np.cumsum(steps)]


def _job(
    rng: np.random.Generator,
    name: str,
    gpu_types: dict[str, Any],
    largest: dict[str, int],
    values: Any,
    second: float,
    dollar: float,
) -> dict[str, Any]:
    """Of every corner a few: no slack, late already, no weight, memory to the last bit.

    Parameters
    ----------
    rng : numpy Generator
    name : str
    gpu_types, largest : dict
        The types, and GPUs of each one's largest node.
    values : sequence of float
        What its numbers are drawn from, so that many are equal.
    second, dollar : float
        Units.
    """
    known = [kind for kind in sorted(gpu_types) if rng.random() < 0.8] or [sorted(gpu_types)[0]]
    power = pick(rng, (0.0, 0.5, 1.0))
    base = pick(rng, values) * second
    times = {
        kind: [base * pick(rng, (1.0, 2.0)) / k**power for k in range(1, largest[kind] + 1)]
        for kind in known
    }
    epochs = sorted({pick(rng, values) for _ in range(int(rng.integers(1, 4)))})
    done = pick(rng, (0.0, 0.0, 0.0, epochs[0] / 2, epochs[-1] * (1 - 2.0**-10), epochs[0]))
    if done >= epochs[-1]:
        done = 0.0
    kind = gpu_types[pick(rng, known)]
    share = pick(rng, [Fraction(1), *map(Fraction, kind["slowdown"])])
    exact = float(Fraction(kind["memory_bytes"]) * share)
    memory = pick(rng, (0.0, exact, float(np.nextafter(exact, 0)), float(np.nextafter(exact, 99))))
    fits = any(memory <= gpu_types[each]["memory_bytes"] for each in known)
    length = times[known[0]][0] * (pick(rng, epochs) - done)
    due = pick(rng, (0.0, -base, length, length, length / 2, 1e5 * second, -1e5 * second))
    return {
        "name": name,
        "due_date": due,
        "tardiness_weight": pick(rng, (0.0, *values, 1e-6, 1e3)) * dollar / second,
        "memory_bytes": memory if fits else 0.0,
        "completed_epochs": done,
        "epochs": {
            "values": epochs,
            "probabilities": [[1.0], [0.25, 0.75], [0.25, 0.5, 0.25]][len(epochs) - 1],
        },
        "epoch_time": times,
    }
