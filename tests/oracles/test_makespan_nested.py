"""Nested annealing on jobs too many for any oracle of optima.

The oracle checks the rules of every schedule and recomputes its end. A run is never worse than its
start, and equal seeds and numbers of moves give equal runs.
"""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from math import ceil, inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optsched
from optsched.deadline import Deadline
from optsched.makespan.heuristics import nested
from oracles import makespan as oracle
from oracles import makespan_cases as cases
from oracles.harness import ROUNDING, batches, case_named_on_failure, close, loaded, seed_of_the_day

FAMILIES = (
    "powers",
    "any servers",
    "one server",
    "few wide",
    "spanning pays",
    "continuous",
    "wider than a server",
    "no power of two",
    "alike",
    "tight horizon",
    "slow inside",
)
MOVES = 6_900
"""Of a run: two rounds of annealings of 100 moves each, and a third up to a cycle with pairs."""


def draw(seed: int, number: int) -> tuple[str, dict]:
    rng = np.random.default_rng([seed, number, 35])
    family = FAMILIES[number % len(FAMILIES)]
    while True:
        instance = _instance(rng, family, number)
        if None not in [oracle.min_slots(instance, job) for job in instance["jobs"]]:
            break
    if family == "tight horizon":
        instance["horizon"] = max(1, ceil(_area(instance) * rng.uniform(0.95, 1.3)))
    return family, instance


def _instance(rng: np.random.Generator, family: str, number: int) -> dict:
    servers = [int(2 ** rng.integers(0, 5)) for _ in range(rng.integers(1, 7))]
    if family in ("any servers", "no power of two"):
        servers = [int(gpus) for gpus in rng.integers(1, 17, len(servers))]
    elif family == "one server":
        servers = [int(rng.choice([4, 6, 7, 8, 16]))]
    elif family in ("few wide", "spanning pays"):
        servers = [8, *[4] * int(rng.integers(2, 5))]
    elif family == "wider than a server":
        servers = [int(rng.choice([2, 4]))] * int(rng.integers(2, 6))
    widest = int(np.log2(max(servers)))
    inside = 1.0 if family == "slow inside" else 64.0
    network = {
        "inter_bandwidth": 8.0 if family in ("spanning pays", "slow inside") else 1.0,
        "intra_bandwidth": inside,
        "contention_share": float(rng.choice([0.0, 0.3, 0.5, 1.0])),
        "degradation": float(rng.choice([0.0, 0.2, 1.0])),
        "overhead_per_server": float(rng.choice([0.0, 0.01])),
        "overhead_on_one_server": bool(rng.random() < 0.5),
    }
    jobs = []
    for j in range(int(rng.integers(3, 25))):
        gpus = int(2 ** rng.integers(0, widest + 1))
        if family == "few wide" and j % 4 == 0:
            gpus = 8
        elif family == "wider than a server" and j % 3 == 0:
            gpus = 2 * max(servers)
        elif family == "no power of two" and j % 3 == 0:
            gpus = int(rng.integers(1, sum(servers) + 1))
        jobs.append(
            {
                "gpus": gpus,
                "iterations": int(rng.integers(1, 10) * 10 ** rng.uniform(0, 2)),
                "gradient_bytes": float(rng.choice([0.0, 0.02, 0.05, 0.1])),
                "batch_size": float(rng.choice([1.0, 2.0])),
                "forward_time_per_sample": float(rng.choice([0.02, 0.05, 0.1])),
                "backward_time": float(rng.choice([0.05, 0.1, 0.3])),
            }
        )
    if family == "alike":
        jobs = [dict(jobs[0]) for _ in jobs]
    return cases.document(
        f"nested-{number}",
        servers,
        network,
        jobs,
        compute_rate=float(rng.choice([8.0, 1e3])),
        slot=float(rng.choice([1.0, 0.5, 2.0])),
        progress="continuous" if family == "continuous" else "floor",
        horizon=100_000,
    )


