"""What each policy promises over time."""

import time
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from oracles.rolling_policies import PlainGreedy, shuffled
from rolling.small import instance, job, run_on
from sampling import one_in

from optsched.generators.rolling import generate_rolling, rolling_settings
from optsched.result import Outcome, Settings, Termination
from optsched.rolling.instance import RollingInstance
from optsched.rolling.options import RollingOptions
from optsched.rolling.policies import interval_optimum
from optsched.rolling.policies.by_name import MODELS, POLICIES, make_policy
from optsched.rolling.policies.fewest_migrations import placed_of, with_fewest_migrations
from optsched.rolling.policies.interval_optimum import IntervalOptimum
from optsched.rolling.policies.queue import RandomisedGreedy, planned_times
from optsched.rolling.simulator.engine import MIN_CHANGE_SHARE, Plan, simulate_rolling
from optsched.rolling.simulator.world import View, World
from optsched.selection.assignment import expected_cost
from optsched.selection.heuristics.sts import sts_assignment
from optsched.speed_profile.exact._hull_kernel import Speeds, empty_hull, first_piece
from optsched.uncertainty.survival import Curve

SLOW = (*MODELS, "exact", "price-patterns")
TRIED = [name for name in POLICIES if name not in SLOW[:-1] or name == "patterns"]
"""The other optima of intervals are held against it below."""


def workload(seed: int, load: float = 0.8, **changes: Any) -> RollingInstance:
    settings = rolling_settings(3, arrivals="load", load=load, **({"jobs": 20} | changes))
    return generate_rolling(settings, seed=seed)


@pytest.mark.parametrize("name", one_in(2, TRIED))
def test_without_sharing_is_with_fractions_of_one(name: str) -> None:
    """Sharing off = sharing on where no type offers a fraction below 1."""
    shared = workload(3) if name not in SLOW else workload(3, jobs=8)
    document = shared.to_dict()
    for gpu in document["gpu_types"].values():
        gpu["slowdown"] = {}
    whole = RollingInstance.from_dict(document)
    assert run_on(shared, name, sharing="off").same_run(run_on(whole, name, sharing="on"))


def test_every_policy_meets_the_same_true_epochs() -> None:
    one = workload(5)
    epochs = [[r.epochs for r in run_on(one, name, 7).jobs] for name in ("sts", "edf", "price")]
    assert epochs[0] == epochs[1] == epochs[2]
    assert epochs[0] != [r.epochs for r in run_on(one, "sts", 8).jobs]


def test_dedicated_gpus_only_for_the_baselines() -> None:
    for name in ("edf", "rg", "dp"):
        assert all(s.fraction == 1.0 for s in run_on(workload(7), name).segments)
    assert any(s.fraction < 1.0 for s in run_on(workload(7, load=1.2), "price").segments)


def test_average_plans_revert_to_the_worst_case() -> None:
    """E[W] = 28: 56 s on one GPU seem in time. After 28 epochs, 72 more are planned."""
    epochs = {"values": [20, 100], "probabilities": [0.9, 0.1]}
    one = instance([job("a", 0.0, 90.0, epochs, true_epochs=100)], interval=30.0)
    average, worst = (
        [(s.start, len(s.gpus)) for s in run_on(one, name, limits={"iterations": 1}).segments]
        for name in ("avg-rg", "rg")
    )
    assert average == [(0.0, 1), (60.0, 2)]
    assert [gpus for _, gpus in worst] == [2]


def test_postprocessing_is_an_option_and_a_policy() -> None:
    given = workload(9, load=0.5)
    asked = run_on(given, "sts", sharing="off", postprocessing="on")
    named = run_on(given, "sts-postprocessing", sharing="off")
    assert named.segments == asked.segments
    assert named.policy == "sts-postprocessing"
    assert named.segments != run_on(given, "sts", sharing="off").segments


def test_patterns_optimises_each_interval() -> None:
    """At the first decision its value of (P1) is at most that of STS's seats."""
    one = workload(8, load=3.0, jobs=6)
    world = World(one)
    view = View(world, 0.0, tuple(range(6)), (0.0,) * 6, {}, frozenset())
    best, *others = (
        expected_cost(view.tables, make_policy(name, world, Settings()).decide(view).placements)
        for name in ("patterns", "sts", "rg", "dp", "price")
    )
    assert best <= min(others) * (1 + 2e-4)


@pytest.mark.parametrize(
    "name", ["milp", pytest.param("minlp", marks=pytest.mark.full), "columns", "exact"]
)
def test_optima_of_intervals_agree(name: str) -> None:
    """Every decision is worth what that of `patterns` is, which may seat the jobs otherwise."""
    if name == "minlp":
        pytest.importorskip("pyscipopt")
    one = workload(8, load=3.0, jobs=4, gpus_per_node=2)
    world = World(one)
    for done in (0.0, 3.5):
        view = View(world, 900.0, (0, 1, 3), (done,) * 3, {}, frozenset())
        first, other = (IntervalOptimum(world, n, Settings(300.0)) for n in ("patterns", name))
        best, value = (
            expected_cost(view.tables, each.decide(view).placements) for each in (first, other)
        )
        assert (first.unproved, other.unproved, other.fallbacks) == (0, 0, 0)
        assert value == pytest.approx(best, rel=3e-4)


