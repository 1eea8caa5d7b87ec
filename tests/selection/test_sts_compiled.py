"""The compiled pass of STS against plain Python, and the tables it reads against each job's own."""

import random

import numpy as np
import pytest
from oracles.rolling_policies import algorithm_2, hand_out

from optsched.generators.selection import SelectionSettings, generate_selection
from optsched.selection.cost import Tables, tables_of
from optsched.selection.heuristics.sts import sts_assignment
from optsched.selection.options import SelectionOptions
from optsched.speed_profile.exact._hull_kernel import curve_of
from optsched.uncertainty.distribution import Distribution
from optsched.uncertainty.remaining_epochs import RemainingEpochs
from optsched.uncertainty.survival import discrete_curve


def drawn(seed: int) -> Tables:
    draw = random.Random(seed)
    nodes = draw.choice([1, 3, 8, 20])
    settings = SelectionSettings(
        nodes=nodes,
        jobs=draw.choice([1, 3, 5]) * nodes,
        gpus_per_node=draw.choice([1, 2, 4, 8]),
        cost_classes=draw.choice([0, 1, 2]),
        bin_width=draw.choice([1, 5]),
        sharing=seed % 2 == 0,
    )
    options = {name: draw.choice(["on", "off"]) for name in ("sharing", "strict", "postprocessing")}
    return tables_of(generate_selection(settings, seed=seed), SelectionOptions.from_dict(options))


@pytest.mark.parametrize("seed", range(30))
def test_an_interval_is_seated_as_plainly(seed: int) -> None:
    tables = drawn(seed)
    least = np.zeros((len(tables.kinds), tables.jobs), dtype=np.int64)
    plain, _, _ = algorithm_2(tables, least, 0.0, speeds_up=False)
    if tables.options.postprocessing == "on":
        plain = hand_out(tables, plain)
    assert sts_assignment(tables) == plain


def test_works_are_distributions() -> None:
    """In any order, with equal values, of many lengths."""
    rng = np.random.default_rng(3)
    given, done = [], []
    for size in (*range(1, 40), 127, 128, 129, 135, 136, 255, 256, 257, 1000, 1025, 4097):
        values, weights = np.sort(rng.uniform(1, 99, size)), rng.random(size)
        if size % 5 == 0:
            values = rng.permutation(values.round(1))
        given.append((tuple(values.tolist()), tuple((weights / weights.sum()).tolist())))
        done.append(float(rng.random() * values.max()) if size % 2 else 0.0)
    works = RemainingEpochs.from_lists(given)
    left = works.conditioned_on(np.arange(len(given)), np.array(done))
    single = [Distribution.of(*each) for each in given]
    remaining = [work.remaining(each) for work, each in zip(single, done, strict=True)]
    for several, each in ((works, single), (left, remaining)):
        assert len(several) == len(each)
        for one, other in zip(several, each, strict=True):
            assert one.values.tolist() == other.values.tolist()
            assert one.probabilities == pytest.approx(other.probabilities, rel=1e-12)
    for j, work in enumerate(remaining):
        for mine, theirs in zip(curve_of(left.curves, j), discrete_curve(work), strict=True):
            assert mine == pytest.approx(theirs, rel=1e-12)


def test_a_job_at_its_last_epochs_end_has_a_hair_left() -> None:
    works = RemainingEpochs.from_lists([((10.0, 20.0), (0.5, 0.5)), ((10.0,), (1.0,))])
    left = works.conditioned_on(np.array([0, 1]), np.array([20.0 * (1 - 1e-10), 4.0]), 1e-9)
    assert [w.values.tolist() for w in left] == [[1e-9], [6.0]]
    assert [w.probabilities.tolist() for w in left] == [[1.0], [1.0]]