def _inside(instance: dict, job: dict) -> float:
    """Slots of a job in one server; infinite where it never ends."""
    tau = oracle.iteration_seconds(instance, job, 1, 0)
    if instance["progress"] == "continuous":
        return float(job["iterations"] * tau / instance["slot"])
    rate = oracle.iterations_a_slot(instance, job, 1, 0)
    return float(-(-job["iterations"] // rate)) if rate else inf


def _area(instance: dict) -> float:
    """Slots that blocks take at least: what they hold over all GPUs, or the longest job."""
    held = [_inside(instance, job) * job["gpus"] for job in instance["jobs"]]
    longest = max(_inside(instance, job) for job in instance["jobs"])
    return max(sum(held) / sum(instance["servers"]), longest)


def _nests(instance: dict) -> bool:
    """Whether every job fits one server and gets on there, and its GPUs are a power of two."""
    widths = [job["gpus"] for job in instance["jobs"]]
    fits = all(bin(w).count("1") == 1 and w <= max(instance["servers"]) for w in widths)
    return fits and all(_inside(instance, job) < inf for job in instance["jobs"])


def _greedy(instance: dict) -> float:
    """The makespan where each job, widest first and then longest, takes the least loaded block."""
    load = [np.zeros(gpus) for gpus in instance["servers"]]
    for job in sorted(instance["jobs"], key=lambda j: (-j["gpus"], -_inside(instance, j))):
        w = job["gpus"]
        blocks = [(s, at) for s, row in enumerate(load) for at in range(0, len(row) - w + 1, w)]
        s, at = min(blocks, key=lambda block: load[block[0]][block[1] : block[1] + w].max())
        load[s][at : at + w] += _inside(instance, job)
    return float(max(row.max() for row in load))


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Annealings so short that some thousand moves go through several rounds."""
    short = replace(
        nested.PARAMETERS,
        min_moves=100,
        moves_per_job=0,
        min_temperatures=4,
        initial_search_moves_times_jobs=0,
    )
    monkeypatch.setattr(nested, "PARAMETERS", short)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("numbers", batches(nightly=600, default=16, size=60))
def test_what_it_returns(numbers: range, tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    for number in numbers:
        family, document = draw(seed_of_the_day(), number)
        with case_named_on_failure(seed_of_the_day(), number, document):
            _examine(document, number, tmp_path, counts)
        counts[family] += 1
    assert counts["annealed"] > 0
    if len(numbers) < 60:  # shares mean little in fewer
        return
    assert counts["fell back"] >= 0.08 * len(numbers)
    assert counts["better than greedy"] >= 0.05 * len(numbers)
    assert counts["optimal"] >= 0.1 * len(numbers)
    assert counts["beyond the horizon"] <= 0.1 * len(numbers)


def _examine(document: dict, number: int, folder: Path, counts: Counter[str]) -> None:
    instance = loaded(folder, document)
    events: list[Any] = []
    found = optsched.solve(
        instance, "nested", iterations=MOVES, seed=number, callback=events.append
    )
    again = optsched.solve(instance, "nested", iterations=MOVES, seed=number)
    assert found.solution == again.solution
    assert (found.objective, found.bound) == (again.objective, again.bound)
    assert dict(found.details) == dict(again.details)
    for one in (
        found,
        optsched.solve(instance, "nested", seed=number, time_limit=0.0),
        optsched.solve(instance, "nested", iterations=0, seed=number),
        optsched.solve(instance, "nested", iterations=150, seed=number),
    ):
        _judge(document, one, found)
    incumbents = [event.incumbent for event in events if event.incumbent is not None]
    assert all(b <= a * (1 + ROUNDING) for a, b in pairwise(incumbents))
    assert not incumbents or close(incumbents[-1], found.objective)
    assert all(e.bound is None or e.bound <= found.bound * (1 + ROUNDING) for e in events)
    start = optsched.solve(instance, "longest-first")
    greedy = _greedy(document) if _nests(document) else inf
    if found.objective is None:
        assert start.objective is None
        assert greedy > document["horizon"]
        counts["beyond the horizon"] += 1
        return
    assert start.objective is None or found.objective <= start.objective * (1 + ROUNDING)
    assert found.objective <= greedy * (1 + ROUNDING), f"{found.objective}, greedily {greedy}"
    assert (found.chosen == "local-search") == (not _nests(document)), found.chosen
    counts["fell back"] += found.chosen == "local-search"
    counts["better than greedy"] += found.objective < greedy * (1 - ROUNDING) < inf
    counts["optimal"] += found.termination.value == "optimal"
    if found.chosen is None:
        assert found.details["moves"] <= MOVES
        counts["annealed"] += found.details["moves"] > 0


def _judge(document: dict, one: Any, best: Any) -> None:
    """It keeps the rules and ends when it says; no bound is above any schedule."""
    assert one.bound is not None
    if one.objective is None:
        assert one.termination.value in ("infeasible", "time-limit", "no-solution")
        return
    solution = one.solution.to_dict()
    assert one.check.feasible, f"{one.check.violations}"
    broken = oracle.violated_rule(document, solution)
    assert broken is None or broken[1] <= ROUNDING, f"it breaks {broken}"
    ends = oracle.makespan(document, solution)
    assert close(one.objective, ends), f"{one.objective} is said, it ends at {ends}"
    assert ends <= document["horizon"] * (1 + ROUNDING)
    assert max(one.bound, best.bound) <= ends * (1 + ROUNDING), f"bounds {one.bound}, {best.bound}"
    proved = one.objective - one.bound <= 1e-6 * one.objective
    said = one.termination.value == "optimal"
    assert said == proved or (proved and one.chosen), f"{one.termination}: {one.bound}"


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("numbers", batches(nightly=600, default=33, size=100))
def test_annealing_towards_what_is_never_met(numbers: range, tmp_path: Path) -> None:
    """Round after round, some with pairs, to the last move; the largest load is the makespan."""
    counts: Counter[str] = Counter()
    for number in numbers:
        _, document = draw(seed_of_the_day(), number)
        if not _nests(document):
            continue
        with case_named_on_failure(seed_of_the_day(), number, document):
            instance, greedy = loaded(tmp_path, document), _greedy(document)
            bound = 0.999 * _area(document)
            runs = [nested.Annealing(instance, bound, number) for _ in range(2)]
            one, same = (run.result(MOVES, Deadline(), 1e-6) for run in runs)
            assert one == same
            assert runs[0].moves == MOVES
            assert not one.timed_out
            value = _value(document, one.schedule)
            assert close(value, runs[0].best)
            assert value <= greedy * (1 + ROUNDING)
            other = nested.Annealing(instance, bound, number)
            assert other.result(None, Deadline(0.0), 1e-6).timed_out
            assert close(_value(document, other.schedule()), greedy)
            counts["annealed"] += 1
            counts["better than greedy"] += value < greedy * (1 - ROUNDING)
            counts["pairs"] += int((runs[0].state.position[:, 1] > 0).sum())
    assert counts["better than greedy"] > 0
    assert counts["pairs"] > 0


def _value(document: dict, schedule: Any) -> float:
    """When a schedule's last job ends; it keeps every rule but the horizon's."""
    runs = [
        {"name": job["name"], "start": start, "gpus": {str(s): n for s, n in placed.items()}}
        for job, start, placed in zip(
            document["jobs"], schedule.starts, schedule.placed, strict=True
        )
    ]
    broken = oracle.violated_rule({**document, "horizon": 10**9}, {"jobs": runs})
    assert broken is None or broken[1] <= ROUNDING, f"it breaks {broken}"
    return oracle.makespan(document, {"jobs": runs})
