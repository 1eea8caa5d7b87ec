"""Loading the compiled loops before anything is timed."""

from __future__ import annotations

import numpy as np

from optsched.deadline import Deadline
from optsched.makespan.bounds._column_kernel import best_column, best_value
from optsched.makespan.heuristics.baselines import first_fit, list_scheduling, random_placement
from optsched.makespan.heuristics.local_search import local_search
from optsched.makespan.heuristics.nested import Annealing
from optsched.makespan.heuristics.sjf_bco import sjf_bco
from optsched.makespan.instance import SCHEMA, MakespanInstance
from optsched.makespan.options import MakespanOptions
from optsched.result import Settings


def warm_up() -> None:
    """Run every compiled loop once on a tiny instance."""
    options, settings = MakespanOptions(), Settings(iterations=2)
    for solve in (sjf_bco, first_fit, list_scheduling, random_placement, local_search):
        solve(_TINY, options, settings)
    Annealing(_TINY, 1.0, 0).run(2, Deadline(), 0.0)
    size = np.ones(2, dtype=np.int64)
    for price in (np.ones(2), np.ones(2, dtype=np.int64)):
        best_value(size, price, 1)
    best_column(size, np.ones(2), 1, np.zeros(2, dtype=np.bool_))


def _job(name: str, gpus: int) -> dict[str, object]:
    return {
        "name": name,
        "gpus": gpus,
        "iterations": 3,
        "gradient_bytes": 1,
        "batch_size": 1,
        "forward_time_per_sample": 0.25,
        "backward_time": 0.25,
    }


_TINY = MakespanInstance.from_dict(
    {
        "schema": SCHEMA,
        "version": 1,
        "name": "tiny",
        "servers": [2, 2],
        "network": {
            "inter_bandwidth": 1e9,
            "intra_bandwidth": 1e9,
            "contention_share": 0.5,
            "degradation": 0.1,
            "overhead_per_server": 0,
            "overhead_on_one_server": True,
        },
        "compute_rate": 1e9,
        "slot": 1,
        "progress": "floor",
        "horizon": 100,
        "jobs": [_job("a", 2), _job("b", 1), _job("c", 2), _job("d", 1)],
    }
)
