"""Instance files: round trips, and one line for whatever cannot be used."""

import numpy as np
import pytest
from oracles.harness import LEFT_OUT, spoil
from oracles.selection_cases import tiny
from small_instances import best_known

import optsched
from optsched.errors import InputError
from optsched.library import shipped_names
from optsched.selection.instance import SelectionInstance
from optsched.uncertainty.distribution import Distribution

NAMES = shipped_names()
SELECTION = [name for name in NAMES if name.startswith("selection/")]
PROFILES = [name for name in NAMES if name.startswith("speed-profile/")]


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("jobs.0.epochs.probabilities", [0.5], "probabilities"),
        ("jobs.0.completed_epochs", 1000, "at least every value of epochs"),
        ("jobs.0.memory_bytes", 1e6, "fits on no node"),
        ("jobs.0.epoch_time", {}, "fits on no node"),
        ("jobs.0.epoch_time.Z", [1.0], "gpu_types"),
        ("nodes.0.cost_rate", [1.0] * 9, "cost_rate"),
        ("nodes.0.gpus", 10**9, "gpus"),
        ("nodes.0.gpu_type", "Z", "gpu_type"),
        ("gpu_types.A.slowdown", {"0.5": 1.0, "0.50": 1.1}, "same fraction"),
        ("gpu_types.A.slowdown", {"1.5": 1.0}, "decimal string"),
        ("gpu_types.A.slowdown", {"0.5": 0.9}, "slowdown"),
        ("interval", float("nan"), "interval"),
        ("now", LEFT_OUT, "now"),
        ("extra", 1, "extra"),
    ],
)
def test_bad_input_is_one_line(path: str, value: object, says: str) -> None:
    document = tiny(3).to_dict()
    spoil(np.random.default_rng(0), document, [(path, value)])
    with pytest.raises(InputError) as refused:
        SelectionInstance.from_dict(document)
    assert "\n" not in str(refused.value)
    assert says in str(refused.value)


def test_falling_cost_rate_is_refused_by_name() -> None:
    document = tiny(3).to_dict()
    node = next(n for n in document["nodes"] if n["gpus"] > 1)
    node["cost_rate"] = [float(rate) for rate in range(node["gpus"], 0, -1)]
    with pytest.raises(InputError, match=node["name"]):
        SelectionInstance.from_dict(document)


@pytest.mark.parametrize("deep", [False, True])
def test_a_copy_with_other_nodes_has_their_largest(deep: bool) -> None:
    made = tiny(3)
    before = dict(made.largest)
    kept = tuple(node for node in made.nodes if node.gpu_type == made.nodes[0].gpu_type)
    fewer = made.model_copy(update={"nodes": kept}, deep=deep)
    assert dict(fewer.largest) == {kept[0].gpu_type: before[kept[0].gpu_type]} != before
    assert made == SelectionInstance.from_dict(made.to_dict())  # one has computed it, one has not


def test_distribution() -> None:
    work = Distribution.of([20, 60, 20, 100], [0.2, 0.5, 0.1, 0.2])
    assert work.values.tolist() == [20, 60, 100]
    left = work.remaining(20)
    assert left.values.tolist() == [40, 80]
    assert left.probabilities == pytest.approx([5 / 7, 2 / 7])
    assert work.remaining(100) is None
    assert left.tardiness(np.array([1.0, np.inf]), 50.0)[0] == pytest.approx(30 * 2 / 7)
    assert Distribution.from_samples([3, 3, 1]).probabilities == pytest.approx([1 / 3, 2 / 3])


@pytest.mark.parametrize("name", PROFILES)
def test_best_known_profiles(name: str) -> None:
    entry, objective = best_known(name), optsched.solve(name).objective
    assert objective == (None if entry["objective"] is None else pytest.approx(entry["objective"]))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=() if n.endswith(("3x6", "5x10", "light")) else pytest.mark.full)
        for n in SELECTION
        if "100x400" not in n and "40x160" not in n
    ],
)
def test_best_known_selections(name: str) -> None:
    entry, result = best_known(name), optsched.solve(name, "columns")
    assert result.check.feasible
    assert result.objective == pytest.approx(entry["objective"], rel=1e-6)
    assert result.bound <= entry["objective"] * (1 + 1e-9)
