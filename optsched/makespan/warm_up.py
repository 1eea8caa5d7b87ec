"""Loading the compiled loops before anything is timed."""

from __future__ import annotations

import numpy as np

from optsched.deadline import Deadline
from optsched.generators.makespan import generate_makespan
from optsched.makespan.bounds._column_kernel import best_column, best_value
from optsched.makespan.heuristics.baselines import first_fit, list_scheduling, random_placement
from optsched.makespan.heuristics.local_search import local_search
from optsched.makespan.heuristics.nested import Annealing
from optsched.makespan.heuristics.sjf_bco import sjf_bco
from optsched.makespan.options import MakespanOptions
from optsched.result import Settings


def warm_up() -> None:
    """Run every compiled loop once on a tiny instance."""
    tiny = generate_makespan(jobs=4, servers=2, server_sizes=(4,))
    options, settings = MakespanOptions(), Settings(iterations=2)
    for solve in (sjf_bco, first_fit, list_scheduling, random_placement, local_search):
        solve(tiny, options, settings)
    Annealing(tiny, 1.0, 0).run(2, Deadline(), 0.0)
    size = np.ones(2, dtype=np.int64)
    for price in (np.ones(2), np.ones(2, dtype=np.int64)):
        best_value(size, price, 1)
    best_column(size, np.ones(2), 1, np.zeros(2, dtype=np.bool_))
