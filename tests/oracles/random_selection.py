"""Seeded tiny instances for the tests: every corner that a model could get wrong."""

from __future__ import annotations

import numpy as np

from optsched.selection.instance import SCHEMA, SelectionInstance

FRACTIONS = (
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
        name: {"memory_bytes": 10.0, "slowdown": FRACTIONS[int(rng.integers(len(FRACTIONS)))]}
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
    largest = {
        name: max((n["gpus"] for n in made_nodes if n["gpu_type"] == name), default=0)
        for name in names
    }
    made_jobs = [
        _job(rng, f"j{j}", {n: k for n, k in largest.items() if k})
        for j in range(jobs or int(rng.integers(2, 5)))
    ]
    return SelectionInstance.from_dict(
        {
            "schema": SCHEMA,
            "version": 1,
            "name": f"tiny-{seed}",
            "now": 100.0,
            "interval": float(rng.choice([0.0, 20.0, 60.0])),
            "postponement_penalty": float(rng.choice([0.0, 1.0, 10.0])),
            "gpu_types": types,
            "nodes": made_nodes,
            "jobs": made_jobs,
        }
    )


def _job(rng: np.random.Generator, name: str, largest: dict[str, int]) -> dict:
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
