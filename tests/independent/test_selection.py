"""Resource selection against enumeration: exact methods, heuristics, bounds and the checker."""

from __future__ import annotations

import json
from collections import Counter
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from independent.day import batches, seed_of_the_day
from independent.selection_cases import draw_selection, pick
from independent.selection_oracle import Oracle, RefusedError

import optsched
from optsched.errors import InputError

HEURISTICS = ("sts", "edf", "fifo", "rg", "dp", "avg-edf", "avg-rg", "avg-dp")
OPENINGS = ("free", "free", "printed", "at-most")


class Case:
    """A drawn instance with its options and what enumeration says of it."""

    def __init__(self, number: int, folder: Path) -> None:
        self.rng = np.random.default_rng([seed_of_the_day(), number])
        self.instance = draw_selection(self.rng)
        self.opening = pick(self.rng, OPENINGS)
        self.sharing = pick(self.rng, ("on", "on", "off"))
        self.options = {"node_opening": self.opening, "sharing": self.sharing}
        self.where = f"{seed_of_the_day()=} {number=} {self.options} {json.dumps(self.instance)}"
        self.path = folder / f"{number}.json"
        self.path.write_text(json.dumps(self.instance), encoding="utf-8")

    def oracle(self) -> Oracle | None:
        """The oracle, or None for an instance that is to be refused; loading has to agree."""
        try:
            oracle = Oracle(self.instance, self.sharing == "on")
        except RefusedError:
            with pytest.raises(InputError) as refusal:
                optsched.load(self.path)
            assert "\n" not in str(refusal.value), self.where
            return None
        self.loaded = optsched.load(self.path)
        return oracle


@pytest.mark.parametrize("numbers", batches(3000, default=30, size=30))
def test_optima_bounds_and_heuristics(numbers: range, tmp_path: Path) -> None:
    """Every exact method finds the enumerated optimum; nobody beats it; bounds stay below it."""
    seen: Counter[str] = Counter()
    for number in numbers:
        case = Case(number, tmp_path)
        oracle = case.oracle()
        if oracle is None:
            seen["refused"] += 1
            continue
        optimum = oracle.optimum(case.opening)
        exact = ["patterns", "columns", "exact"]
        exact += ["milp"] if number % 3 == 0 else []
        exact += ["minlp"] if number % 10 == 1 else []
        for method in exact:
            _exact(case, oracle, method, optimum)
            seen[method] += 1
        if optimum is None:
            seen["infeasible"] += 1
        elif case.opening != "printed":
            for method in HEURISTICS:
                _heuristic(case, oracle, method, optimum)
            seen["compared with heuristics"] += 1
    solved = len(numbers) - seen["refused"]
    assert solved >= len(numbers) * 2 // 3, seen
    assert seen["patterns"] == seen["columns"] == seen["exact"] == solved
    assert seen["milp"] >= solved // 5, seen
    assert seen["compared with heuristics"] >= solved // 3, seen


def _exact(case: Case, oracle: Oracle, method: str, optimum: float | None) -> None:
    result = optsched.solve(case.loaded, method, options=case.options)
    where = f"{method} {result.termination} {result.objective} {optimum=} {case.where}"
    if optimum is None:
        assert result.termination == "infeasible", where
        assert result.objective is None, where
        return
    least = oracle.rounding()
    assert result.objective == pytest.approx(optimum, rel=1.5e-6, abs=least), where
    assert result.bound is not None, where
    assert result.bound <= optimum * (1 + 1e-9) + least, where
    if method in ("milp", "minlp") and not oracle.is_told(optimum):
        # too little for their unit: where they cannot prove it, they claim what is paid anyway
        paid = oracle.paid_in_any_case()
        assert result.termination == "optimal" or result.bound >= paid * (1 - 1e-9), where
    else:
        assert result.termination == "optimal", where
        assert result.bound >= optimum * (1 - 2e-6) - least, where
    _reevaluated(case, oracle, result, where)


