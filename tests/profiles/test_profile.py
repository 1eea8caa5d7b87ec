"""The layer graph: what its cuts carry, its prefix sums, and what it refuses."""

import math
import random
from itertools import combinations

import numpy as np
import pytest

from optsched.errors import InputError
from optsched.profiles.profile import Layer, LayerProfile


def layer(output: float, forward: float = 1.0, backward: float = 2.0, held: float = 3.0) -> Layer:
    return Layer("layer", forward, backward, output, held)


def profile(outputs: list[float], edges: list[tuple[int, int]]) -> LayerProfile:
    return LayerProfile("net", tuple(layer(o) for o in outputs), tuple(edges), {})


@pytest.mark.parametrize(
    ("outputs", "edges", "crossing"),
    [
        ([10, 20, 40, 80], [(0, 1), (1, 2), (2, 3)], [10, 20, 40]),
        # Layer 0 feeds 1, 2 and 3, and crosses each cut once.
        ([10, 20, 40, 80], [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3)], [10, 30, 50]),
        ([10, 20, 40], [(0, 2), (0, 1)], [10, 10]),
        ([10, 20], [(0, 1), (0, 1)], [10]),
        ([10, 20, 40], [(1, 2)], [0, 20]),  # nobody reads the first output
        ([10], [], []),
    ],
)
def test_cut_bytes(outputs: list[float], edges: list[tuple], crossing: list[float]) -> None:
    assert profile(outputs, edges).cut_bytes().tolist() == crossing


def test_cut_bytes_follow_their_definition_on_random_graphs() -> None:
    rng = random.Random(5)
    for _ in range(100):
        n = rng.randint(2, 9)
        outputs = [rng.uniform(0, 100) for _ in range(n)]
        edges = [pair for pair in combinations(range(n), 2) if rng.random() < 0.4]
        crossing = [{u for u, v in edges if u <= i < v} for i in range(n - 1)]
        expected = [sum(outputs[u] for u in sources) for sources in crossing]
        np.testing.assert_allclose(profile(outputs, edges).cut_bytes(), expected, rtol=1e-12)


def test_prefix_sums() -> None:
    net = LayerProfile("net", (Layer("a", 1, 10, 0, 100), Layer("b", 2, 20, 0, 200)), ())
    assert net.prefix_sum("forward_time").tolist() == [0, 1, 3]
    assert net.prefix_sum("parameter_bytes").tolist() == [0, 100, 300]


@pytest.mark.parametrize("edge", [(0, 0), (1, 0), (0, 2), (-1, 1)])
def test_refuses_an_edge_out_of_range_or_not_forward(edge: tuple[int, int]) -> None:
    with pytest.raises(InputError, match=r"profile net: edge 1: found \(.*\), expected positions"):
        profile([1, 2], [(0, 1), edge])


@pytest.mark.parametrize("number", [-1.0, math.nan, math.inf, 10**400, "3", None])
@pytest.mark.parametrize("field", ["forward", "backward", "held"])
def test_refuses_a_number_that_is_negative_or_not_finite(field: str, number: float) -> None:
    bad = layer(1.0, **{field: number})
    with pytest.raises(InputError, match=r"layer 1, .*expected a finite number of at least 0"):
        LayerProfile("net", (layer(1.0), bad), (), {})


def test_refuses_sums_that_overflow_and_no_layers() -> None:
    with pytest.raises(InputError, match="at least one layer"):
        profile([], [])
    with pytest.raises(InputError, match="output_bytes: found an infinite sum"):
        profile([1.7e308, 1.7e308], [(0, 1)])
