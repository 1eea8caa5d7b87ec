"""Runs over time, audited from their segments; clairvoyant bounds against whole schedules."""

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracles.harness import batches, pick, seed_of_the_day
from oracles.rolling import (
    Stretch,
    best_list_schedule,
    cost_alone,
    draw_rolling,
    energy_cost,
    random_run,
    seats,
    tardiness_cost,
    violations_of,
)

import optsched
from optsched.library.verify import RefusedError, verify
from optsched.result import Settings
from optsched.rolling.audit import audit
from optsched.rolling.bounds.clairvoyant import BoundSettings
from optsched.rolling.options import RollingOptions
from optsched.rolling.runs import run_policies

CHEAP = (
    *("sts", "sts-postprocessing", "edf", "fifo", "rg", "dp"),
    *("avg-edf", "avg-rg", "avg-dp", "price"),
)
DEAR = ("patterns", "columns", "exact", "price-patterns")


class Case:
    """A drawn instance and the runs of a few policies on it."""

    def __init__(self, number: int, folder: Path) -> None:
        self.rng = np.random.default_rng([seed_of_the_day(), number])
        self.instance = draw_rolling(self.rng, wide=number % 3 == 2)
        self.sharing = bool(self.rng.random() < 0.7)
        path = folder / "rolling.json"
        path.write_text(json.dumps(self.instance), encoding="utf-8")
        self.loaded = optsched.load(path)
        policies = [CHEAP[number % len(CHEAP)], pick(self.rng, CHEAP)]
        policies += [DEAR[number // 5 % len(DEAR)]] if number % 5 == 3 and self.starts() else []
        if self.instance["provenance"]["second"] > 1e3:  # price decides every 900 s
            policies = ["sts" if policy.startswith("price") else policy for policy in policies]
        self.policies = list(dict.fromkeys(policies))
        self.where = (
            f"{seed_of_the_day()=} {number=} {self.policies} {self.sharing=} "
            f"{json.dumps(self.instance)}"
        )

    def starts(self) -> bool:
        """Whether a late job costs more by waiting an interval than by the energy of running."""
        interval, jobs = self.instance["interval"], self.instance["jobs"]
        wait = self.instance["postponement_penalty"] * interval
        last = max(job["due_date"] for job in jobs) - self.instance["now"]
        return last <= 30 * interval and all(
            job["tardiness_weight"] * wait > self._energy(job) for job in jobs
        )

    def _energy(self, job: dict[str, Any]) -> float:
        """Of the cheapest way to run a job, as long as it may take, dollars."""
        return max(job["epochs"]["values"]) * min(
            rate * seconds
            for node in self.instance["nodes"]
            for rate, seconds in zip(
                node["cost_rate"], job["epoch_time"].get(node["gpu_type"], []), strict=False
            )
        )

    def runs(self) -> list[Any]:
        """Of every policy, with the bound."""
        options = RollingOptions.from_dict({"sharing": "on" if self.sharing else "off"})
        asked: dict[str, Any] = {"options": options, "bound": BoundSettings()}
        asked["settings"] = Settings(seed=int(self.rng.integers(100)))
        return list(run_policies(self.loaded, self.policies, **asked))


def _stretches(run: Any) -> list[Stretch]:
    return [
        Stretch(s.job, s.start, s.end, s.node, tuple(s.gpus), s.fraction, s.setup, s.epochs)
        for s in run.segments
    ]


@pytest.mark.parametrize("numbers", batches(1000, default=10, size=20))
def test_runs_are_sound_and_bounded(numbers: range, tmp_path: Path) -> None:
    """Progress, capacity, completions and costs again; bound <= what schedules and runs cost."""
    seen: Counter[str] = Counter()
    for number in numbers:
        case = Case(number, tmp_path)
        for rolled in case.runs():
            run, where = rolled.records, f"{rolled.records.policy} {case.where}"
            ours = _stretches(run)
            epochs = [record.epochs for record in run.jobs]
            ends = [record.completion for record in run.jobs]
            _epochs_are_admissible(case, epochs, where)
            violations = list(violations_of(case.instance, ours, epochs, ends, case.sharing))
            assert not violations, f"{violations[:3]} {where}"
            assert rolled.check.feasible, f"{rolled.check} {where}"
            energy, late = energy_cost(case.instance, ours), tardiness_cost(case.instance, ends)
            clock = _rounding(case, max(ends))
            found, told = rolled.metrics, f"{rolled.metrics} {energy=} {late=} {where}"
            assert math.isclose(found.energy_cost, energy, rel_tol=1e-7, abs_tol=clock), told
            assert math.isclose(found.tardiness_cost, late, rel_tol=1e-7, abs_tol=clock), told
            assert rolled.bound is not None, where
            assert rolled.bound <= (energy + late) * (1 + 1e-9) + clock, f"{rolled.bound=} {told}"
            seen["runs"] += 1
            seen["late"] += late > 0
            seen["cut"] += len(ours) > len(ends)
            _bound_is_below_schedules(case, epochs, rolled.bound, clock, seen)
    assert seen["runs"] >= len(numbers), seen
    if len(numbers) < 20:  # shares mean little in fewer
        return
    assert seen["late"] >= len(numbers) // 5, seen
    assert seen["cut"] >= len(numbers) // 10, seen
    assert seen["schedules"] >= len(numbers) // 3, seen
    assert seen["proofs"] >= len(numbers) // 4, seen


def _rounding(case: Case, last: float) -> float:
    """What clocks far from zero leave of the costs, dollars."""
    clock = max(abs(last), abs(case.instance["now"]))
    weights = sum(job["tardiness_weight"] for job in case.instance["jobs"])
    rates = sum(node["cost_rate"][-1] for node in case.instance["nodes"])
    return 1e-14 * clock * (weights + rates)


def _epochs_are_admissible(case: Case, epochs: list[float], where: str) -> None:
    for job, true in zip(case.instance["jobs"], epochs, strict=True):
        if job["true_epochs"] is not None:
            assert true == job["true_epochs"], where
        else:
            assert true in job["epochs"]["values"], where
        assert true > job["completed_epochs"], where


def _bound_is_below_schedules(
    case: Case, epochs: list[float], bound: float, clock: float, seen: Counter[str]
) -> None:
    where = f"{bound=} {epochs=} {case.where}"
    runs = [random_run(case.instance, epochs, case.sharing, case.rng) for _ in range(6)]
    assert bound <= min(runs) * (1 + 1e-9) + clock, f"{runs=} {where}"
    seen["random runs"] += len(runs)
    if case.rng.random() < 0.3:
        _prices_prove_no_more(case, epochs, min(runs), clock, seen)
    if len(epochs) == 1:
        alone = cost_alone(case.instance, epochs[0], case.sharing)
        assert bound <= alone * (1 + 1e-9) + clock, f"{alone=} {where}"
        if _one_price_a_gpu(case):
            assert bound >= alone * (1 - 1e-6) - clock, f"{alone=} {where}"
            seen["tight"] += 1
    choices = [len(seats(case.instance, job, case.sharing)) for job in case.instance["jobs"]]
    if math.prod(choices) * math.factorial(len(choices)) <= 1000:
        seen["schedules"] += 1
        least = best_list_schedule(case.instance, epochs, case.sharing)
        assert bound <= least * (1 + 1e-9) + clock, f"{least=} {where}"


def _prices_prove_no_more(
    case: Case, epochs: list[float], least: float, clock: float, seen: Counter[str]
) -> None:
    """Any prices of GPU seconds, none in the last slot, which has room for everything."""
    document = case.loaded.to_dict()
    for job, made in zip(document["jobs"], epochs, strict=True):
        job["true_epochs"] = made
    kinds = sorted({node["gpu_type"] for node in document["nodes"]})
    first = min(document["now"], *(job["submit_time"] for job in document["jobs"]))
    slowest = [
        max(time for _, _, time in seats(case.instance, job, True)) * made
        for job, made in zip(case.instance["jobs"], epochs, strict=True)
    ]
    late = max(job["submit_time"] for job in document["jobs"])
    rates = sum(node["cost_rate"][-1] for node in document["nodes"])
    rates += sum(job["tardiness_weight"] for job in document["jobs"])
    for worth in (0.0, 0.1, 1.0, 10.0):
        inner = np.sort(case.rng.uniform(first, late + max(slowest), 4)).tolist()
        edges = [first, *inner, max(late, inner[-1]) + 3 * sum(slowest)]
        prices = {
            kind: [*(worth * rates * case.rng.uniform(0, 1, 4)).tolist(), 0.0] for kind in kinds
        }
        certificate = {"kind": "prices", "seed": 0, "edges": edges, "prices": prices}
        try:
            proved = verify(document, certificate)
        except RefusedError:
            seen["refused prices"] += 1
            continue
        assert proved <= least * (1 + 1e-9) + clock, f"{proved=} {certificate} {case.where}"
        seen["proofs"] += proved > 0


def _one_price_a_gpu(case: Case) -> bool:
    """Whether a type's GPUs all cost alike, alone or together: nothing is then relaxed."""
    rates: dict[str, float] = {}
    for node in case.instance["nodes"]:
        rate = rates.setdefault(node["gpu_type"], node["cost_rate"][0])
        for k, total in enumerate(node["cost_rate"], 1):
            if not math.isclose(total, k * rate, rel_tol=1e-12, abs_tol=0):
                return False
    shared = any(kind["slowdown"] for kind in case.instance["gpu_types"].values())
    return not (shared and case.sharing)


@pytest.mark.parametrize("numbers", batches(300, default=8, size=20))
def test_audit_refuses_what_breaks_a_rule(numbers: range, tmp_path: Path) -> None:
    """A segment moved, cut, doubled or made faster is refused where the rules say so."""
    seen: Counter[str] = Counter()
    for number in numbers:
        case = Case(number, tmp_path)
        run = case.runs()[0].records
        epochs = [record.epochs for record in run.jobs]
        ends = [record.completion for record in run.jobs]
        for _ in range(4):
            at = int(case.rng.integers(len(run.segments)))
            changed = _changed(case, run.segments[at])
            segments = (*run.segments[:at], *changed, *run.segments[at + 1 :])
            broken = replace(run, segments=segments)
            ours = _stretches(broken)
            found = list(violations_of(case.instance, ours, epochs, ends, case.sharing))
            if found:
                report = audit(case.loaded, broken)
                assert not report.feasible, f"{found[:2]} {changed} {case.where}"
                seen["refused"] += 1
    assert seen["refused"] >= len(numbers), seen


def _changed(case: Case, segment: Any) -> tuple[Any, ...]:
    length = segment.end - segment.start
    node = case.instance["nodes"][segment.node]
    what = int(case.rng.integers(7))
    if what == 0:
        return ()
    if what == 1:
        return (segment, segment)
    if what == 2:
        return (replace(segment, epochs=segment.epochs * pick(case.rng, (0.5, 1.001, 2.0))),)
    if what == 3:
        return (replace(segment, start=segment.start + length / 2),)
    if what == 4:
        return (replace(segment, gpus=(*segment.gpus, segment.gpus[0])),)
    if what == 5:
        return (replace(segment, gpus=(node["gpus"],)),)
    return (replace(segment, start=segment.start - length, end=segment.end - length),)
