"""Compile or load the placement kernels before anything is timed."""

import numpy as np

from optsched.deadline import Deadline
from optsched.library import load
from optsched.placement.bounds.combinatorial import combinatorial_bound
from optsched.placement.bounds.patterns import PatternMaster
from optsched.placement.cost import tables_of
from optsched.placement.heuristics.repartition import repartition
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.result import Settings


def warm_up() -> None:
    """Run every kernel once on a tiny instance, also with micro-batches."""
    document = load("placement/fig2").to_dict()
    instance = PlacementInstance.from_dict(document)
    synchronous = PlacementInstance.from_dict(
        {**document, "job": {**document["job"], "micro_batches": 2}}
    )
    repartition(synchronous, PlacementOptions(), Settings())
    combinatorial_bound(synchronous, tables_of(synchronous))
    no_limit = 1e3  # seconds: longer than any iteration of this instance
    pricing = PatternMaster(instance, tables_of(instance), Deadline()).price(no_limit)
    pricing.possible_patterns(np.zeros(len(instance.job.stages)), 10)
