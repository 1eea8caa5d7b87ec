"""The search for prices, against linear programmes and tables written out in full."""

from dataclasses import replace

import pytest
from oracles.selection_cases import tiny

import optsched
from optsched.backends.arrays import GrowingLp
from optsched.generators.selection import SelectionSettings, generate_selection
from optsched.result import Settings
from optsched.selection.assignment import expected_cost
from optsched.selection.bounds import dual_search
from optsched.selection.bounds.dual_search import maximise_bound
from optsched.selection.cost import Tables, tables_of
from optsched.selection.exact import columns, grouping
from optsched.selection.heuristics.sts import sts_assignment
from optsched.selection.models.arcs import arc_flow_of
from optsched.selection.options import SelectionOptions


def distinct(seed: int, nodes: int = 12, jobs: int = 30) -> Tables:
    settings = SelectionSettings(nodes=nodes, jobs=jobs, gpus_per_node=3, cost_classes=0)
    return tables_of(generate_selection(settings, seed=seed), SelectionOptions())


@pytest.mark.parametrize("opening", ["free", "printed"])
@pytest.mark.parametrize("bundles", [3, pytest.param(400, marks=pytest.mark.full)])
def test_prices_reach_the_optimum(
    opening: str, bundles: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over all leaders at once the programme has the same value, however jobs are bundled."""
    monkeypatch.setattr(dual_search, "MAX_SINGLE_JOBS", bundles)
    monkeypatch.setattr(dual_search, "MIN_GROUPS", bundles)
    for seed in range(2):
        tables = distinct(seed)
        tables = replace(tables, options=SelectionOptions(node_opening=opening))
        flow = arc_flow_of(tables)
        whole = GrowingLp(flow.relaxation(flow.all_leaders()), Settings()).solve()
        found = maximise_bound(flow, Settings(), 1e-8)
        optimum = whole.objective * tables.money_unit
        assert found.bound == pytest.approx(optimum, rel=1.2e-7)


def test_contents_move_in_blocks_to_cheaper_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(4):
        tables = distinct(seed, 40, 60)
        seats = sts_assignment(tables)
        given, best = expected_cost(tables, seats), grouping.reassigned(tables, seats)
        monkeypatch.setattr(grouping, "MAX_ASSIGNED", 5)
        moved = grouping.reassigned(tables, seats)
        monkeypatch.undo()
        assert expected_cost(tables, best) <= expected_cost(tables, moved) * (1 + 1e-12)
        assert expected_cost(tables, moved) < given
        opened, before = ({seat.node for seat in each.values()} for each in (moved, seats))
        assert len(opened) == len(before)


@pytest.mark.parametrize("spare", [0, 20])
def test_few_followers_prove_what_all_do(spare: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Followers left out, and jobs that may not wait, come back while they could matter."""
    monkeypatch.setattr(columns, "FOLLOWER_LIMIT", 0)
    monkeypatch.setattr(columns, "SPARE_FOLLOWERS", spare)
    monkeypatch.setattr(columns, "LEADERS_PER_CLASS", 2)
    for seed in range(6):
        best = optsched.solve(tiny(seed), "patterns")
        result = optsched.solve(tiny(seed), "columns")
        assert result.proved
        assert result.objective == pytest.approx(best.objective, rel=1e-6)


@pytest.mark.full
def test_grouped_columns_keep_a_valid_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = SelectionSettings(nodes=12, jobs=24, gpus_per_node=2, cost_classes=0)
    instance = generate_selection(settings, seed=5)
    exact = optsched.solve(instance, "columns", gap=1e-4)
    monkeypatch.setattr(grouping, "MAX_CLASSES", 1)
    monkeypatch.setattr(grouping, "GROUPS", 3)
    grouped = optsched.solve(instance, "columns", gap=1e-4)
    assert grouped.check.feasible
    assert grouped.bound <= exact.objective * (1 + 1e-9)
    assert grouped.objective >= exact.bound * (1 - 1e-9)
    assert grouped.gap < 0.01