def _heuristic(case: Case, oracle: Oracle, method: str, optimum: float) -> None:
    result = optsched.solve(case.loaded, method, options=case.options)
    where = f"{method} {result.termination} {result.objective} {optimum=} {case.where}"
    assert result.termination == "feasible", where
    assert result.objective >= optimum * (1 - 1e-9) - oracle.rounding(), where
    assert result.bound is None or result.bound <= optimum * (1 + 1e-9) + oracle.rounding(), where
    _reevaluated(case, oracle, result, where)


def _reevaluated(case: Case, oracle: Oracle, result: Any, where: str) -> None:
    assert result.check.feasible, f"{result.check} {where}"
    cost = oracle.judge(result.solution.to_dict(), case.opening)
    assert cost is not None, where
    assert result.objective == pytest.approx(cost, rel=1e-9, abs=oracle.rounding()), where


@pytest.mark.parametrize("numbers", batches(3000, default=150, size=150))
def test_checker_agrees_on_any_solution(numbers: range, tmp_path: Path) -> None:
    """Drawn solutions, most of them broken: the checker refuses exactly what breaks a rule."""
    seen: Counter[str] = Counter()
    for number in numbers:
        case = Case(number, tmp_path)
        oracle = case.oracle()
        if oracle is None:
            continue
        case.opening = case.options["node_opening"] = "free"
        for solution in _solutions(case, oracle):
            cost = oracle.judge(solution)
            path = tmp_path / "solution.json"
            path.write_text(json.dumps(solution), encoding="utf-8")
            where = f"{cost=} {json.dumps(solution)} {case.where}"
            try:
                report = optsched.check(case.path, path, case.options)
            except InputError:
                assert cost is None, where
                seen["unreadable"] += 1
                continue
            assert report.feasible == (cost is not None), f"{report} {where}"
            if cost is None:
                assert report.violations, where
                seen["broken"] += 1
                continue
            assert report.objective == pytest.approx(cost, rel=1e-9, abs=oracle.rounding()), where
            seen["sound"] += 1
            if cost > 1e6 * oracle.rounding():
                solution["objective"] = cost * pick(case.rng, (1 - 1e-5, 1 + 1e-5, 1e-9, 1e9, -1))
                path.write_text(json.dumps(solution), encoding="utf-8")
                assert _refused(case, path), where
                seen["false claims"] += 1
    for kind in ("broken", "sound", "false claims"):
        assert seen[kind] >= len(numbers) // 5, seen


def _refused(case: Case, solution: Path) -> bool:
    try:
        return not optsched.check(case.path, solution, case.options).feasible
    except InputError:
        return True


def _solutions(case: Case, oracle: Oracle) -> list[dict[str, Any]]:
    """A seating in order of the jobs, which mostly holds, and two corruptions of it."""
    rng, nodes = case.rng, case.instance["nodes"]
    load = [[0.0] * node["gpus"] for node in nodes]
    entries: list[dict[str, Any]] = []
    for job, given in enumerate(case.instance["jobs"]):
        node = int(rng.integers(len(nodes)))
        choices = sorted(oracle.choices[job][node], key=float)
        entry: dict[str, Any] = {"name": given["name"], "node": None}
        if choices and rng.random() < 0.9:
            chosen = pick(rng, choices)
            count, size = (chosen, 1.0) if isinstance(chosen, int) else (1, float(chosen))
            room = [g for g, used in enumerate(load[node]) if used + size <= 1 + 1e-12]
            if len(room) >= count:
                for gpu in room[:count]:
                    load[node][gpu] += size
                entry = {
                    "name": given["name"],
                    "node": nodes[node]["name"],
                    "gpus": room[:count],
                    "fraction": size,
                }
        entries.append(entry)
    sound = {
        "schema": "optsched/selection-solution",
        "version": 1,
        "instance": case.instance["name"],
        "jobs": entries,
    }
    return [sound, _corrupted(case, sound), _corrupted(case, sound)]


