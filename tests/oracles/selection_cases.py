"""Drawn instances of resource selection: ties, zeros, exact fits, extreme units."""

from fractions import Fraction
from typing import Any

import numpy as np

from optsched.selection.instance import SelectionInstance
from oracles.harness import pick

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


def document(name: str, gpu_types: dict, nodes: list[dict], jobs: list[dict], **more: Any) -> dict:
    """An instance; an interval is a second and postponing costs nothing, unless said otherwise."""
    usual = {"now": 0.0, "interval": 1.0, "postponement_penalty": 0.0}
    return {
        "schema": "optsched/selection",
        "version": 1,
        "name": name,
        **usual,
        **more,
        "gpu_types": gpu_types,
        "nodes": nodes,
        "jobs": jobs,
    }


def largest_nodes(nodes: list[dict], gpu_types: dict) -> dict[str, int]:
    return {
        kind: max(node["gpus"] for node in nodes if node["gpu_type"] == kind) for kind in gpu_types
    }


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
    largest = largest_nodes(nodes, gpu_types)
    now = pick(rng, (0.0, 0.0, 1024.0 * second, -16.0 * second))
    count = int(rng.choice([1, 2, 3, 4], p=[0.1, 0.25, 0.35, 0.3]))
    usable = [pick(rng, sorted(gpu_types))] if rng.random() < 0.2 else sorted(gpu_types)
    jobs = [
        _job(rng, number, f"j{i}", {k: gpu_types[k] for k in usable}, largest, now, second, dollar)
        for i in range(count)
    ]
    if rng.random() < 0.25:
        jobs = [{**jobs[0], "name": job["name"]} for job in jobs]
    interval = pick(rng, (0.0, 1.0, number(1, 20), 1000.0)) * second
    penalty = pick(rng, (0.0, 1.0, 2.0, 10.0))
    more = {"now": now, "interval": interval, "postponement_penalty": penalty}
    return document("drawn", gpu_types, nodes, jobs, **more)


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


# --- wide nodes, single GPUs, distinct nodes, crowds, late jobs -----------------------------------

SHARES = ((), ("0.5",), ("0.5", "0.25"), ("0.6", "0.4", "0.2"), ("0.333333", "0.666667"))


def draw_wide(rng: np.random.Generator) -> dict[str, Any]:
    """An instance of one of the families below, in units that may be tiny or huge."""
    family = pick(rng, (_wide_nodes, _single, _distinct, _crowd, _crowd, _mixed))
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
    largest = largest_nodes(nodes, gpu_types)
    jobs = [
        _wide_job(rng, f"j{at}", gpu_types, largest, values, second, dollar) for at in range(count)
    ]
    if rng.random() < 0.3:  # all alike but for the name
        jobs = [{**jobs[0], "name": job["name"]} for job in jobs]
    interval = pick(rng, (0.0, 1.0, 30.0)) * second
    penalty = pick(rng, (0.0, 0.01, 1.0, 10.0, 1000.0))
    more = {"interval": interval, "postponement_penalty": penalty}
    return document(family.__name__.removeprefix("_"), gpu_types, nodes, jobs, **more)


def _wide_nodes(rng: np.random.Generator) -> tuple[list[int], list[str], bool, int]:
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


def _wide_job(
    rng: np.random.Generator,
    name: str,
    gpu_types: dict[str, Any],
    largest: dict[str, int],
    values: Any,
    second: float,
    dollar: float,
) -> dict[str, Any]:
    """No slack, late already, no weight, memory to the last bit; numbers from a few values."""
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


# --- two or three nodes and a few jobs, as an instance --------------------------------------------

SLOWDOWNS = (
    {"0.5": 1.04, "0.25": 1.1},
    {"0.5": 1.05},
    {"0.4": 1.1, "0.3": 1.2},
    {},
    {"0.6": 1.02, "0.35": 1.3},
)


def tiny(
    seed: int, jobs: int | None = None, nodes: int | None = None, most: int = 3
) -> SelectionInstance:
    """2-3 nodes and 2-4 jobs: memory-tight and overdue jobs, unusable types, idle types."""
    rng = np.random.default_rng(seed)
    names = ["A", "B"][: int(rng.integers(1, 3))]
    types = {
        name: {"memory_bytes": 10.0, "slowdown": SLOWDOWNS[int(rng.integers(len(SLOWDOWNS)))]}
        for name in names
    }
    made_nodes = []
    for n in range(nodes or int(rng.integers(2, 4))):
        gpus = int(rng.integers(1, most + 1))
        rates = np.cumsum(rng.choice([0.0, 1.0, 1.5], size=gpus)) + 0.5
        made_nodes.append(
            {
                "name": f"n{n}",
                "gpu_type": names[n % len(names)],
                "gpus": gpus,
                "cost_rate": [float(c) for c in rates * rng.choice([1e-3, 1e-2])],
            }
        )
    largest = largest_nodes(made_nodes, {node["gpu_type"]: None for node in made_nodes})
    made_jobs = [_tiny_job(rng, f"j{j}", largest) for j in range(jobs or int(rng.integers(2, 5)))]
    interval = float(rng.choice([0.0, 20.0, 60.0]))
    penalty = float(rng.choice([0.0, 1.0, 10.0]))
    more = {"now": 100.0, "interval": interval, "postponement_penalty": penalty}
    return SelectionInstance.from_dict(
        document(f"tiny-{seed}", types, made_nodes, made_jobs, **more)
    )


def _tiny_job(rng: np.random.Generator, name: str, largest: dict[str, int]) -> dict:
    usable = [t for t in largest if rng.random() < 0.85] or list(largest)[:1]
    base = {t: float(rng.uniform(1.0, 8.0)) for t in usable}
    values = sorted(
        int(w) for w in rng.choice(np.arange(2, 15), size=int(rng.integers(1, 4)), replace=False)
    )
    weights = rng.integers(1, 5, size=len(values))
    return {
        "name": name,
        "due_date": 100.0 + float(rng.uniform(-15.0, 90.0)),
        "tardiness_weight": float(rng.choice([0.001, 0.01, 0.05, 0.2])),
        "memory_bytes": float(rng.choice([2.5, 3.5, 4.0, 5.0, 6.0, 10.0])),
        "completed_epochs": int(rng.integers(0, 2)),
        "epochs": {
            "values": values,
            "probabilities": [float(w) / int(weights.sum()) for w in weights],
        },
        "epoch_time": {
            t: [base[t] / k ** float(rng.uniform(0.5, 1.0)) for k in range(1, largest[t] + 1)]
            for t in usable
        },
    }
