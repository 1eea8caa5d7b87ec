"""fewest-waiting and same-jobs: openings as printed, limits, and what they leave alone.

`oracles/test_selection.py` holds them against every selection there is.
"""

import pytest
from oracles.selection import Oracle
from oracles.selection_cases import tiny

import optsched
from optsched import solve
from optsched.errors import NotApplicableError
from optsched.result import Result, Termination
from optsched.selection.instance import SelectionInstance


def crowded(seed: int) -> SelectionInstance:
    """Four jobs on two to four GPUs; waiting is often cheaper than running."""
    return tiny(seed, jobs=4, nodes=2, most=2)


def ran(result: Result) -> set[str]:
    return {job.name for job in result.solution.jobs if job.node is not None}


def test_as_many_nodes_as_printed_and_then_fewest_waiting() -> None:
    printed = {"node_opening": "printed"}
    for seed in range(6):
        instance = crowded(seed)
        best = Oracle(instance.to_dict()).fewest_waiting("printed")
        result = solve(instance, "fewest-waiting", options=printed, gap=0.0)
        assert (len(instance.jobs) - len(ran(result)), result.objective) == pytest.approx(best)
    document = crowded(0).to_dict()
    for job in document["jobs"]:
        job["epoch_time"] = {"A": [1.0] * 2}
    document["nodes"] = [
        {"name": name, "gpu_type": kind, "gpus": 2, "cost_rate": [0.1, 0.2]}
        for name, kind in (("a", "A"), ("b", "B"))
    ]
    document["gpu_types"] = dict.fromkeys("AB", document["gpu_types"]["A"])
    assert Oracle(document).fewest_waiting("printed") is None
    alone = SelectionInstance.from_dict(document)
    result = solve(alone, "fewest-waiting", options=printed)
    assert result.termination is Termination.INFEASIBLE
    with pytest.raises(NotApplicableError, match="same-jobs: found node_opening=printed"):
        solve(crowded(0), "same-jobs", options={"node_opening": "printed"})


def test_neither_bounds_the_problem() -> None:
    """Their bounds are of other problems: the one beside them is the problem's own."""
    instance = next(i for i in map(crowded, range(6)) if _waits_by_choice(i))
    best = Oracle(instance.to_dict()).optimum()
    for method in ("fewest-waiting", "same-jobs"):
        assert solve(instance, method).bound <= best * (1 + 1e-9)
    frame = optsched.compare([instance], ["exact", "fewest-waiting", "same-jobs"])
    assert list(frame["status"]) == ["optimal", "feasible", "feasible"]
    assert frame["bound"].max() <= best * (1 + 1e-9)


def _waits_by_choice(instance: SelectionInstance) -> bool:
    oracle = Oracle(instance.to_dict())
    return oracle.optimum() < oracle.fewest_waiting()[1] * (1 - 1e-6)


def test_without_time_a_heuristics_selection_stands() -> None:
    for method in ("fewest-waiting", "same-jobs"):
        result = solve("selection/10x40", method, time_limit=0.0)
        assert (result.termination, result.details["proved"]) == (Termination.TIME_LIMIT, False)
        assert result.check.feasible
