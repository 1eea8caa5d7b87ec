"""Resource selection against enumeration: methods, bounds, the checker, certificates."""

import json
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scripts import script

import optsched
from optsched.deadline import Deadline
from optsched.errors import InputError
from optsched.library.verify import RefusedError as CertificateRefusedError
from optsched.library.verify import verify
from oracles.harness import batches, loaded, pick, seed_of_the_day
from oracles.selection import Oracle, RefusedError
from oracles.selection_cases import document, draw_selection, draw_wide

HEURISTICS = ("sts", "edf", "fifo", "rg", "dp", "avg-edf", "avg-rg", "avg-dp")
EXACT = 1e-9
SOLVER_RTOL = 1e-8
"""What solvers leave open of a value: their tolerance is 1e-9 a row."""


class Case:
    """A drawn instance with its options and what enumeration says of it."""

    def __init__(self, number: int, folder: Path, *, wide: bool) -> None:
        self.rng = np.random.default_rng([seed_of_the_day(), number, *([1] if wide else [])])
        self.instance = draw_wide(self.rng) if wide else draw_selection(self.rng)
        self.opening = pick(self.rng, ("free", "free", "printed", "at-most"))
        self.sharing = pick(self.rng, ("on", "on", "off"))
        self.options = {"node_opening": self.opening, "sharing": self.sharing}
        self.where = f"{seed_of_the_day()=} {number=} {self.options} {json.dumps(self.instance)}"
        self.path = folder / f"{number}.json"
        self.path.write_text(json.dumps(self.instance), encoding="utf-8")
        self.refused = False
        try:
            self.oracle = Oracle(self.instance, self.sharing == "on")
        except RefusedError:
            self.refused = True
            with pytest.raises(InputError) as refusal:
                optsched.load(self.path)
            assert "\n" not in str(refusal.value), self.where
            return
        self.loaded = optsched.load(self.path)
        self.costs = self.oracle.cost_by_running_jobs(self.opening)
        self.optimum = min(self.costs.values(), default=None)
        self.rounding = self.oracle.rounding()
        self.tolerance = 1e-9 * self.oracle.unit(self.opening)

    def solve(self, method: str, **limits: Any) -> Any:
        """The package's answer, held against the rules and the cost."""
        result = optsched.solve(self.loaded, method, options=self.options, **limits)
        where = f"{method} {limits} {result.objective} {result.bound} {self.optimum} {self.where}"
        if result.solution is not None:
            assert result.check.feasible, f"{result.check} {where}"
            cost = self.oracle.judge(result.solution.to_dict(), self.opening)
            assert cost is not None, where
            assert result.objective == pytest.approx(cost, rel=EXACT, abs=self.rounding), where
        if self.optimum is not None and result.bound is not None:
            by_solver = result.bound_source is not None and "highs" in result.bound_source
            most = self.optimum * (1 + (SOLVER_RTOL if by_solver else EXACT)) + self.rounding
            if by_solver:  # whose tolerances are absolute in the model's unit
                most += 0.1 * self.tolerance
            assert result.bound <= most, where
        return result

    def accepts(self, solution: dict) -> bool:
        """Whether the package's check lets a solution pass."""
        path = self.path.with_suffix(".solution.json")
        path.write_text(json.dumps(solution), encoding="utf-8")
        try:
            return bool(optsched.check(self.path, path, self.options).feasible)
        except InputError:
            return False

    def ran(self, result: Any) -> frozenset[int]:
        """The jobs that run."""
        seated = {job.name for job in result.solution.jobs if job.node is not None}
        return frozenset(j for j, job in enumerate(self.instance["jobs"]) if job["name"] in seated)


