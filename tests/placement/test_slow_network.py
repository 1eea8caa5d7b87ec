"""A NIC's share up to 1e10 times slower than a server's inside: nothing cancels, all is proved."""

import numpy as np
import pytest
from oracles import placement as oracle
from placement.jobs import slow_network

import optsched
from optsched.placement.cost import tables_of, time_matrix
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.result import Termination


@pytest.mark.parametrize("seed", [0, 6, 11, 21, 22, 25, 36, 50, 54])
@pytest.mark.parametrize("reading", ["own", "bottleneck"])
def test_optimal_at_gap_0(seed: int, reading: str) -> None:
    document = slow_network(seed)
    instance = PlacementInstance.from_dict(document)
    options = {"all_reduce_bandwidth": reading}
    optimum = oracle.optimum(document, options)
    for method in ("ilp", "ilp-vertex", "exact"):
        result = optsched.solve(instance, method, gap=0.0, options=options)
        assert result.termination is Termination.OPTIMAL, method
        assert result.objective == pytest.approx(optimum, rel=1e-9), method
        assert (1 - 2e-9) * optimum <= result.bound <= (1 + 1e-12) * optimum, method


@pytest.mark.parametrize("seed", range(20))
def test_capped_tables_are_right_up_to_their_limit(seed: int) -> None:
    """And times above it stay above it."""
    instance = PlacementInstance.from_dict(slow_network(seed))
    tables, options = tables_of(instance), PlacementOptions()
    rng = np.random.default_rng(seed)
    replicas = np.repeat(np.arange(len(tables.replicas)), tables.replicas)
    for _ in range(20):
        counts = np.zeros(instance.shape, dtype=np.int64)
        servers = np.repeat(np.arange(len(instance.free_gpus)), instance.free_gpus)
        np.add.at(counts, (rng.permutation(replicas), servers), 1)
        true = time_matrix(tables, counts, options)
        limit = float(rng.choice(true[counts > 0]))
        if limit == 0.0:
            continue
        capped = time_matrix(tables.capped(limit), counts, options)
        within = true <= limit
        assert capped[within] == pytest.approx(true[within], rel=1e-12)
        assert (capped[~within] > limit).all()
