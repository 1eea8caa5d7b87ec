"""What must hold of slices, experts and micro-batches whatever the numbers."""

from typing import Any

import numpy as np
import pytest
from oracles import placement as oracle
from placement.jobs import made

import optsched
from optsched.errors import NotApplicableError
from optsched.placement.bounds.combinatorial import combinatorial_bound, quick_bound
from optsched.placement.cost import iteration_time, tables_of
from optsched.placement.heuristics.repartition import packing
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.result import Settings, Termination
from optsched.verbs.judging import certificate_violations

METHODS = ("heavy-edge", "first-fit", "repartition", "columns", "ilp", "ilp-vertex", "exact")


def sliced(sizes: list[tuple[int, int]], free: list[int], **of_job: Any) -> PlacementInstance:
    """Stages of so many replicas of so many GPUs, on servers of 8."""
    same = {"backward_time": 2, "parameter_bytes": 1e9}
    stages = [
        {"replicas": k, "tensor_parallel": q, "forward_time": 1 + s, **same}
        for s, (k, q) in enumerate(sizes)
    ]
    return made(free, stages, **of_job)


IMPOSSIBLE = [
    ([(2, 2)], [3, 1]),  # one of 2 on the 3, none on the 1
    ([(2, 2)], [1, 1, 1, 1]),
    ([(1, 4)], [2, 3]),
    ([(1, 4)], [3, 3]),
    ([(3, 2)], [3, 3, 1]),
    ([(3, 3)], [5, 5]),
    ([(2, 3), (1, 2)], [4, 4]),  # the two of 3 leave 1 and 1
    ([(1, 8), (1, 1)], [7, 7]),
    ([(2, 4), (4, 2)], [6, 7, 3]),  # the two of 4 leave 2, 3 and 3: room for three of 2
]


@pytest.mark.parametrize(("sizes", "free"), IMPOSSIBLE)
@pytest.mark.parametrize("batches", [None, 4])
def test_offers_that_cannot_hold_the_replicas(
    sizes: list[tuple[int, int]], free: list[int], batches: int | None
) -> None:
    """A status, of every method that takes the job at all; a greedy one proves nothing."""
    made = sliced(sizes, free, **({} if batches is None else {"micro_batches": batches}))
    assert oracle.optimum(made.to_dict()) is None
    for method in (*METHODS, "min-cut"):
        if batches and method == "columns":
            refusal = "micro_batches=4, expected no micro_batches"
            with pytest.raises(NotApplicableError, match=refusal):
                optsched.solve(made, method)
            continue
        result = optsched.solve(made, method)
        proves = method not in ("heavy-edge", "first-fit")
        said = Termination.INFEASIBLE if proves else Termination.NO_SOLUTION
        assert (result.termination, result.solution, result.objective) == (said, None, None), method
        assert not proves or result.bound is None
        assert result.bound is None or result.bound > 0
    bound = combinatorial_bound(made, tables_of(made)).value
    assert quick_bound(made, PlacementOptions())[0] == (bound if np.isfinite(bound) else None)
    assert np.isinf(bound) == (free not in ([5, 5], [3, 3, 1]))  # only there GPUs may stay free


def test_heavy_edge_names_the_stage_and_the_server() -> None:
    """s0's two of 3 GPUs are too many for 5, so that s1's two come first; then one of s0.

    One of each on both servers would have been a placement.
    """
    made = sliced([(2, 3), (2, 2)], [5, 5])
    result = optsched.solve(made, "heavy-edge")
    assert result.termination is Termination.NO_SOLUTION
    assert result.details["message"] == (
        "Heavy-Edge could not place 1 of 2 replicas of stage 0 (s0): each needs 3 GPUs on one "
        "server, and at most 2 are free (server 1); try repartition or exact"
    )
    for method in METHODS[1:]:
        assert optsched.solve(made, method).solution.counts == ((1, 1), (1, 1)), method


PUZZLE = ([(1, 3), (1, 2), (1, 1), (1, 2)], [4, 3, 1])
"""Both of 2 GPUs belong on the server of 4; whoever starts with 3, or with 2 and 1, fails."""


def test_where_every_start_fails_and_a_placement_exists() -> None:
    made = sliced(*PUZZLE)
    packed, termination = packing(made, Settings())
    assert termination is Termination.FEASIBLE
    assert packed.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 0, 0]]
    assert all(optsched.solve(made, method).solution is None for method in METHODS[:2])
    for method in METHODS[2:]:
        counts = optsched.solve(made, method).solution.counts
        assert np.array(counts).tolist() == packed.tolist(), method


def test_a_short_limit_may_leave_it_open() -> None:
    """Whether the replicas fit takes a programme in integers, and there is no time for it."""
    made = sliced(*PUZZLE)
    result = optsched.solve(made, "columns", time_limit=0.0)
    assert result.termination is Termination.TIME_LIMIT
    assert result.solution is None
    assert result.details["message"] == "no placement found by the time limit"


@pytest.mark.parametrize("spare", [0, 3])
def test_a_certified_bound_of_slices(spare: int) -> None:
    """32 GPUs: the exact methods agree, and the bound of columns is shown without a solver."""
    made = sliced([(4, 2), (6, 1), (4, 4), (2, 1)], [8, 8, 7, 5, 4 + spare])
    best = optsched.solve(made, "ilp", gap=0.0)
    assert best.termination is Termination.OPTIMAL
    found = optsched.solve(made, "columns", time_limit=20)
    assert found.bound <= best.objective * (1 + 1e-9)
    if found.certificate is not None:
        assert certificate_violations(made, found.certificate) == []
    assert found.objective == pytest.approx(best.objective, rel=1e-6)


def test_micro_batches_choose_another_placement() -> None:
    """Few micro-batches: the all-reduces count as much as the work, and are worth a slower stage.

    Two stages of two replicas on servers of 3 and 1. All of one stage together saves its all-reduce
    (9 s to 0.01 s), whichever it is; stage 1's is hidden by the first stage's backward pass.
    """
    made = sliced([(2, 1), (2, 1)], [3, 1], micro_batches=1)
    assert optsched.solve(made).solution.counts == ((2, 0), (1, 1))
    assert optsched.solve(made, "repartition").solution.counts == ((2, 0), (1, 1))
    both = PlacementOptions()
    other = iteration_time(made, np.array(((1, 1), (2, 0))), both)
    assert optsched.solve(made).objective < other
