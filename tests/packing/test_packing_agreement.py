"""Exact methods against brute force; heuristics and bounds on their sides of the optimum."""

import numpy as np
import pytest
from oracles.packing import FAMILIES, draw, fragmentation, least_idle
from sampling import first

import optsched
from optsched.library.verify import verify
from optsched.packing.bounds.columns import allocated_at_most, quick_bound
from optsched.packing.heuristics.policies import (
    POLICIES,
    initial_state,
    place_arrivals,
    placements_of,
    typical_tasks,
)
from optsched.packing.heuristics.policies import fragmentation as ours
from optsched.packing.instance import PackingInstance
from optsched.packing.options import PackingOptions
from optsched.packing.tables import Tables

HEURISTICS = (*POLICIES, "offline")
SEED = 7


@pytest.mark.parametrize("number", first(36, range(400)))
def test_exact_is_brute_force_and_bounds_hold(number: int) -> None:
    document = draw(SEED, number)
    optimum = least_idle(document)
    instance = PackingInstance.from_dict(document)
    for method in ("milp", "exact"):
        result = optsched.solve(instance, method, iterations=20)
        assert result.check.feasible
        assert result.termination == "optimal"
        assert result.objective == pytest.approx(optimum, abs=1e-9)
    bound, _, prices = quick_bound(instance, PackingOptions())
    assert bound <= optimum + 1e-9
    assert verify(document, prices.to_dict()) == pytest.approx(bound, abs=1e-6)
    for method in HEURISTICS:
        result = optsched.solve(instance, method, iterations=5)
        assert result.check.feasible
        assert result.objective >= optimum - 1e-9


@pytest.mark.parametrize("method", ["milp", "exact"])
def test_a_solvers_packing_with_a_byte_too_much_is_not_taken(method: str) -> None:
    """Two tasks of half the memory and a byte: beyond 2^31 bytes HiGHS places both."""
    half = 34359738369
    tasks = [
        task("t0", 2000, 2, 200) | {"memory_bytes": half},
        task("t1", 501, 2, 2499) | {"memory_bytes": 2 * half - 2},
    ]
    nodes = [node("n0", 4, 10000) | {"memory_bytes": 2 * half - 1}]
    given = instance(nodes, tasks, [0, 1, 0, 1])
    result = optsched.solve(given, method)
    assert (result.check.feasible, result.objective) == (True, 2.0)


def test_families_refuse_tasks_beside_idle_gpus() -> None:
    """In each family some optimum is no mere sum of demands or of GPUs."""
    families = set()
    for number in range(36):
        document = draw(SEED, number)
        gpus = sum(node["gpus"] for node in document["nodes"])
        asked = sum(task["count"] * task["gpu_milli"] for task in document["tasks"]) / 1000
        if least_idle(document) > max(gpus - asked, 0.0) + 1e-9:
            families.add(number % len(FAMILIES))
    assert families == set(range(len(FAMILIES)))


@pytest.mark.parametrize("number", range(6))
def test_fragmentation_is_the_papers(number: int) -> None:
    tables = Tables(PackingInstance.from_dict(draw(SEED, number)))
    state, mix = initial_state(tables), typical_tasks(tables)
    document, rng = tables.instance.to_dict(), np.random.default_rng(number)
    by_key: dict[tuple, float] = {}
    for task in document["tasks"]:
        key = task["cpu_milli"], task["gpu_milli"], tuple(task["models"])
        by_key[key] = by_key.get(key, 0) + task["count"]
    if len(mix.cpu) < len(by_key):  # a rare type is no typical one
        del by_key[min(by_key, key=lambda key: (by_key[key], key))]
    total = sum(by_key.values())
    pairs = [
        ({"cpu_milli": cpu, "gpu_milli": milli, "models": models}, count / total)
        for (cpu, milli, models), count in by_key.items()
    ]
    assert len(pairs) == len(mix.cpu)
    for n, node in enumerate(document["nodes"]):
        for _ in range(20):
            cpu = int(rng.integers(0, node["cpu_milli"] + 1))
            free = rng.choice([0, 100, 460, 540, 1000], node["gpus"])
            wanted = fragmentation(node, cpu, free.tolist(), pairs)
            assert ours(cpu, free, state.class_of[n], mix) == pytest.approx(wanted)


