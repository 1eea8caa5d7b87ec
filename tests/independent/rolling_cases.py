"""Small, nasty instances over time: jobs of selection_cases that arrive together or one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from independent.selection_cases import draw_selection, pick
from independent.selection_oracle import Oracle, RefusedError
from independent.selection_wide_cases import draw_wide


def draw_rolling(rng: np.random.Generator, wide: bool = False) -> dict[str, Any]:
    """An instance that the contract admits; its unit of time is in provenance."""
    while True:
        base = draw_wide(rng) if wide else draw_selection(rng)
        try:
            Oracle(base)
        except RefusedError:
            continue
        break
    times = [t for job in base["jobs"] for row in job["epoch_time"].values() for t in row]
    second = float(np.median(times))
    interval = pick(rng, (3.0, 20.0, 1e4)) * second
    together = rng.random() < 0.35
    gaps = [0.0, 0.0, second, times[0], float(rng.uniform(0, 20)) * second]
    at = base["now"]
    jobs = []
    for job in base["jobs"]:
        at += 0.0 if together else pick(rng, gaps)
        most, least = job["epochs"]["values"][-1], job["completed_epochs"]
        truths = [value for value in job["epochs"]["values"] if value > least]
        true = pick(rng, (None, pick(rng, truths), most, (most + least) / 2))
        due = job["due_date"] + pick(rng, (0.0, at - base["now"]))
        if wide:  # one that need not begin for thousands of decisions is left waiting
            due = min(due, at + 100 * interval)
        timed = {"due_date": due}
        jobs.append({**job, **timed, "submit_time": at, "true_epochs": true})
    return {
        **base,
        "schema": "optsched/rolling",
        "interval": interval,
        "reconfiguration_delay": pick(rng, (0.0, 0.0, 0.25, 2.0)) * second,
        "provenance": {"second": second},
        "jobs": jobs,
    }
