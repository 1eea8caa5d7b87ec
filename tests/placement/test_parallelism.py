"""Slices, experts and micro-batches worked out by hand, and what they leave alone."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from placement import by_hand, jobs

import optsched
from optsched.errors import InputError
from optsched.placement.bounds.combinatorial import combinatorial_bound
from optsched.placement.cost import iteration_time, tables_of
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.placement.solution import PlacementSolution


def document(micro_batches: int | None = None, **of_b: Any) -> dict[str, Any]:
    """Stages a (2 replicas of 1 GPU) and b (2 of 2 GPUs, experts) on servers of 4 and 3 of 4 GPUs.

    A GPU's share of the NIC is 2/4 B/s: 2 s a byte; inside a server 1/8 s.
    """
    b = {"tensor_parallel": 2, "tensor_bytes": 8, "expert_bytes": 4, **of_b}
    stages = [
        {"name": "a", "replicas": 2, "forward_time": 1, "backward_time": 2,
         "output_bytes": 3, "parameter_bytes": 5},
        {"name": "b", "replicas": 2, "forward_time": 2, "backward_time": 4,
         "input_bytes": 3, "parameter_bytes": 6, **b},
    ]  # fmt: skip
    of_job = {} if micro_batches is None else {"micro_batches": micro_batches}
    return jobs.document([4, 3], stages, gpus=4, inter=2, intra=8, name="parallel", **of_job)


APART = ((1, 1), (1, 1))
TOGETHER = ((0, 2), (2, 0))
WORK = {APART: (9.375, 12.375), TOGETHER: (15.0, 13.25)}
"""Seconds of the slowest work and of the slowest all-reduce, by stage.

a computes 3 and sends 2 * 3 = 6 bytes; b computes 6, all-reduces 2 (1/2) 8 = 8 bytes among its
slices (1 s) and receives 6 bytes, over two GPUs' shares of the NIC (1 s a byte).
APART     each server holds half of both
          a: 3 bytes far 6 s, 3 near 3/8: 3 + 6 + 0.375
          b: 3 far 3 s, 3 near 3/8; half of its experts' 4 bytes far 2 s: 6 + 1 + 3 + 0.375 + 2
TOGETHER  b on the first server, a on the second
          a: 6 bytes far 12 s: 3 + 12
          b: 6 bytes far 6 s; half of its experts' 4 bytes near 2/8: 6 + 1 + 6 + 0.25
all-reduce: a moves 2 (1/2) 5 = 5 bytes: over one share 10 s, inside 5/8
            b moves 2 (1/2) 6 = 6 bytes: over two shares 6 s, inside over two links 6/16