def test_a_decision_without_an_answer_falls_back_on_sts(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(workload(3))
    view = View(world, 0.0, (0, 1), (0.0, 0.0), {}, frozenset())
    each = IntervalOptimum(world, "patterns", Settings(1.0))
    monkeypatch.setattr(each, "_solve", lambda *_: Outcome(None, Termination.TIME_LIMIT))
    assert set(each.decide(view).placements) == set(sts_assignment(view.tables))
    assert (each.unproved, each.fallbacks) == (1, 1)


def test_each_decision_has_its_own_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a limit of the run's no decision is cut because others took their time before it."""
    world, given = World(workload(3)), []

    def slow(_: object, __: object, settings: Settings) -> Outcome:
        given.append(settings.deadline.left)
        time.sleep(0.1)
        return Outcome(None, Termination.OPTIMAL if given[-1] else Termination.TIME_LIMIT)

    monkeypatch.setattr(interval_optimum, "MAX_DECISION_SECONDS", 0.15)
    for limit in (None, 0.15):
        each = interval_optimum.IntervalOptimum(world, "patterns", Settings(limit))
        monkeypatch.setattr(each, "_solve", slow)
        for now in (0.0, 1.0, 2.0):
            each.decide(View(world, now, (0, 1), (0.0, 0.0), {}, frozenset()))
        assert each.decided == 3
        assert (each.unproved == 0) == (limit is None) == (each.message is None)
    assert all(0.0 < left <= 0.15 for left in given[:3])
    assert given[-1] == 0.0


@pytest.mark.parametrize("average", [False, True])
def test_compiled_passes_draw_as_those_of_one_interval(average: bool) -> None:
    for seed in range(12):
        world = World(workload(seed, jobs=40, cost_classes=seed % 3))
        jobs = tuple(range(0, 40, 1 + seed % 2))
        done = tuple(float(j % 4) for j in jobs)
        view = View(world, 3e4 * (seed % 3), jobs, done, {}, frozenset())
        planned = view.tables.with_costs(expected=planned_times(view, average))
        greedy, rng = PlainGreedy(planned), np.random.default_rng([seed, 0])
        fastest = greedy.times.reshape(planned.jobs, -1).min(axis=1)
        order = np.argsort(planned.due - fastest, kind="stable")
        passes = [greedy.run(order.tolist())]
        passes += [greedy.run(shuffled(order, rng).tolist(), rng) for _ in range(4)]
        best = min(passes, key=lambda seats: expected_cost(view.tables, seats))
        name, settings = "avg-rg" if average else "rg", Settings(seed=seed, iterations=5)
        compiled = RandomisedGreedy(world, name, settings)
        seats = with_fewest_migrations(view.tables, placed_of(dict(sorted(best.items()))), {})
        assert compiled.decide(view).placements == seats


class Restless:
    """Plans every change a picosecond ahead, as types with a sliver of slack by turns would."""

    name = "restless"
    wake = np.inf

    def __init__(self, world: World) -> None:
        self.inner = make_policy("edf", world, Settings())
        self.decisions = 0

    def decide(self, view: View) -> Plan:
        self.decisions += 1
        plan = self.inner.decide(view)
        first = self.decisions <= 50
        return Plan(plan.placements, dict.fromkeys(plan.placements, 1e-12) if first else {})


def test_time_moves_on_whatever_a_policy_plans() -> None:
    """A change planned 1e-12 s ahead is below the rounding of a clock at 1e4 s."""
    given = workload(1, jobs=5)
    world = World(given, RollingOptions.from_dict({"sharing": "off"}))
    run = simulate_rolling(world, Restless(world), seed=1)
    times = [decision.time for decision in run.decisions]
    assert len(times) > 50
    shortest = MIN_CHANGE_SHARE * given.interval
    assert all(b - a >= shortest * (1 - 1e-6) for a, b in pairwise(times))


@pytest.mark.parametrize(
    ("slack", "speed", "length"), [(0.1, 0, 0.1), (2e-3, 0, 2e-3), (4e-4, 1, np.inf)]
)
def test_a_sliver_of_a_first_piece_is_left_out(slack: float, speed: int, length: float) -> None:
    """10 epochs of 2 s (1 $) or 1 s (2 $), due in 10 s + slack.

    x slow epochs take 2 x + (10 - x) = 10 + x s, so x = slack and the first piece lasts 2 x s:
    0.2 s and 4 ms are kept, 0.8 ms is less than a millisecond and the job starts at the faster.
    """
    curve = Curve(np.array([0.0, 10.0]), np.array([1.0]), np.array([1.0]))
    speeds = Speeds(np.array([2.0, 1.0]), np.array([1.0, 2.0]))
    found = first_piece(curve, speeds, 10.0 + slack, 1e-3, empty_hull(2))
    assert found[0] == speed
    assert found[1] == pytest.approx(length, rel=1e-6)
