"""Certificates by branching: they reach values that prices alone do not, and never pass them."""

from typing import Any

import numpy as np
import pytest
from scripts import script

import optsched
from optsched.deadline import Deadline
from optsched.library.best_records import BestRecords, best_records, certificate_in
from optsched.library.sets import all_entries, entry_of, load_entry
from optsched.library.verify import RefusedError, verify
from optsched.selection.cost import tables_of
from optsched.selection.options import SelectionOptions

Document = dict[str, Any]
trees = script("selection_trees")
SELECTION = "selection/interval-1/003"
"""Its tree has 51 nodes; the prices of the root prove 96% of the value."""


def trees_of(entries: list[Any]) -> list[tuple[BestRecords, Document, Document]]:
    """Of instances with a tree the standing, the instance and the tree."""
    pairs = [(known, dict(certificate_in(known.certified))) for known in best_records(entries)]
    return [(k, load_entry(k.entry).to_dict(), c) for k, c in pairs if c["kind"] == "branches"]


def test_a_tree_reaches_the_value() -> None:
    for name in (SELECTION, "selection/interval-1/012"):
        ((known, document, certificate),) = trees_of([entry_of(name)])
        value = known.value.value
        prices = {key: certificate[key] for key in ("jobs", "slots")}
        assert verify(document, {**prices, "kind": "prices"}) < value * (1 - 1e-4)
        assert value * (1 - 1e-8) <= verify(document, certificate) <= value
    instance, below = load_entry(known.entry), value * (1 - 1e-9)
    searched = trees.selection_tree(instance, prices, below, Deadline(20.0))
    assert verify(document, searched) == pytest.approx(value, rel=1e-8)


def test_no_selection_below_its_value_is_ever_proved() -> None:
    """Where the target is above the value, every leaf with the solution in it stops short of it."""
    every = trees_of([entry for entry in all_entries() if entry.problem == "selection"][::7])
    assert len(every) > 5
    for known, document, certificate in every:
        for above in (1.0005, 1.05):
            higher = {**certificate, "target": above * known.value.value}
            assert verify(document, higher) <= known.value.value * (1 + 1e-9)


def test_no_placement_within_its_value_is_ever_ruled_out() -> None:
    rng = np.random.default_rng(12)
    every = trees_of([entry for entry in all_entries() if entry.problem == "placement"])
    assert {"micro_batches" in document["job"] for _, document, _ in every} == {True, False}
    for known, document, certificate in every:
        certificate["threshold"] = known.value.value
        for _ in range(3):
            with pytest.raises(RefusedError):
                verify(document, certificate)
            for node in certificate["nodes"]:
                if "count" in node:
                    node["most"] += int(rng.integers(2)) if "least" in node["count"] else 0
                else:
                    for key in ("prices", "rows"):
                        dearer = int(rng.choice([1, 30])) if key == "rows" else 1
                        node[key] = [int(dearer * p * rng.lognormal(0.0, 0.5)) for p in node[key]]


def test_random_trees_prove_no_more_than_is_attained() -> None:
    instance: Any = optsched.load("selection/3x6")
    result = optsched.solve(instance, "columns")
    document = instance.to_dict()
    duals = result.solution.certificate.model_dump(mode="json")
    prices = {key: duals[key] for key in ("jobs", "slots")}
    above = 1.01 * result.objective
    assert trees.selection_tree(instance, prices, above, Deadline(20.0)) is None
    rng = np.random.default_rng(11)
    reached = 0
    for _ in range(30):
        weak = {**prices, "jobs": near(rng, 0.4, prices["jobs"])}
        nodes = drawn(rng, prices, result.solution)
        bound = verify(document, {"kind": "branches", **weak, "target": above, "nodes": nodes})
        assert bound <= result.objective * (1 + 1e-9)
        reached += bound > 1.01 * verify(document, {**weak, "kind": "prices"})
    assert reached > 8  # they do prove something


def near(rng: np.random.Generator, spread: float, values: list[float]) -> list[float]:
    return [float(price * rng.lognormal(-spread / 2, spread)) for price in values]


def drawn(rng: np.random.Generator, prices: Document, solution: Any) -> list[Document]:
    """A tree of random rows, with counts about those of a solution, and prices about the root's."""

    def grow(depth: int) -> None:
        if depth == 2 or rng.random() < 0.2:
            spread = float(rng.choice([0.0, 0.1]))
            slots = {name: near(rng, spread, values) for name, values in prices["slots"].items()}
            rows = [float(rng.lognormal(0.0, 2.0)) for _ in range(depth)]
            nodes.append({"jobs": near(rng, spread, prices["jobs"]), "slots": slots, "rows": rows})
            return
        at = len(nodes)
        count, met = counted(rng, solution)
        most = max(met - int(rng.integers(2)), 0)
        nodes.append({"count": count, "most": most, "children": [at + 1, 0]})
        grow(depth + 1)
        nodes[at]["children"][1] = len(nodes)
        grow(depth + 1)

    nodes: list[Document] = []
    grow(0)
    return nodes


def counted(rng: np.random.Generator, solution: Any) -> tuple[Document, int]:
    """A row, and how often a solution meets it."""
    keys = trees.ROLES[int(rng.integers(len(trees.ROLES)))]
    roles = roles_in(optsched.load("selection/3x6"), solution)
    chosen = roles[int(rng.integers(len(roles)))]
    wanted = {key: chosen[key] for key in keys if key in chosen}
    return wanted, sum(all(role.get(k) == v for k, v in wanted.items()) for role in roles)


def roles_in(instance: Any, solution: Any) -> list[Document]:
    """What each job that runs does, as certificates say it."""
    tables = tables_of(instance, SelectionOptions())
    nodes = [(node.gpu_type, node.cost_rate) for node in instance.nodes]
    names = [node.name for node in instance.nodes]
    found: list[Document] = []
    for j, job in enumerate(solution.jobs):
        if job.node is None:
            continue
        n = names.index(job.node)
        kind = tables.kinds[tables.kind_of[n]]
        c = len(job.gpus) - 1
        if job.fraction < 1:
            off = {c: abs(kind.configurations[c].fraction - job.fraction) for c in kind.fractions}
            c = min(off, key=off.__getitem__)
        seconds = float(tables.expected[j, tables.kind_of[n], c])
        found.append({"job": j, "type": kind.name, "configuration": c, "n": n, "seconds": seconds})
    for role in found:
        here = [other for other in found if other["n"] == role["n"]]
        leads = role is min(here, key=lambda other: other["seconds"])
        role["role"] = "leads" if leads else "follows"
        if leads:
            gpus = {g for job in solution.jobs if job.node == names[role["n"]] for g in job.gpus}
            role["used"], role["node"] = len(gpus), nodes.index(nodes[role["n"]])
    return found


def test_what_is_no_tree_is_refused() -> None:
    ((_, document, tree),) = trees_of([entry_of(SELECTION)])
    nodes = tree["nodes"]
    at = next(i for i, node in enumerate(nodes) if "count" in node)
    changes: list[dict[str, Any]] = [
        *({"children": wrong} for wrong in ([at, at], [at + 1, 10**9], [at + 1])),
        *({"most": 0.5}, {"count": {"colour": "red"}}, {"count": 7}),
    ]
    changed = [[*nodes[:at], nodes[at] | change, *nodes[at + 1 :]] for change in changes]
    for wrong in (*changed, [], nodes[:-1], nodes * 2):
        with pytest.raises(RefusedError):
            verify(document, {**tree, "nodes": wrong})