def _exact(case: Case, method: str) -> None:
    """The enumerated optimum, proved; `milp` and `minlp` may not tell costs below their unit."""
    result = case.solve(method)
    where = f"{method} {result.objective} {result.bound} {case.optimum} {case.where}"
    if case.optimum is None:
        assert result.termination == "infeasible", where
        assert result.objective is None, where
        return
    by_rows = method in ("milp", "minlp")
    most = max(case.rounding, case.tolerance if by_rows else 0.0)
    if by_rows and not case.oracle.is_resolvable(case.optimum):
        paid = case.oracle.unavoidable_cost()
        assert result.termination == "optimal" or result.bound >= paid * (1 - EXACT), where
    else:
        assert result.termination == "optimal", where
        assert result.bound >= case.optimum * (1 - 2e-6) - most, where
    assert result.objective == pytest.approx(case.optimum, rel=1.5e-6, abs=most), where


@pytest.mark.parametrize("numbers", batches(3000, default=9, size=30))
def test_optima_bounds_and_heuristics(numbers: range, tmp_path: Path) -> None:
    """Every exact method finds the enumerated optimum; heuristics are above, bounds below it."""
    seen: Counter[str] = Counter()
    for number in numbers:
        case = Case(number, tmp_path, wide=False)
        if case.refused:
            seen["refused"] += 1
            continue
        exact = ["patterns", "columns", "exact"]
        exact += ["milp"] if number % 3 == 0 else []
        exact += ["minlp"] if number % 10 == 1 else []
        for method in exact:
            _exact(case, method)
            seen[method] += 1
        if case.optimum is not None and case.opening != "printed":
            for method in HEURISTICS:
                result = case.solve(method)
                assert result.termination == "feasible", f"{method} {case.where}"
                least = case.optimum * (1 - EXACT) - case.rounding
                assert result.objective >= least, f"{method} {case.where}"
            seen["compared with heuristics"] += 1
    solved = len(numbers) - seen["refused"]
    assert seen["patterns"] == seen["columns"] == seen["exact"] == solved
    if len(numbers) >= 30:  # shares mean little in fewer
        assert solved >= len(numbers) * 2 // 3, seen
        assert seen["milp"] >= solved // 5, seen
        assert seen["compared with heuristics"] >= solved // 3, seen


@pytest.mark.parametrize("numbers", batches(3000, default=2, size=10))
def test_optima_in_other_corners(numbers: range, tmp_path: Path) -> None:
    """Wide nodes, crowds, late jobs; fewest-waiting, and same-jobs beside the jobs of sts."""
    seen: Counter[str] = Counter()
    for number in numbers:
        case = Case(number, tmp_path, wide=True)
        if case.optimum is None:
            assert case.solve("exact").termination == "infeasible", case.where
            continue
        countable = max(node["gpus"] for node in case.instance["nodes"]) <= 8 or number % 50 == 0
        methods = ["columns", *(["patterns"] if countable else [])]
        for method in (*methods, *(["milp"] if number % 4 == 0 else [])):
            _exact(case, method)
            seen[method] += 1
        if countable:
            _waiting_jobs(case, seen)
        seen["cut"] += case.solve("columns", iterations=1).bound is not None
    assert seen["patterns"] == seen["fewest"] >= len(numbers) // 4, seen
    assert seen["columns"] >= len(numbers) // 3, seen


def _waiting_jobs(case: Case, seen: Counter[str]) -> None:
    least = min((len(case.instance["jobs"]) - len(jobs), cost) for jobs, cost in case.costs.items())
    result = case.solve("fewest-waiting")
    where = f"{result.objective} {result.details} {least} {case.where}"
    assert len(case.instance["jobs"]) - len(case.ran(result)) == least[0], where
    assert result.objective == pytest.approx(least[1], rel=1.5e-6, abs=case.rounding), where
    assert result.details["least_cost_bound"] <= least[1] * (1 + SOLVER_RTOL) + case.rounding, where
    seen["fewest"] += 1
    if case.opening == "printed":
        return
    jobs = case.ran(case.solve("sts"))
    result = case.solve("same-jobs")
    where = f"{result.objective} {result.details} {case.costs[jobs]} {case.where}"
    assert case.ran(result) == jobs, where
    assert result.objective == pytest.approx(case.costs[jobs], rel=1.5e-6, abs=case.rounding), where
    for method in HEURISTICS[1:]:
        result = case.solve(method)
        assert result.objective >= case.costs[case.ran(result)] * (1 - EXACT) - case.rounding, (
            f"{method} {result.objective} {case.where}"
        )


