"""The audit's own graph of a job's replicas, by hand."""

from __future__ import annotations

from typing import Literal

import pytest

from optsched.online.audit_placement import _all_reduce, _Graph
from optsched.placement.instance import Job, Stage


def stage(replicas: int, parameter_bytes: float, received: float = 0, sent: float = 0) -> Stage:
    return Stage(
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
    assert (tree._lightest(), tree._heaviest_end()) == (3, 0)


@pytest.mark.parametrize("kind", ["ring", "double-tree"])
def test_the_lower_end_of_the_heaviest_edge(kind: Literal["ring", "double-tree"]) -> None:
    made = graph(kind)
    assert made._heaviest_end() == 0
    made.free[0] = False
    made.unplaced[0] -= 1
    assert made._heaviest_end() == 1
    made.free[1:3] = False
    made.unplaced[0] = 0
    assert made._heaviest_end() == 3
    made.free[3] = False
    made.unplaced[1] = 1
    assert made._heaviest_end() == 4


def test_who_exchanges_gradients() -> None:
    assert _all_reduce(stage(1, 4.0), "double-tree") == {}
    assert _all_reduce(stage(1, 4.0), "ring") == {}
    assert _all_reduce(stage(2, 4.0), "ring") == {(0, 1): 4.0}
    around = {(0, 1): 6.0, (1, 2): 6.0, (2, 3): 6.0, (0, 3): 6.0}
    assert _all_reduce(stage(4, 4.0), "ring") == around
