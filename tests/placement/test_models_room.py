"""models/placement stays in step with the code: symbols, files, optima and the worked example."""

import ast
import itertools
import json
import re
from pathlib import Path

import pytest
from models_room import NO_LABEL, TOP, labelled, optimum_in, stored
from oracles.placement import job_graph
from scripts import script

import optsched
from optsched.methods import export
from optsched.placement.explain import explain
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.placement.solution import PlacementSolution

ROOM, README, OPTIMUM = stored("placement")
BOTTLENECK = {"all_reduce_bandwidth": "bottleneck"}
LABEL = re.compile(r"\((?:\d[a-f]?|V\d+|C\d+)\)")
WHEN = {"always", "asynchronous", "micro-batches", "experts", "bottleneck", "double-tree", "pruned"}

Counts = tuple[tuple[int, ...], ...]
Row = tuple[str, str]


def tiny(all_reduce: str = "ring") -> PlacementInstance:
    document = json.loads((ROOM / "tiny.json").read_text(encoding="utf-8"))
    document["job"]["all_reduce"] = all_reduce
    return PlacementInstance.from_dict(document)


def parallel(all_reduce: str = "ring") -> PlacementInstance:
    """The worked example with slices, experts and micro-batches."""
    document = tiny(all_reduce).to_dict()
    document["free_gpus"] = [4, 4, 1]
    document["job"]["micro_batches"] = 4
    document["job"]["stages"][1] |= {
        "tensor_parallel": 2, "tensor_bytes": 1e7, "expert_bytes": 2e7
    }  # fmt: skip
    return PlacementInstance.from_dict(document)


def table(heading: str, columns: int) -> list[list[str]]:
    lines = iter(README.split(heading + "\n", 1)[1].splitlines())
    rows = itertools.takewhile(
        lambda line: line.startswith("|"), itertools.dropwhile(lambda x: x[:1] != "|", lines)
    )
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert all(len(row) == columns for row in cells)
    return cells[2:]


def documented(method: str, present: set[str]) -> dict[str, Row]:
    """Component -> kind and equation, of the rows that hold in these cases."""
    rows = table(f"### Symbols: `{method}`", 6)
    names = [row[1].strip("`") for row in rows]
    assert len(names) == len(set(names))
    assert {row[4].strip("`") for row in rows} <= WHEN
    return {
        name: (row[2], row[3])
        for name, row in zip(names, rows, strict=True)
        if row[4].strip("`") in {"always"} | present
    }


@pytest.mark.parametrize("pruned", [{"pruned"}, set()])
@pytest.mark.parametrize("reading", ["own", "bottleneck"])
@pytest.mark.parametrize("all_reduce", ["ring", "double-tree"])
@pytest.mark.parametrize("method", OPTIMUM)
def test_symbol_tables(method: str, all_reduce: str, reading: str, pruned: set[str]) -> None:
    options = {"all_reduce_bandwidth": reading}
    model = optsched.build_model(tiny(all_reduce), method, options, pruned=bool(pruned))
    present = {all_reduce, reading, "asynchronous", *pruned}
    assert labelled(model, LABEL) == documented(method, present)
    model = optsched.build_model(parallel(all_reduce), method, options, pruned=bool(pruned))
    # under one reading of the all-reduce
    present = {all_reduce, "micro-batches", "experts", *pruned}
    assert labelled(model, LABEL) == documented(method, present)


@pytest.mark.parametrize("method", OPTIMUM)
def test_every_label_stands_beside_a_formula(method: str) -> None:
    rows = documented(method, WHEN).values()
    labels = [label for _, label in rows if label != NO_LABEL]
    assert len(labels) == len(set(labels))
    assert all(kind != "Constraint" or label != NO_LABEL for kind, label in rows)
    for label in labels:
        assert README.count(rf"\text{{{label}}}") == 1


@pytest.mark.parametrize("file_format", ["lp", "mps", "nl"])
@pytest.mark.parametrize("method", ["ilp", "ilp-vertex"])
def test_all_extensions_can_be_exported(method: str, file_format: str, tmp_path: Path) -> None:
    """And what any solver finds in the file, in the model's unit, is the method's optimum."""
    path = tmp_path / f"model.{file_format}"
    export(parallel(), method, file_format, path)
    if file_format == "nl":
        assert path.read_text("utf-8").startswith("g3 ")
        return
    known = optsched.solve(parallel(), "repartition")  # with the combinatorial bound
    unit = known.objective if method == "ilp" else known.bound
    optimum = optsched.solve(parallel(), "exact", gap=0.0).objective
    assert optimum_in(path) == pytest.approx(optimum / unit)


@pytest.mark.parametrize("method", OPTIMUM)
def test_stored_optima_are_what_the_methods_find(method: str) -> None:
    stored = OPTIMUM[method]
    result = optsched.solve(tiny(), method)
    assert result.check.feasible
    assert result.objective == pytest.approx(stored["iteration_time"], rel=1e-9)
    objective = stored["objective_units"] * stored["unit"]
    found = result.details["cut_bytes"] if stored["unit_of"] == "bytes" else result.objective
    assert found == pytest.approx(objective, rel=1e-9)


def test_model_options_reach_the_model() -> None:
    module = script("placement_model", "models/placement")
    model = module.pyomo_create_model(model_options={"method": "ilp-vertex", **BOTTLENECK})
    stages, servers = tiny().shape
    assert len(model.reduces) == stages * servers * servers
    assert module.pyomo_create_model().name == "placement"
    shipped = module.pyomo_create_model(model_options={"instance": "placement/fig2"})
    assert len(shipped.STAGES) == 3