@pytest.mark.parametrize(("seed", "number"), [("20261126", 1241), ("20261127", 2285)])
def test_small_optima_are_proved(
    seed: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Optima of 3.6e-6 and 1e-5 beside an energy of 27 and penalties of 0.005."""
    monkeypatch.setenv("OPTSCHED_TEST_SEED", seed)
    assert Case(number, tmp_path, wide=True).solve("columns").proved


@pytest.mark.parametrize("numbers", batches(1500, default=4, size=10))
def test_certificates_prove_what_they_say(numbers: range, tmp_path: Path) -> None:
    """Prices, and any near them, prove what exact fractions say, and every selection costs that.

    A bound claimed above that is refused, and a tree's target above the optimum proves nothing.
    """
    seen: Counter[str] = Counter()
    for number in numbers:
        case = Case(number, tmp_path, wide=True)
        if case.optimum is None:
            continue
        result = case.solve("columns")
        solution = result.solution.to_dict()
        certificate = solution.get("certificate")
        if certificate is None:
            continue
        highest = case.optimum * (1 + 1e-12) + case.rounding
        exact = case.oracle.proved(certificate, case.opening)
        where = f"{certificate} {float(exact)} {case.optimum} {case.where}"
        assert certificate["bound"] <= exact * (1 + 1e-12) + case.rounding, where
        assert exact <= highest, where
        assert case.accepts(solution), where
        for claim in (case.optimum * (1 + 1e-5), float(exact) * (1 + 3e-6) + 1e-290):
            if claim == 0:
                continue
            claim += 2 * case.rounding
            assert not case.accepts(_claiming(solution, claim)), f"{claim} {where}"
            seen["claims"] += 1
        document = case.loaded.to_dict()
        for prices in _nearby(case, certificate):
            exact = case.oracle.proved(prices, case.opening)
            assert exact <= highest, f"{prices} {where}"
            opening = prices["opening"] if case.opening == "printed" else 0.0
            stated = {**prices, "opening": opening, "kind": "prices"}
            proved = verify(document, stated, case.options)
            most = max(exact, 0) * (1 + EXACT) + case.rounding
            assert proved <= most, f"{proved} {prices} {where}"
            seen["prices"] += 1
        if case.opening != "printed" and case.sharing == "on":
            _tree(case, document, certificate, seen)
    assert seen["prices"] >= 2 * len(numbers), seen
    assert seen["claims"] >= len(numbers) // 2, seen


def _claiming(solution: dict[str, Any], bound: float) -> dict[str, Any]:
    claiming = deepcopy(solution)
    claiming["certificate"]["bound"] = bound
    return claiming


def _nearby(case: Case, certificate: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Each price a little higher or much; then all drawn anew."""
    keys = [("jobs", j) for j in range(len(certificate["jobs"]))]
    keys += [(kind, c) for kind, row in certificate["slots"].items() for c in range(len(row))]
    size = max([1e-12 * case.optimum, *map(abs, certificate["jobs"])])
    for at in case.rng.permutation(len(keys))[:12]:
        changed = deepcopy(certificate)
        kind, c = keys[at]
        row = changed["jobs"] if kind == "jobs" else changed["slots"][kind]
        row[c] *= pick(case.rng, (1 + 1e-9, 1.001, 1.5))
        row[c] += size * pick(case.rng, (0, 1e-6, 0.1))
        yield changed
    for _ in range(4):
        changed = deepcopy(certificate)
        for row in (changed["jobs"], *changed["slots"].values()):
            row[:] = [float(x) for x in case.rng.uniform(0, 2 * size, len(row))]
        changed["opening"] = float(case.rng.uniform(-size, size))
        yield changed


def _tree(
    case: Case, document: dict[str, Any], certificate: dict[str, Any], seen: Counter[str]
) -> None:
    """A tree whose leaves prove the optimum, and it again with numbers changed."""
    if not case.optimum:
        return
    search, target = script("selection_trees").selection_tree, case.optimum * (1 - 1e-7)
    tree = search(case.loaded, certificate, target, Deadline(2.0))
    if tree is None:
        return
    highest = case.optimum * (1 + EXACT) + case.rounding
    assert verify(document, tree) <= highest, f"{tree} {case.where}"
    seen["trees"] += 1
    for factor in (1 + 1e-6, 1.01, 2.0):
        higher = {**tree, "target": factor * tree["target"]}
        assert verify(document, higher) <= highest, f"{higher} {case.where}"
    for _ in range(10):
        changed = deepcopy(tree)
        changed["target"] *= pick(case.rng, (1.0, 1.01, 3.0))
        node = pick(case.rng, changed["nodes"])
        if "count" in node:
            node["most"] += pick(case.rng, (1, -1))
        else:
            rows = [node["jobs"], node["rows"], *node["slots"].values()]
            row = pick(case.rng, [each for each in rows if each])
            at = int(case.rng.integers(len(row)))
            row[at] = row[at] * pick(case.rng, (1.001, 1.1, 0.5)) + pick(case.rng, (0.0, 1e-3))
        try:
            assert verify(document, changed) <= highest, f"{changed} {case.where}"
        except CertificateRefusedError:
            seen["refused trees"] += 1


def by_hand(jobs: list[dict], rates: list[float], slowdown: dict[str, float], **more: Any) -> dict:
    """Jobs of one epoch, if no more is said, on a node with these costs and shares of a GPU."""
    epochs = {"values": [1.0], "probabilities": [1.0]}
    jobs = [{"name": f"j{j}", "epochs": epochs, **job} for j, job in enumerate(jobs)]
    types = {"A": {"memory_bytes": 24.0, "slowdown": slowdown}}
    nodes = [{"name": "n", "gpu_type": "A", "gpus": len(rates), "cost_rate": rates}]
    return document("by hand", types, nodes, jobs, **more)


@pytest.mark.parametrize(
    "method",
    [
        "patterns",
        "milp",
        *(pytest.param(m, marks=pytest.mark.full) for m in ("columns", "fewest-waiting")),
    ],
)
@pytest.mark.parametrize(
    ("due", "penalty", "optimum"), [(-1e5, 1e3, 1e5 + 30 / 11), (1.0, 1e9, 27 / 11)]
)
def test_choices_below_what_waiting_costs(
    method: str, due: float, penalty: float, optimum: float, tmp_path: Path
) -> None:
    """A job on 1 to 12 GPUs: cents decide, beside 10^8 or more dollars that waiting costs.

    On 11 GPUs it takes 3/11 s at 9 $/s, on 12 a quarter at 10, on others more than both:
    27/11 = 2.4545 against 2.5. Late by 10^5 s and that at 1 $/s, 10^5 + 30/11 against 10^5 + 2.75.
    """
    times = [6.0, 3.0, 2.0, 1.5, 1.2, 0.5, 6 / 7, 0.375, 2 / 3, 0.6, 3 / 11, 0.25]
    rates = [2.0, 2.0, 3.5, 4.0, 4.0, 6.5, 6.5, 8.0, 8.5, 8.5, 9.0, 10.0]
    job = {
        "due_date": due,
        "tardiness_weight": 1.0,
        "memory_bytes": 0.0,
        "epoch_time": {"A": times},
    }
    instance = by_hand([job], rates, {}, postponement_penalty=penalty)
    result = optsched.solve(loaded(tmp_path, instance), method)
    assert Oracle(instance).optimum() == pytest.approx(optimum, rel=1e-12)
    assert result.bound <= optimum * (1 + EXACT)
    if method != "milp":  # in its rows the unit is one of all seconds and dollars
        assert result.objective == pytest.approx(optimum, rel=EXACT)
        assert result.termination == "optimal" or result.details["proved"]
    elif result.termination == "optimal":
        assert result.objective == pytest.approx(optimum, rel=1e-6)


def test_two_jobs_late_for_decades(tmp_path: Path) -> None:
    """Each runs for 3,000 $ of lateness, or waits for 33,000: 6,000 $, not 36,000.

    A job 10^9 s late at 3 microdollars a second, of 6 ms on one of two GPUs: (20') has
    10 x 3e-6 x 10^9 on top for waiting. In units of 6 ms its rows had numbers of 2 x 10^11.
    """
    job = {"due_date": -1e9, "tardiness_weight": 3e-6, "memory_bytes": 24.0}
    job |= {"epochs": {"values": [2e-9], "probabilities": [1.0]}}
    job |= {"epoch_time": {"A": [3e6, 2121320.3]}}
    document = by_hand(
        [job, job], [5e-6, 1e-5], {"0.6": 1.0, "0.4": 1.25}, postponement_penalty=10.0
    )
    instance = loaded(tmp_path, document)
    for method in ("milp", "patterns", "columns"):
        result = optsched.solve(instance, method, options={"sharing": "off"})
        assert result.objective == pytest.approx(6000.0, rel=1e-6), method
        assert result.termination == "optimal", method


@pytest.mark.parametrize("numbers", batches(3000, default=150, size=150))
def test_checker_agrees_on_any_solution(numbers: range, tmp_path: Path) -> None:
    """Drawn solutions, most of them broken: the checker refuses exactly what breaks a rule."""
    seen: Counter[str] = Counter()
    for number in numbers:
        case = Case(number, tmp_path, wide=False)
        if case.refused:
            continue
        oracle = case.oracle
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
                assert not case.accepts(solution), where
                seen["false claims"] += 1
    for kind in ("broken", "sound", "false claims"):
        assert seen[kind] >= len(numbers) // 5, seen


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
    made = loaded(tmp_path, instance)
    optimum = Oracle(instance).optimum("printed")
    assert optimum == pytest.approx(49.5e6)
    result = optsched.solve(made, "milp", options={"node_opening": "printed"})
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
    made = loaded(tmp_path, instance)
    optimum = Oracle(instance).optimum()
    for method in ("milp", "patterns"):
        result = optsched.solve(made, method)
        assert result.termination == "optimal", method
        assert result.objective == pytest.approx(optimum, rel=1e-9), method
        assert result.bound == pytest.approx(optimum, rel=1e-6), method


@pytest.mark.parametrize("number", [349, 873, 1793, 2632])
def test_costs_near_nothing_are_proved(number: int, tmp_path: Path) -> None:
    """Late by a rounding of the clock alone, or by dollars far below 1 where waiting is free."""
    instance = draw_selection(np.random.default_rng([20261122, number]))
    oracle = Oracle(instance)
    assert oracle.optimum() == pytest.approx(0, abs=oracle.rounding())
    made = loaded(tmp_path, instance)
    for method in ("patterns", "columns", "milp", "exact"):
        result = optsched.solve(made, method)
        assert result.termination == "optimal", method
        assert result.objective == pytest.approx(0, abs=oracle.rounding()), method
        assert result.bound <= oracle.rounding(), method


def test_big_m_rows_cut_no_optimum_off(tmp_path: Path) -> None:
    """A job that may wait for nothing makes its node cheap by ending first, so all three run."""
    instance = draw_selection(np.random.default_rng([20261122, 258]))
    made = loaded(tmp_path, instance)
    options = {"node_opening": "at-most", "sharing": "off"}
    optimum = Oracle(instance, sharing=False).optimum("at-most")
    assert optimum == pytest.approx(0.0134)
    result = optsched.solve(made, "milp", options=options)
    assert result.termination == "optimal"
    assert result.objective == pytest.approx(optimum)
