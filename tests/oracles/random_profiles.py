"""Seeded speed-profile instances with every corner: idle power, plateaus, atoms, edge deadlines."""

from __future__ import annotations

import numpy as np

from optsched.speed_profile.instance import SCHEMA, SpeedProfileInstance


def random_profile(seed: int, linear: bool | None = None) -> SpeedProfileInstance:
    rng = np.random.default_rng(seed)
    most = int(rng.integers(1, 9))
    speeds = np.cumsum(rng.uniform(0.05, 1.0, size=most))
    power = _power(rng, speeds)
    if linear is None:
        linear = bool(rng.random() < 0.4)
    work = _linear(rng) if linear else _discrete(rng)
    largest = max(work["points"] if linear else work["values"])
    completed = float(rng.choice([0.0, 0.0, 0.3])) * (
        min(work["values"]) if not linear else 0.5 * work["points"][1]
    )
    fastest = (largest - completed) / speeds[-1]
    slowest = (largest - completed) / speeds[0]
    deadline = float(rng.uniform(0.9 * fastest, 1.2 * slowest))
    corner = rng.random()
    if corner < 0.06:
        deadline = fastest
    elif corner < 0.12:
        deadline = slowest
    return SpeedProfileInstance.from_dict(
        {
            "schema": SCHEMA,
            "version": 1,
            "name": f"profile-{seed}",
            "speeds": [float(s) for s in speeds],
            "power": [float(p) for p in power],
            "deadline": float(deadline),
            "completed": completed,
            "work": work,
        }
    )


def _power(rng: np.random.Generator, speeds: np.ndarray) -> np.ndarray:
    kind = int(rng.integers(4))
    k = np.arange(1, len(speeds) + 1)
    if kind == 0:  # (1) with idle power: energy per epoch falls, then rises
        on, idle = rng.uniform(100, 400), rng.uniform(0, 100)
        return k * on + (len(k) - k) * idle
    if kind == 1:  # any curve at all
        return rng.uniform(1, 10, size=len(k))
    if kind == 2:
        return speeds ** rng.uniform(1.1, 3.0)
    return np.full(len(k), 5.0) * rng.choice([0.0, 1.0])  # flat, or free


def _discrete(rng: np.random.Generator) -> dict:
    count = int(rng.choice([1, 2, 5, 20]))
    values = np.sort(rng.choice(np.arange(1, 101), size=count, replace=False))
    weights = rng.integers(1, 9, size=count)
    return {
        "values": [int(w) for w in values],
        "probabilities": [float(p) for p in weights / weights.sum()],
    }


def _linear(rng: np.random.Generator) -> dict:
    count = int(rng.integers(1, 7))
    points = np.concatenate(([0.0], np.cumsum(rng.uniform(1, 20, size=count))))
    falls = rng.choice([0.0, 1.0, 1.0], size=count) * rng.uniform(0.1, 1.0, size=count)
    survival = np.concatenate(
        ([1.0], 1 - np.cumsum(falls) / max(falls.sum(), 1e-9) * rng.choice([1.0, 0.9]))
    )
    return {
        "points": [float(w) for w in points],
        "survival": [float(max(f, 0.0)) for f in survival],
    }
