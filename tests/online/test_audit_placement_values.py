"""The audit's own graph of a job's replicas, by hand."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pytest

from optsched.online.audit_rules.placement import IterationTimes, _all_reduce, _Graph
from optsched.placement.instance import Cluster, Job, Stage


def stage(
    replicas: int, parameter_bytes: float, received: float = 0, sent: float = 0, **more: float
) -> Stage:
    return Stage(
        **more,
        name="s",
        replicas=replicas,
        forward_time=1.0,
        backward_time=0.0,
        input_bytes=received,
        output_bytes=sent,
        parameter_bytes=parameter_bytes,
    )


def graph(kind: Literal["ring", "double-tree"]) -> _Graph:
    """Three replicas that send 8 bytes each to two, which receive 12 each."""
    stages = (stage(3, 12.0, sent=8.0), stage(2, 2.0, received=12.0))
    return _Graph(Job(model="x", all_reduce=kind, stages=stages))


def test_weights_by_hand() -> None:
    # 2 x (2/3) x 12 bytes around three, (1/2) x 2 twice between two; 2 x 8/2 between the stages
    ring = graph("ring")
    assert (ring.pair, ring.total) == ([8.0], [48.0, 48.0, 48.0, 26.0, 26.0])
    # ranks 1 and 0 hang below 2 in one tree, 0 and 1 shifted in the other: 0-2 in both
    tree = graph("double-tree")
    assert tree.edges[:3] == [[(1, 8.0), (2, 16.0)], [(0, 8.0), (2, 8.0)], [(0, 16.0), (1, 8.0)]]
    assert tree.total == [40.0, 32.0, 40.0, 26.0, 26.0]
    assert (tree._lightest(), tree._heaviest_end(5)) == (3, 0)


@pytest.mark.parametrize("kind", ["ring", "double-tree"])
def test_the_lower_end_of_the_heaviest_edge(kind: Literal["ring", "double-tree"]) -> None:
    made = graph(kind)
    assert made._heaviest_end(5) == 0
    made.free[0] = False
    made.unplaced[0] -= 1
    assert made._heaviest_end(5) == 1
    made.free[1:3] = False
    made.unplaced[0] = 0
    assert made._heaviest_end(5) == 3
    made.free[3] = False
    made.unplaced[1] = 1
    assert made._heaviest_end(5) == 4


def sliced() -> _Graph:
    """Three replicas of 2 GPUs and two of 1, of which those route 9 bytes each to their experts."""
    first = stage(3, 12.0, sent=8.0, tensor_parallel=2, expert_bytes=9.0)
    stages = (first, stage(2, 2.0, received=12.0))
    return _Graph(Job(model="x", all_reduce="ring", stages=stages))


def test_experts_and_slices_by_hand() -> None:
    made = sliced()
    # 48 as above, and 2 x 9/3 bytes to either other replica
    assert made.total == [60.0, 60.0, 60.0, 26.0, 26.0]
    assert made._lightest() == 3  # the others take two GPUs
    assert made._heaviest_end(4) == 0  # 16 + 6 between two of the first stage
    assert made._heaviest_end(3) == 0  # not two of them; one with one of the second: 8
    assert made._heaviest_end(2) == 3  # no other edge's ends fit: 2 between the second's
    assert made.grown(4) == [0, 1]
    assert made.unplaced == [1, 2]
    assert made.grown(3) == [2, 3]
    assert made.unplaced == [0, 1]
    assert made.grown(1) == [4]


@pytest.mark.parametrize(("routed", "end"), [(0.0, 0), (1.0, 1)])
def test_only_experts_join_replicas_that_all_reduce_with_others(routed: float, end: int) -> None:
    """Of four around a ring 0 and 2 are left, for 3 GPUs: without experts no edge is left.

    The lowest that fits is then the replica of 3 slices before them; with them 2 x 1/4 bytes are.
    """
    before = stage(1, 0.0, tensor_parallel=3)
    made = _Graph(
        Job(model="x", all_reduce="ring", stages=(before, stage(4, 4.0, expert_bytes=routed)))
    )
    made.free[[2, 4]] = False
    made.unplaced[1] = 2
    assert made._heaviest_end(3) == end


@pytest.mark.parametrize("routed", [0.0, 1.0])
def test_what_a_replica_draws(routed: float) -> None:
    """2 x 3/4 x 4 = 6 bytes to either neighbour around the ring, 2 x 1/4 between experts."""
    middle = stage(4, 4.0, sent=1.0, expert_bytes=routed)
    stages = (stage(1, 0.0), middle, stage(2, 0.0, received=2.0))
    made = _Graph(Job(model="x", all_reduce="ring", stages=stages))
    pull = np.full(7, -1.0)
    made._attract(1, pull)
    experts = routed / 2
    across = experts if routed else -1.0  # as to itself, which is not free any more
    # the stage before sends nothing; 2 x 1/2 bytes to either of the two replicas after
    assert pull.tolist() == [0.0, across, 6 + experts, across, 6 + experts, 1.0, 1.0]


def test_what_was_taken_draws_the_other_experts() -> None:
    """2 x 9/3 = 6 bytes between experts are less than 8 to the next stage, 2 x 15/3 = 10 more."""
    for routed, taken in ((9.0, [0, 3, 1, 2]), (15.0, [0, 1, 2, 3])):
        first = stage(3, 0.0, sent=8.0, expert_bytes=routed)
        job = Job(model="x", all_reduce="ring", stages=(first, stage(2, 0.0, received=12.0)))
        assert _Graph(job).grown(4) == taken


def test_slices_that_do_not_fit_have_no_time() -> None:
    first = stage(2, 1.0, tensor_parallel=2)
    times = IterationTimes(
        [Job(model="x", all_reduce="ring", stages=(first,)),
         Job(model="y", all_reduce="ring", stages=(stage(4, 1.0),)),
         Job(model="z", all_reduce="ring", stages=(stage(1, 1.0), first))],
        Cluster(gpus_per_server=4, inter_bandwidth=1.0, intra_bandwidth=10.0),
    )  # fmt: skip
    assert [times.has_slices(c) for c in (0, 1, 2)] == [True, False, True]
    assert times.of(0, (3, 1)) == math.inf
    assert times.of(0, (1, 1, 1, 1)) == math.inf
    # alone on its server: 2 (2 - 1)/2 x 1 byte over 2 of the 4 shares of the NIC
    assert times.of(0, (2, 2)) == pytest.approx(1 + 1 * 4 / 2)
    assert times.of(0, (4,)) == pytest.approx(1 + 1 / (2 * 10))
    assert times.of(1, (3, 1)) < math.inf


def test_who_exchanges_gradients() -> None:
    assert _all_reduce(stage(1, 4.0), "double-tree") == {}
    assert _all_reduce(stage(1, 4.0), "ring") == {}
    assert _all_reduce(stage(2, 4.0), "ring") == {(0, 1): 4.0}
    around = {(0, 1): 6.0, (1, 2): 6.0, (2, 3): 6.0, (0, 3): 6.0}
    assert _all_reduce(stage(4, 4.0), "ring") == around
