"""A limit is kept with the best that is known; a model too large is refused before it is stated."""

from collections.abc import Callable

import numpy as np
import pytest
from oracles.selection_cases import tiny
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

import optsched
from optsched import deadline
from optsched.backends.solver_result import SolverResult
from optsched.deadline import Deadline, OutOfTimeError
from optsched.errors import NotApplicableError
from optsched.generators.selection import SelectionSettings, generate_selection
from optsched.result import Settings, Termination
from optsched.selection.assignment import solution_of
from optsched.selection.bounds import dual_search as bounds
from optsched.selection.cost import TARDINESS, tables_of
from optsched.selection.exact import columns
from optsched.selection.exact.incumbents import opening_assignment
from optsched.selection.models import patterns
from optsched.selection.models.formulation import formulation_data
from optsched.selection.models.milp import build as build_milp
from optsched.selection.models.minlp import build as build_minlp
from optsched.selection.models.patterns import build as build_patterns
from optsched.selection.models.patterns import exact, nonzeros, pattern_data
from optsched.selection.options import SelectionOptions

METHODS = ("exact", "patterns", "columns", "milp", "minlp")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("name", "opening"), [("5x10", "free"), ("5x10", "printed"), ("12x6-light", "printed")]
)
def test_an_incumbent_at_any_limit(name: str, opening: str, method: str) -> None:
    """At no time at all the answer is at least as good as the heuristics', with a bound.

    As (16) is printed no heuristic knows of it: any selection with nodes enough stands.
    """
    instance = optsched.load(f"selection/{name}")
    result = optsched.solve(instance, method, options={"node_opening": opening}, time_limit=0.0)
    assert result.termination is Termination.TIME_LIMIT
    assert result.check.feasible
    assert 0 <= result.bound <= result.objective
    if opening == "free":
        best = min(optsched.solve(instance, name).objective for name in ("sts", "avg-dp"))
        assert result.objective <= best * (1 + 1e-12)


@pytest.mark.parametrize(
    "name", [pytest.param("100x400", marks=pytest.mark.full), "100x400-distinct"]
)
def test_exact_has_an_incumbent_where_no_model_fits(name: str) -> None:
    instance = optsched.load(f"selection/{name}")
    passed = Settings(time_limit=1.0).within(Deadline(1.0, began=Deadline().began - 1.0))
    outcome = exact(instance, SelectionOptions(), passed)
    assert outcome.termination is Termination.TIME_LIMIT
    assert outcome.claimed is not None
    assert optsched.check(instance, outcome.solution).feasible


@pytest.mark.parametrize("method", ["milp", "minlp"])
def test_a_model_too_large_is_refused_by_its_size(method: str) -> None:
    with pytest.raises(NotApplicableError, match=r"about \d+ nonzeros, expected at most 3000000"):
        optsched.solve("selection/100x400-distinct", method)


@pytest.mark.parametrize("gpus", [8, 16])
def test_patterns_of_large_nodes_are_left_out(gpus: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before any is made; patterns of small nodes are not."""
    given = SelectionSettings(nodes=6, jobs=12, gpus_per_node=gpus)
    monkeypatch.setattr(patterns, "pattern_data", lambda _: pytest.fail("patterns are made"))
    result = optsched.solve(generate_selection(given, seed=0), "patterns")
    assert (result.chosen, result.proved) == ("columns", True)
    monkeypatch.undo()
    assert optsched.solve("selection/3x6", "patterns").chosen is None


@pytest.mark.parametrize(
    "name",
    [
        "3x6",
        "5x10",
        *(pytest.param(name, marks=pytest.mark.full) for name in ("10x20", "12x6-light")),
    ],
)
def test_sizes_are_estimated_from_above_but_not_wildly(name: str) -> None:
    """What the guards count without building, beside what is built."""
    import pyomo.environ as pyo
    from pyomo.repn import generate_standard_repn

    tables = tables_of(optsched.load(f"selection/{name}"), SelectionOptions())
    data = formulation_data(tables, "milp")
    for estimate, model in (
        (data.nonzeros, build_milp(data)),
        (nonzeros(tables), build_patterns(pattern_data(tables))),
    ):
        rows = model.component_data_objects(pyo.Constraint)
        built = sum(len(generate_standard_repn(row.body).linear_vars) for row in rows)
        assert built <= 1.3 * estimate
        assert estimate <= 3 * built


def test_openings_against_matchings() -> None:
    """One job a node, of the nodes each can use a GPU of: as many as any matching has, or none."""
    found = 0
    for seed in range(60):
        instance = tiny(seed)
        tables = tables_of(instance, SelectionOptions(node_opening="printed"))
        usable = np.isfinite(tables.tardiness_cost[:, :, 0])[:, tables.kind_of]
        matched = maximum_bipartite_matching(csr_array(usable), perm_type="column")
        possible = int((matched >= 0).sum()) >= tables.max_open_nodes
        seats = opening_assignment(tables)
        assert (seats is not None) == possible
        if seats is not None:
            found += 1
            nodes = {seat.node for seat in seats.values()}
            assert len(nodes) == len(seats) == tables.max_open_nodes
            solution = solution_of(tables, seats)
            assert optsched.check(instance, solution, {"node_opening": "printed"}).feasible
    assert found > 0


def test_a_bound_once_the_deadline_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(bounds, "maximise_bound", lambda *given: asked.append(given))
    result = optsched.solve("selection/5x10", "edf", time_limit=0.0)
    assert result.bound_source == TARDINESS
    assert result.bound <= result.objective
    assert asked == []


@pytest.mark.parametrize("opening", ["free", pytest.param("printed", marks=pytest.mark.full)])
def test_a_limit_in_the_midst_of_the_model_leaves_what_prices_soon_found(
    opening: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its programme never answers: the selection is within 2% of the bound of one that did."""

    def ended(answer: SolverResult | None) -> Callable:
        return lambda *_, **__: deadline.expire_all(True) or answer

    options = {"node_opening": opening}
    best = optsched.solve("selection/24x96-six-classes", "columns", options=options)
    monkeypatch.setattr(columns._Search, "_solve_over", ended(None))
    try:
        result = optsched.solve(
            "selection/24x96-six-classes", "columns", options=options, time_limit=600.0
        )
    finally:
        deadline.expire_all(False)
    assert result.termination is Termination.TIME_LIMIT
    assert result.check.feasible
    assert best.bound <= result.objective <= 1.02 * best.bound
    assert 0.99 * best.bound <= result.bound <= best.bound * (1 + 1e-6)


def test_stating_a_model_stops_at_the_deadline() -> None:
    tables = tables_of(optsched.load("selection/5x10"), SelectionOptions())
    data = formulation_data(tables, "milp")
    for build, given in (
        (build_milp, data),
        (build_minlp, data),
        (build_patterns, pattern_data(tables)),
    ):
        with pytest.raises(OutOfTimeError):
            build(given, Deadline(0.0))
        assert list(build(given, Deadline()).component_objects()) != []
