"""Heavy-Edge on worked examples; random cases are in test_agreement."""

from pathlib import Path

import pytest
from placement.jobs import made

import optsched
from optsched.cli import execute
from optsched.placement.cost import worst_iteration_time
from optsched.placement.heuristics.heavy_edge import estimated_minimum
from optsched.placement.instance import PlacementInstance, truncate_offer
from optsched.result import Termination

CASES = Path(__file__).parents[1] / "cases" / "placement"


def test_the_papers_figure_2() -> None:
    """{S1, S1, S2, S2}, {S3}, {S3}.

    S1's ring (20 MB) is the heaviest edge and opens the server with four GPUs. From {S1, S1} only
    the 1 MB edges to S2 lead out: S2-R1 joins (lowest index), then S2-R2, over S2's ring of 4 MB.
    The servers with one GPU take what is left, a replica of S3 each.
    """
    instance = optsched.load("placement/fig2")
    ring = 2 * (2 - 1) / 2 * instance.job.stages[0].parameter_bytes
    edge = 2 * instance.job.stages[0].output_bytes / 2
    assert (ring, edge) == (20e6, 1e6)
    result = optsched.solve(instance, "heavy-edge")
    assert result.solution.counts == ((2, 0, 0), (2, 0, 0), (0, 1, 1))
    # S3 on a server of its own is the slowest: 0.03 s of computation; its input from S2 crosses
    # the NIC, 4/1.25e9 * 2 * 0.5e6 = 3.2 ms; its ring too, 4/1.25e9 * 2 * 1/2 * 2e6 = 6.4 ms.
    assert result.objective == pytest.approx(0.03 + 0.0032 + 0.0064, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "optimum"), [("a", 0.7621040), ("b", 1.0530581), ("c", 0.7786855)]
)
def test_what_is_left_proves_nothing(
    name: str, optimum: float, capsys: pytest.CaptureFixture[str]
) -> None:
    path = CASES / f"tensor-parallel-{name}.json"
    result = optsched.solve(path, "heavy-edge")
    assert (result.termination, result.solution) == (Termination.NO_SOLUTION, None)
    assert "could not place" in result.details["message"]
    assert execute(["solve", str(path), "--method", "heavy-edge"]) == 3
    capsys.readouterr()
    best = optsched.solve(path)
    assert best.termination is Termination.OPTIMAL
    assert best.objective == pytest.approx(optimum, abs=1e-7)
    assert optsched.solve(path, "repartition").objective >= best.objective


def _two_stages(free: list[int]) -> PlacementInstance:
    # Pair edges 2 * 3 / 3 = 2 * 2 / 2 = 2; rings: a has h = 1, so 2 * 1/2 * 1 = 1; b weighs 0.
    stage = {"forward_time": 1, "backward_time": 1}
    stages = [
        {"replicas": 2, "output_bytes": 3, "parameter_bytes": 1, **stage},
        {"replicas": 3, "input_bytes": 2, **stage},
    ]
    return made(free, stages, gpus=4, inter=8, intra=100)


def test_worst_and_estimated_least_time_by_hand() -> None:
    """alpha^max: a alone pays 2 + 2*3*4/8 + 2*(1/2)*1*4/8 = 2 + 3 + 0.5; b pays 2 + 2*2*4/8 = 4.

    alpha~^min on servers of 4 and 1: counts ((2, 0), (2, 1)). Stage a: all-reduce inside
    1/100; two of b's three replicas near: 6*(1/3)*4/8 + 6*(2/3)/100 = 1.04; in all 3.05. b on the
    second server has both of a far: 2 + 4*4/8 = 4.
    """
    instance = _two_stages([4, 1])
    assert worst_iteration_time(instance.job, instance.cluster) == pytest.approx(5.5, rel=1e-12)
    assert estimated_minimum(instance.job, instance.cluster) == pytest.approx(4.0, rel=1e-12)
    assert optsched.explain(instance, method="heavy-edge").rows[0].total == pytest.approx(3.05)


def test_the_estimate_is_not_a_minimum() -> None:
    """Twelve replicas, eight GPUs per server: 6 + 6 beats the fewest servers' 8 + 4.

    The all-reduce moves 2 * 11/12 * h at a share of x/8 of the NIC: with 4 it takes 8/4, with 6
    only 8/6 of the time a whole NIC would need.
    """
    balanced = made([6, 6], [{"replicas": 12, "parameter_bytes": 6e8 / 11}], intra=3e11)
    assert estimated_minimum(balanced.job, balanced.cluster) == pytest.approx(0.1 * 8 / 4)
    assert optsched.solve(balanced).objective == pytest.approx(0.1 * 8 / 6)


def test_truncating_an_offer() -> None:
    assert truncate_offer([3, 8, 5, 8], 18) == [0, 8, 2, 8]
    assert truncate_offer([2, 2], 4) == [2, 2]
    with pytest.raises(ValueError, match="fewer than 5"):
        truncate_offer([2, 2], 5)
