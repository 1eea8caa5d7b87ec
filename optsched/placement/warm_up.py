"""Loading the compiled loops before anything is timed."""

from __future__ import annotations

import numpy as np

from optsched.deadline import Deadline
from optsched.placement.bounds.combinatorial import combinatorial_bound
from optsched.placement.bounds.patterns import PatternProgramme
from optsched.placement.cost import tables_of
from optsched.placement.heuristics.heavy_edge import heavy_edge
from optsched.placement.heuristics.repartition import repartition
from optsched.placement.instance import SCHEMA, PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.result import Settings


def warm_up() -> None:
    """Run every compiled loop once on a tiny instance."""
    options, settings = PlacementOptions(), Settings()
    heavy_edge(_TINY, options, settings)
    repartition(_SYNCHRONOUS, options, settings)
    combinatorial_bound(_SYNCHRONOUS, tables_of(_SYNCHRONOUS, options))
    pricing = PatternProgramme(_TINY, tables_of(_TINY), Deadline()).price(1e3)
    pricing.needed(np.zeros(len(_TINY.job.stages)), 10)


def _stage(name: str, received: int, sent: int) -> dict[str, object]:
    return {
        "name": name,
        "replicas": 2,
        "forward_time": 1,
        "backward_time": 1,
        "input_bytes": received,
        "output_bytes": sent,
        "parameter_bytes": 1,
    }


def _tiny(**of_job: object) -> PlacementInstance:
    stages = [_stage("a", 0, 1), _stage("b", 1, 0)]
    return PlacementInstance.from_dict(
        {
            "schema": SCHEMA,
            "version": 1,
            "name": "tiny",
            "cluster": {"gpus_per_server": 3, "inter_bandwidth": 1, "intra_bandwidth": 2},
            "free_gpus": [3, 1],
            "job": {"model": "tiny", "all_reduce": "ring", "stages": stages, **of_job},
        }
    )


_TINY, _SYNCHRONOUS = _tiny(), _tiny(micro_batches=2)