@pytest.mark.parametrize("policy", POLICIES)
def test_compiled_and_python_place_alike(policy: str) -> None:
    instance = optsched.generate("packing", nodes=5, seed=1, one_model=0.2)
    tables = Tables(instance)
    order = np.random.default_rng(0).permutation(len(instance.nodes))
    tasks = tables.arrivals, tables.demand, tables.fits
    runs = []
    for run in (place_arrivals, place_arrivals.py_func):
        generator = np.random.default_rng(3)
        state, mix = initial_state(tables), typical_tasks(tables)
        runs.append(run(POLICIES.index(policy), tasks, state, mix, (order, generator)))
    for compiled, python in zip(*runs, strict=True):
        np.testing.assert_array_equal(compiled, python)
    again = placements_of(policy, tables, 0), placements_of(policy, tables, 0)
    np.testing.assert_array_equal(again[0][0], again[1][0])


def node(name: str, gpus: int = 2, cpu: int = 8000, model: str = "T4") -> dict:
    return {"name": name, "cpu_milli": cpu, "memory_bytes": 9, "gpus": gpus, "model": model}


def task(name: str, milli: int, count: int = 1, cpu: int = 1000, models: tuple = ()) -> dict:
    return {
        "name": name,
        "count": count,
        "cpu_milli": cpu,
        "memory_bytes": 1,
        "gpu_milli": milli,
        "models": list(models),
    }


def instance(nodes: list[dict], tasks: list[dict], arrivals: list[int]) -> PackingInstance:
    return PackingInstance(name="by hand", nodes=nodes, tasks=tasks, arrivals=arrivals)


BY_HAND = [
    # 0.6, then 0.5, then 0.4: the fullest GPU that can take it
    ("best-fit", [node("a")], [600, 500, 400], [(0, (0,)), (0, (1,)), (0, (0,))]),
    # a GPU in use before a free one of a node in use before a free node
    ("gpu-packing", [node("a"), node("b")], [500, 500, 1000], [(0, (0,)), (0, (0,)), (0, (1,))]),
    # a share goes to a node of shares, whole GPUs to an empty node
    ("gpu-clustering", [node("a"), node("b")], [500, 1000, 500], [(0, (0,)), (1, (0,)), (0, (0,))]),
    # the node with more free CPU and GPUs has the larger product
    ("dot-product", [node("a", 2), node("b", 4, 16000)], [1000], [(0, (0,))]),
    # 0.5 and 0.5 on one GPU leave room for whole GPUs, half the mix
    ("fgd", [node("a"), node("b")], [500, 500, 2000], [(0, (0,)), (0, (0,)), (1, (0, 1))]),
]


@pytest.mark.parametrize(("policy", "nodes", "asked", "wanted"), BY_HAND)
def test_policies_by_hand(policy: str, nodes: list, asked: list, wanted: list) -> None:
    """Nodes are compared by the order of their first use, since ties go by a drawn order."""
    kinds = sorted(set(asked))
    tasks = [task(f"t{milli}", milli, asked.count(milli)) for milli in kinds]
    given = instance(nodes, tasks, [kinds.index(milli) for milli in asked])
    placed = optsched.solve(given, policy).solution.placements
    names: dict[int, int] = {}
    if len({n["gpus"] for n in nodes}) > 1:
        names = {n: n for n in range(len(nodes))}
    found = [(names.setdefault(p.node, len(names)), p.gpus) for p in placed]
    assert found == wanted


def test_the_bound_of_each_prefix_of_the_arrivals() -> None:
    given = instance([node("a")], [task("t", 700, 4)], [0, 0, 0, 0])
    bounds = allocated_at_most(Tables(given), [0.0, 0.7, 1.4, 2.1, 2.8])
    assert bounds == pytest.approx([0, 0.7, 1.4, 1.4, 1.4])


@pytest.mark.parametrize("number", first(4, range(40)))
def test_no_run_is_above_the_bound_of_a_prefix(number: int) -> None:
    given = optsched.generate("packing", nodes=8, seed=number, one_model=0.3)
    milli = np.array([given.tasks[t].gpu_milli for t in given.arrivals])
    requested = np.cumsum(milli) / 1000
    bounds = allocated_at_most(Tables(given), requested.tolist(), points=3)
    for policy in POLICIES:
        placed = np.zeros(len(milli), dtype=bool)
        solution = optsched.solve(given, policy).solution
        placed[[placement.task for placement in solution.placements]] = True
        assert (np.cumsum(np.where(placed, milli, 0)) / 1000 <= bounds + 1e-9).all()
