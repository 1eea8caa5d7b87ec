"""The breakdown of an iteration's time, worked by hand."""

import pytest
from placement.jobs import made

import optsched
from optsched.errors import InputError
from optsched.placement.solution import PlacementSolution

STAGES = [
    {"name": "a", "replicas": 2, "forward_time": 1, "backward_time": 2,
     "output_bytes": 6, "parameter_bytes": 10},
    {"name": "b", "replicas": 4, "forward_time": 2, "backward_time": 3,
     "input_bytes": 3, "parameter_bytes": 8},
]  # fmt: skip
INSTANCE = made([3, 3], STAGES, gpus=4, inter=8, intra=100, name="hand")
SOLUTION = PlacementSolution.of("hand", [[2, 0], [1, 3]])


def test_every_part_by_hand() -> None:
    """g/B_inter = 1/2 s a byte, 1/B_intra = 1/100.

    a on 0: compute 3; sends 2*6 = 12: 3/4 far -> 9/2 = 4.5, 1/4 near -> 3/100; ring 2*1/2*10
    inside -> 0.1. b on 0: compute 5; receives 2*3 = 6, all near -> 0.06; ring 2*3/4*8 = 12 over
    one of four shares of the NIC -> 12/2 = 6. b on 1: 6 bytes far -> 3; ring over three -> 2.
    """
    breakdown = optsched.explain(INSTANCE, SOLUTION)
    parts = {
        (row.name, row.server): (
            row.compute, row.inter_server, row.intra_server, row.all_reduce, row.all_reduce_link
        )
        for row in breakdown.rows
    }  # fmt: skip
    assert parts == {
        ("a", 0): (3, pytest.approx(4.5), pytest.approx(0.03), pytest.approx(0.1), "intra-server"),
        ("b", 0): (5, pytest.approx(0), pytest.approx(0.06), pytest.approx(6), "inter-server"),
        ("b", 1): (5, pytest.approx(3), pytest.approx(0), pytest.approx(2), "inter-server"),
    }
    worst = breakdown.bottleneck
    assert (worst.name, worst.server) == ("b", 0)
    assert breakdown.iteration_time == pytest.approx(11.06)
    assert optsched.check(INSTANCE, SOLUTION).objective == pytest.approx(11.06)


def test_json_of_a_breakdown() -> None:
    document = optsched.explain(INSTANCE, SOLUTION).to_dict()
    assert document["bottleneck"] == {"stage": 1, "server": 0}
    assert [row["total"] for row in document["rows"]] == pytest.approx([7.63, 11.06, 10.0])


def test_refuses_an_infeasible_solution() -> None:
    bad = PlacementSolution.of("hand", [[2, 0], [2, 2]])
    with pytest.raises(InputError, match="capacity"):
        optsched.explain(INSTANCE, bad)