@pytest.mark.parametrize("path", sorted((TOP / "models").rglob("*.py")), ids=lambda p: p.name)
def test_no_formulation_code_in_the_room(path: Path) -> None:
    """Pyomo is named for its model type alone, and nothing of it is called."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert "pyomo" not in str(node.module)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "pyo":
            assert node.attr == "ConcreteModel"
        if isinstance(node, ast.Call):
            assert not ast.unparse(node.func).startswith(("pyo.", "pyomo."))


def numbers(cell: str) -> tuple[float | None, ...]:
    return tuple(None if part.strip() == "–" else float(part) for part in cell.split(","))


def worked() -> dict[str, tuple[Counts, list[str]]]:
    """The worked example's placements, by name: counts, and the other cells."""
    return {
        row[0]: (tuple(tuple(map(int, cell.split(","))) for cell in row[1:3]), row[3:])
        for row in table("Times are in ms, in the order of the servers:", 7)
    }


def canonical(counts: Counts) -> Counts:
    """The counts with servers 1 and 2, which are equal, in the order of the README."""
    swapped = tuple((row[1], row[0], *row[2:]) for row in counts)
    return max(counts, swapped)


def stated(pattern: str) -> tuple[str, ...]:
    found = re.findall(pattern, README)
    assert len(found) == 1, pattern
    return found[0] if isinstance(found[0], tuple) else (found[0],)


def solution(counts: Counts) -> PlacementSolution:
    return PlacementSolution.of("tiny", counts)


def least_cut(instance: PlacementInstance, counts: Counts) -> float:
    """Fewest bytes cut by any assignment of replicas with these counts, by trying them all."""
    graph = job_graph(instance.to_dict())
    stages = [
        set(itertools.permutations([m for m, n in enumerate(row) for _ in range(n)]))
        for row in counts
    ]
    cuts = (
        sum(w for (s, a), (t, b), w in graph.edges(data="weight") if at[s][a] != at[t][b])
        for at in itertools.product(*stages)
    )
    return float(min(cuts))


def test_the_worked_example_lists_every_placement() -> None:
    instance = tiny()
    every = list(itertools.product(*(range(g + 1) for g in instance.free_gpus)))
    rows = [[row for row in every if sum(row) == s.replicas] for s in instance.job.stages]
    feasible = {
        canonical(counts)
        for counts in itertools.product(*rows)
        if all(map(int.__le__, map(sum, zip(*counts, strict=True)), instance.free_gpus))
    }
    assert feasible == {counts for counts, _ in worked().values()}


@pytest.mark.parametrize("name", ["I", "II", "III"])
def test_the_worked_times_and_cuts(name: str) -> None:
    instance = tiny()
    counts, cells = worked()[name]
    parts = explain(instance, solution(counts), PlacementOptions())
    times = {(row.stage, row.server): row.total for row in parts.rows}
    for s, cell in enumerate(cells[:2]):
        for m, time in enumerate(numbers(cell)):
            assert (time is None) == ((s, m) not in times)
            assert time is None or times[s, m] == pytest.approx(time / 1e3, rel=1e-12)
    report = optsched.check(instance, solution(counts))
    assert report.feasible
    assert report.objective == pytest.approx(float(cells[2]) / 1e3, rel=1e-12)
    assert least_cut(instance, counts) == pytest.approx(float(cells[3]) * 1e6, rel=1e-12)
    slower = optsched.check(instance, solution(counts), BOTTLENECK).objective
    same = stated(r"all three placements take ([\d.]+) ms")[0]
    assert slower == pytest.approx(float(same) / 1e3, rel=1e-12)


@pytest.mark.parametrize(
    ("method", "pattern"),
    [
        ("exact", r"The optimum is (\w+), ([\d.]+) ms"),
        ("ilp", r"The optimum is (\w+), ([\d.]+) ms"),
        ("heavy-edge", r"Heavy-Edge finds (\w+), ([\d.]+) ms"),
        ("min-cut", r"The minimum cut is (\w+) too"),
    ],
)
def test_the_methods_find_the_worked_placements(method: str, pattern: str) -> None:
    name, *time = stated(pattern)
    counts, cells = worked()[name]
    result = optsched.solve(tiny(), method)
    assert canonical(result.solution.counts) == counts
    assert result.objective == pytest.approx(float((time or cells[2:])[0]) / 1e3, rel=1e-9)


def test_heavy_edge_is_strictly_worse_here() -> None:
    best, greedy = (float(worked()[name][1][2]) for name in ("I", "II"))
    assert best == min(float(cells[2]) for _, cells in worked().values())
    more = float(stated(r"II, 132 ms\*\*, ([\d.]+) % more")[0])
    assert more == round(100 * (greedy / best - 1), 1)


def test_the_worked_bound_probe_and_relaxations() -> None:
    result = optsched.solve(tiny(), "heavy-edge")
    assert result.bound == pytest.approx(float(stated(r"The bound is ([\d.]+) ms")[0]) / 1e3)
    for method in ("ilp", "ilp-vertex"):
        time = OPTIMUM[method]["relaxation_units"] * OPTIMUM[method]["unit"] * 1e3
        said = stated(rf"relaxations:[^.]*?`{method}` ([\d.]+) ms")[0]
        assert float(said) == pytest.approx(time, abs=0.05)
