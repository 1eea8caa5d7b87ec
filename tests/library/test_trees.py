"""Certificates by branching: they reach values that prices alone do not, and never pass them."""

from typing import Any

import numpy as np
import pytest
from scripts import script

from optsched.deadline import Deadline
from optsched.library.best_records import BestRecords, best_records, certificate_in
from optsched.library.sets import all_entries, entry_of, load_entry
from optsched.library.verify import RefusedError, verify

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