"""


def instance(micro_batches: int | None = None, **of_b: Any) -> PlacementInstance:
    return PlacementInstance.from_dict(document(micro_batches, **of_b))


ITERATIONS = {
    (APART, None): 19.375,  # a waits longest both times: 9.375 + 10
    (TOGETHER, None): 15.625,  # 15 + 0.625
    (APART, 1): 31.75,  # 9.375 + 12.375 + 10
    (APART, 2): 27.0625,  # (9.375 + 2 * 12.375)/2 + 10; b ends after 17.0625 - 2/2 + 6
    (APART, 8): 23.546875,  # (9.375 + 8 * 12.375)/8 + 10
    (TOGETHER, 1): 28.875,  # 15 + 13.25 + 0.625; b ends after 28.25 - 2 + 0.375
    (TOGETHER, 2): 22.25,  # (2 * 15 + 13.25)/2 + 0.625
}


def values(made: PlacementInstance, counts: Any, options: dict[str, Any] | None = None) -> list:
    """alpha by the cost, the checker and the explanation."""
    chosen = PlacementOptions.from_dict(options or {})
    solution = PlacementSolution.of(made.name, counts)
    explained = optsched.explain(made, solution, options=options)
    assert sum(explained.causes.values()) == pytest.approx(explained.iteration_time, rel=1e-12)
    return [
        iteration_time(made, np.array(counts), chosen),
        optsched.check(made, solution, options).objective,
        explained.iteration_time,
    ]


@pytest.mark.parametrize(("counts", "micro_batches"), ITERATIONS)
def test_iterations_by_hand(counts: Any, micro_batches: int | None) -> None:
    expected = pytest.approx([ITERATIONS[counts, micro_batches]] * 3, rel=1e-12)
    assert values(instance(micro_batches), counts) == expected
    if micro_batches is not None:
        assert values(instance(micro_batches), counts, by_hand.BOTTLENECK) == expected


MIXED = ((2, 0), (1, 1))


def test_the_second_example_of_the_readme() -> None:
    """models/placement/README.md works this instance out; the best of each column is in bold."""
    readme = Path(__file__).parents[2] / "models" / "placement" / "README.md"
    lines = readme.read_text(encoding="utf-8").split("| placement | asynchronous |")[1].splitlines()
    table = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:5])
    rows = {name: rest for name, *rest in table}
    assert set(rows) == {"apart", "together", "mixed"}
    for name, counts in (("apart", APART), ("together", TOGETHER), ("mixed", MIXED)):
        for cell, batches in zip(rows[name], (None, 1, 2, 8), strict=True):
            made = instance(batches)
            solution = PlacementSolution.of(made.name, counts)
            value = optsched.check(made, solution).objective
            assert float(cell.strip("*")) == pytest.approx(value, rel=1e-12)
            assert (optsched.solve(made).solution.counts == counts) == cell.startswith("**")


def test_overlaps_of_micro_batches_by_hand() -> None:
    """Half the backward passes, an eighth of the all-reduces; 2 micro-batches, apart.

    a: 9.375 - 1, b: 12.375 - 2; (8.375 + 2 * 10.375)/2 = 14.5625; a ends 10/8 later, b 1/2 of a
    micro-batch's backward pass earlier and 6/8 later.
    """
    options = {"backward_overlap": 0.5, "all_reduce_overlap": 0.125}
    assert values(instance(2), APART, options) == pytest.approx([15.8125] * 3, rel=1e-12)


def test_the_slowest_all_reduce_of_a_stage_is_that_of_its_least_count() -> None:
    """One stage of three replicas, 2 and 1: works 4 s; of 4 bytes, 8 s over one share, 4 over two.

    Of 6 bytes between experts the one sends 4 far, 8 s, each of the two 2 far and 2 near, 4.25 s.
    """
    given = document(2)
    stage = given["job"]["stages"][0] | {
        "replicas": 3, "backward_time": 3, "output_bytes": 0, "parameter_bytes": 3,
        "tensor_parallel": 1,
    }  # fmt: skip
    given["job"]["stages"] = [stage]
    given["free_gpus"] = [2, 1]
    made = PlacementInstance.from_dict(given)
    assert values(made, [[2, 1]]) == pytest.approx([12.0] * 3)
    stage["expert_bytes"] = 6
    routed = PlacementInstance.from_dict(given)
    assert values(routed, [[2, 1]]) == pytest.approx([20.0] * 3)
    rows = optsched.explain(routed, PlacementSolution.of(routed.name, [[2, 1]])).rows
    assert [row.experts for row in rows] == pytest.approx([4.25, 8.0])


def test_floored_tables_by_hand() -> None:
    """Below 2 s: a's saving of 5.625 a replica and b's of 2.625 stay; the rest inside is gone."""
    made = tables_of(instance(2)).floored(2.0)
    assert made.saving_previous.tolist() == pytest.approx([0, 2.625])
    assert made.saving_next.tolist() == pytest.approx([5.625, 0])
    assert made.colocated_time.tolist() == pytest.approx([3.75, 7.75])
    assert made.remote_time.tolist() == pytest.approx([15, 13])
    assert made.experts.tolist() == [[0, 0, 0, 0, 0], [0, 2, 0, 0, 0]]
    assert made.all_reduce[:, 1:3].tolist() == [[10, 0], [6, 0]]
    higher = tables_of(instance(2)).floored(4.0)  # savings gone are had in full
    assert (higher.saving_previous.tolist(), higher.saving_next.tolist()) == ([0, 0], [5.625, 0])
    assert higher.colocated_time.tolist() == pytest.approx([0, 7.75])
    assert higher.remote_time.tolist() == pytest.approx([11.25, 7.75])
    slow = document(2)
    slow["cluster"]["intra_bandwidth"] = 0.25
    tables = tables_of(PlacementInstance.from_dict(slow))
    assert tables.floored(4.0) is tables


def test_the_pipeline_bound_by_hand() -> None:
    """Of 2 micro-batches, on servers of 4; half the least works are 4.6875 and 4.875 s.

    a works 15 s less 5.625 beside one of b, for which there is room beside one or two; b, alone,
    15 s less twice 2.625 beside both of a, or, both together, 13.25.
    a: 4.875 + 4.6875 + 4.875 and 10 or 0.625 s of all-reduce, whether its least count is 1 or 2
    b: 4.875 + 4.875 + 4.6875 - 1 + 6, or 6.625 + 6.625 + 4.6875 - 1 + 0.375: the smaller, 17.3125,
    is above a's 15.0625
    """
    made = instance(2)
    bound = combinatorial_bound(made, tables_of(made))
    assert bound.source == "pipeline bound"
    assert bound.value == pytest.approx(17.3125, rel=1e-12)
    asynchronous = combinatorial_bound(instance(), tables_of(instance()))
    assert asynchronous.source == "stage bound"
    assert asynchronous.value == pytest.approx(13.25 + 0.375, rel=1e-12)


def test_the_explanation_names_each_part() -> None:
    explained = optsched.explain(instance(), PlacementSolution.of("parallel", APART))
    row = next(row for row in explained.rows if (row.name, row.server) == ("b", 1))
    parts = {
        "compute": 6.0, "inter-server transfer": 3.0, "intra-server transfer": 0.375,
        "tensor all-reduce": 1.0, "expert all-to-all": 2.0, "all-reduce": 6.0,
    }  # fmt: skip
    assert row.parts == pytest.approx(parts)
    assert row.gpus == 2
    headings = str(explained).splitlines()[1].split()
    assert headings[2:] == [
        *("replicas", "GPUs", "compute", "inter-server", "intra-server", "tensor", "expert"),
        *("all-reduce", "link", "total"),
    ]
    assert "pipeline" not in explained.to_dict()
    told = optsched.explain(instance(2), PlacementSolution.of("parallel", APART))
    assert "2 micro-batches in 27062.500 ms: compute 22.2%" in str(told)
    assert "fill and drain 17.3%, exposed all-reduce 37.0%" in str(told)
    assert told.to_dict()["pipeline"]["micro_batches"] == 2


def test_the_checker_counts_slices() -> None:
    """Three of a and one of b's two replicas would fit into 4 GPUs if it had one slice."""
    for b, server, over in (((2, 0), 0, 2), ((0, 2), 1, 1)):
        report = optsched.check(instance(), PlacementSolution.of("parallel", ((2, 0), b)))
        (found,) = report.violations
        assert (found.rule, found.where, found.amount) == ("capacity", f"server {server}", over)


def test_the_checker_refuses_the_asynchronous_value_of_a_synchronous_job() -> None:
    made = instance(2)
    for claim, broken in ((ITERATIONS[APART, None], True), (ITERATIONS[APART, 2], False)):
        solution = PlacementSolution.of(made.name, APART).model_copy(update={"objective": claim})
        rules = [violation.rule for violation in optsched.check(made, solution).violations]
        assert rules == (["claimed objective"] if broken else [])


def test_an_offer_may_exceed_what_slices_need_and_nothing_else() -> None:
    made = document()
    made["free_gpus"] = [4, 4, 4]
    assert not PlacementInstance.from_dict(made).uses_all_gpus
    made["free_gpus"] = [3, 3]
    assert PlacementInstance.from_dict(made).uses_all_gpus
    made["free_gpus"] = [3, 2]
    with pytest.raises(InputError, match="a sum of 5, expected at least the 6 GPUs of the job"):
        PlacementInstance.from_dict(made)
    made = document(tensor_parallel=1)
    with pytest.raises(InputError, match="a sum of 7, expected the 4 replicas of the job"):
        PlacementInstance.from_dict(made)