def _corrupted(case: Case, solution: dict[str, Any]) -> dict[str, Any]:
    rng, nodes = case.rng, case.instance["nodes"]
    broken = deepcopy(solution)
    entry = pick(rng, broken["jobs"])
    if entry["node"] is None:
        entry.update(node=pick(rng, nodes)["name"], gpus=[0], fraction=1.0)
        return broken
    fractions = [float(f) for kind in case.instance["gpu_types"].values() for f in kind["slowdown"]]
    what = int(rng.integers(6))
    if what == 0:
        entry["gpus"] = sorted({*entry["gpus"], int(rng.integers(-1, 5))})
    elif what == 1:
        entry["gpus"] = [int(rng.integers(0, 4))]
    elif what == 2:
        entry["node"] = pick(rng, nodes)["name"]
    elif what == 3:
        entry["fraction"] = pick(rng, [*fractions, 1.0, 0.123])
    elif what == 4:
        other = pick(rng, broken["jobs"])
        if other["node"] is not None:
            entry.update(node=other["node"], gpus=list(other["gpus"]))
    else:
        broken["jobs"].remove(entry)
    return broken


def test_a_node_has_to_open_whatever_it_costs(tmp_path: Path) -> None:
    """Waiting costs nothing, opening millions, and (16) as printed opens: no "infeasible"."""
    instance = draw_selection(np.random.default_rng([1, 1038]))
    path = tmp_path / "dear.json"
    path.write_text(json.dumps(instance), encoding="utf-8")
    optimum = Oracle(instance).optimum("printed")
    assert optimum == pytest.approx(49.5e6)
    result = optsched.solve(path, "milp", options={"node_opening": "printed"})
    assert result.termination == "optimal"
    assert result.objective == pytest.approx(optimum)


def test_memory_counts_to_the_last_bit(tmp_path: Path) -> None:
    """4.9 bytes are more than 0.7 of 7 bytes, by less than any solver's tolerance.

    So the first job needs the only GPU for itself, and the other one waits.
    """
    instance = draw_selection(np.random.default_rng([7, 318]))
    (job,) = instance["jobs"]
    assert job["memory_bytes"] == 4.9
    assert instance["gpu_types"]["B"]["memory_bytes"] == 7.0
    large = {**job, "tardiness_weight": 1.0, "epoch_time": {"B": [1.0]}}
    small = {**large, "name": "small", "memory_bytes": 0.1}
    node = {**instance["nodes"][0], "gpus": 1, "cost_rate": [1.0]}
    instance.update(jobs=[large, small], nodes=[node])
    path = tmp_path / "exact.json"
    path.write_text(json.dumps(instance), encoding="utf-8")
    optimum = Oracle(instance).optimum()
    for method in ("milp", "patterns"):
        result = optsched.solve(path, method)
        assert result.termination == "optimal", method
        assert result.objective == pytest.approx(optimum, rel=1e-9), method
        assert result.bound == pytest.approx(optimum, rel=1e-6), method


@pytest.mark.parametrize("number", [349, 873, 1793, 2632])
def test_costs_near_nothing_are_proved(number: int, tmp_path: Path) -> None:
    """Late by a rounding of the clock alone, or by dollars far below 1 where waiting is free."""
    instance = draw_selection(np.random.default_rng([20261122, number]))
    oracle = Oracle(instance)
    assert oracle.optimum() == pytest.approx(0, abs=oracle.rounding())
    path = tmp_path / "near.json"
    path.write_text(json.dumps(instance), encoding="utf-8")
    for method in ("patterns", "columns", "milp", "exact"):
        result = optsched.solve(path, method)
        assert result.termination == "optimal", method
        assert result.objective == pytest.approx(0, abs=oracle.rounding()), method
        assert result.bound <= oracle.rounding(), method


def test_big_m_rows_cut_no_optimum_off(tmp_path: Path) -> None:
    """A job that may wait for nothing makes its node cheap by ending first, so all three run."""
    instance = draw_selection(np.random.default_rng([20261122, 258]))
    path = tmp_path / "restart.json"
    path.write_text(json.dumps(instance), encoding="utf-8")
    options = {"node_opening": "at-most", "sharing": "off"}
    optimum = Oracle(instance, sharing=False).optimum("at-most")
    assert optimum == pytest.approx(0.0134)
    result = optsched.solve(path, "milp", options=options)
    assert result.termination == "optimal"
    assert result.objective == pytest.approx(optimum)
