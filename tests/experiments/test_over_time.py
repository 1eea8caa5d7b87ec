"""Policies over time in sweeps: the same figures as their own commands, beside their own bounds."""

from collections.abc import Callable
from pathlib import Path

import pytest
from commands import printed
from stored_results import content

import optsched
from optsched.errors import InputError
from optsched.experiments import gap_table

ROLLING_PLAN = """
[limits]
iterations = 5
[[families]]
name = "shipped"
instances = ["rolling/three-by-hand"]
methods = ["clairvoyant-bound", "sts", "edf"]
seeds = 2
[[families]]
name = "made"
generator = "rolling"
arguments = { nodes = 2, jobs = 6, arrivals = "load", load = 0.6, gpus_per_node = 2 }
count = 2
"""
ONLINE_PLAN = """
[[families]]
name = "made"
generator = "online"
arguments = { jobs = 60, servers = 4, load = 0.7, sizes = [2, 4], size_weights = [0.5, 0.5] }
count = 2
options = { predictor = "perfect" }
"""


Swept = Callable[[str], Path]


def test_the_hand_worked_timeline_is_a_row(swept: Swept) -> None:
    # tests/rolling/test_timeline.py: STS 123 $, EDF 193 $ whatever the seed: epochs are given.
    store = swept(ROLLING_PLAN)
    shipped, made = gap_table(store)
    cost = {(r.method, r.seed): r.objective for r in shipped.runs}
    assert [cost["sts", s] for s in (0, 1)] == pytest.approx([123.0, 123.0])
    assert [cost["edf", s] for s in (0, 1)] == pytest.approx([193.0, 193.0])
    assert [line.bounds for line in shipped.lines] == [2, 0, 0]
    assert all(run.feasible for run in shipped.runs if run.method != "clairvoyant-bound")
    for table in (shipped, made):
        for run in table.runs:
            assert run.bound is not None
            if run.objective is not None:
                assert run.objective >= run.bound * (1 - 1e-9)
    assert "2 bounds" in printed("table", store)
    frame = optsched.read_store(store)  # a row a run
    rows = frame[frame["family"] == "shipped"]
    assert list(rows["method"]) == ["clairvoyant-bound"] * 2 + ["sts"] * 2 + ["edf"] * 2
    assert list(rows[rows["method"] == "sts"]["objective"]) == pytest.approx([123.0, 123.0])
    assert rows["objective"].isna().sum() == 2  # the bound has none
    assert rows["options"].iloc[0]["sharing"] == "on"
    assert frame["details"].map(type).eq(dict).all()
    with pytest.raises(InputError, match="no such file"):
        optsched.read_store(store.with_name("none.sqlite"))


@pytest.mark.full
def test_a_bound_holds_for_its_own_seed_only(swept: Swept) -> None:
    text = ROLLING_PLAN.partition('[[families]]\nname = "made"')[2]
    head = '[limits]\niterations = 5\n[[families]]\nname = "made"'
    (table,) = gap_table(swept(f"{head}{text}seeds = 3\n"))
    first = [run for run in table.runs if run.instance == table.runs[0].instance]
    bounds = {run.seed: run.bound for run in first}
    own = {run.seed: run.bound for run in first if run.method == "clairvoyant-bound"}
    assert bounds == own
    assert len(set(bounds.values())) == 3  # other epochs, another bound


def test_online_policies_beside_a_flow_bound(swept: Swept) -> None:
    store = swept(ONLINE_PLAN)
    (table,) = gap_table(store)
    assert [line.bounds for line in table.lines] == [2, 0, 0, 0, 0]
    for run in table.runs:
        if run.method != "flow-bound":
            assert run.feasible
            assert run.excess is not None
    values = {(r.instance, r.method): r.objective for r in table.runs}
    for instance in {r.instance for r in table.runs}:  # it knows the lengths already
        assert values[instance, "a-srpt"] == values[instance, "a-srpt-perfect"]
    first = content(store)
    store.unlink()
    assert content(swept(ONLINE_PLAN)) == first
