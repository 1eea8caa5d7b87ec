"""No checker knows a unit: instances 1e-9 to 1e9 times as large get the same verdicts."""

import copy
import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
from oracles import speed_profile_cases
from oracles.selection_cases import tiny
from sampling import first
from scales import MONEY, TIME, changes_of_unit, factor, in_units

import optsched
from optsched import check, solve
from optsched.generators.online import generate_workload
from optsched.library import shipped_names
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.jobs import prepare_jobs
from optsched.online.instance import OnlineInstance
from optsched.online.simulator.engine import simulate_online as run_policy
from optsched.online.solution import OnlineSolution
from optsched.problem import resolve
from optsched.problems import PROBLEMS
from optsched.rolling.runs import run_policies
from optsched.rolling.solution import RollingSolution
from optsched.speed_profile.instance import SpeedProfileInstance

FULL = pytest.mark.full
JUST_TOO_MUCH = 3e-6
"""Relative: a corruption of so much of its own quantity is found at every scale."""

Corruption = tuple[str, Callable[[dict[str, Any], dict[str, Any]], None]]
"""The rule broken, and what breaks it in an instance's and a solution's documents."""


def shipped(problem: str, largest: int = 60_000) -> list[str]:
    names = [name for name in shipped_names() if name.startswith(f"{problem}/")]
    return [name for name in names if len(str(optsched.load(name).to_dict())) < largest]


def corrupt(
    path: tuple[str | int, ...], by: Callable[[Any], Any], *, instance: bool = False
) -> Any:
    def change(given: dict[str, Any], solution: dict[str, Any]) -> None:
        node: Any = given if instance else solution
        for part in path[:-1]:
            node = node[part]
        node[path[-1]] = by(node[path[-1]])

    return change


def more(value: float) -> float:
    return value * (1 + JUST_TOO_MUCH)


def less(value: float) -> float:
    return value * (1 - JUST_TOO_MUCH)


def report(problem: str, instance: dict[str, Any], solution: dict[str, Any]) -> Any:
    entry = PROBLEMS[problem]
    return check(
        resolve(entry.instance).from_dict(instance), resolve(entry.solution).from_dict(solution)
    )


def assert_same_everywhere(
    problem: str,
    instance: dict[str, Any],
    solution: dict[str, Any],
    units: list[dict[str, float]],
    dimension: dict[str, int],
    corruptions: list[Corruption],
) -> None:
    """Feasible with the objective in other units, and each corruption found by its own rule."""
    unscaled = report(problem, instance, solution)
    assert unscaled.feasible, unscaled
    for unit in units:
        given = in_units(instance, unit)
        scaled = in_units(solution, unit, objective=dimension)
        found = report(problem, given, scaled)
        assert found.feasible, (instance["name"], unit, found)
        if unscaled.objective is not None:
            expected = unscaled.objective * factor(dimension, unit)
            assert abs(found.objective - expected) <= 1e-9 * expected + found.rounding, unit
        for rule, change in corruptions:
            broken = copy.deepcopy((given, scaled))
            change(*broken)
            rules = {violation.rule for violation in report(problem, *broken).violations}
            assert rules == {rule}, (instance["name"], unit, rule, rules)


CLAIMS: list[Corruption] = [
    ("claimed objective", corrupt(("objective",), more)),
    ("claimed objective", corrupt(("objective",), less)),
    ("claimed objective", corrupt(("objective",), lambda value: 2 * value)),
    ("claimed objective", corrupt(("objective",), lambda _: 0.0)),
]


def full_where(large: bool) -> list[Any]:
    return [FULL] if large else []


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=full_where(n[-1] == "g")) for n in shipped("placement")]
)
def test_placements(name: str) -> None:
    solved = solve(name, "heavy-edge")
    instance = in_units(optsched.load(name).to_dict(), {"bytes": 1e-9})  # bandwidths from 1 up
    stage = max(range(len(instance["job"]["stages"])), key=lambda s: solved.solution.counts[s][0])
    corruptions = [
        *CLAIMS,
        ("replicas", corrupt(("counts", stage, 0), lambda count: count - 1)),
        ("non-negative", corrupt(("counts", stage, 0), lambda _: -1)),
    ]
    units = changes_of_unit("time", "bytes")
    assert_same_everywhere(
        "placement", instance, solved.solution.to_dict(), units, TIME, corruptions
    )


def from_one_up(document: dict[str, Any], seconds: float) -> dict[str, float]:
    """Units in which the least memory is 1.5 and the shortest epoch so many: what files hold."""
    shortest = min(t for job in document["jobs"] for ts in job["epoch_time"].values() for t in ts)
    least = min(kind["memory_bytes"] for kind in document["gpu_types"].values())
    return {"bytes": 1.5 / least, "time": seconds / shortest}


def selections() -> list[Any]:
    names = shipped("selection")
    large = ("12x48", "10x40", "10x20", "5x10")
    return [
        *(pytest.param(n, id=n, marks=full_where(any(s in n for s in large))) for n in names),
        *(pytest.param(seed, id=f"tiny-{seed}", marks=full_where(seed > 2)) for seed in range(12)),
    ]


@pytest.mark.parametrize("given", selections())
def test_selections(given: str | int) -> None:
    loaded = optsched.load(given) if isinstance(given, str) else tiny(given)
    solved = solve(loaded, "columns" if isinstance(given, int) else "sts")
    document = loaded.to_dict()
    start = from_one_up(document, 1.5)
    instance = in_units(document, start)
    scaled = in_units(solved.solution.to_dict(), start, objective=MONEY)
    corruptions: list[Corruption] = [*CLAIMS] if scaled["objective"] else []
    if solved.solution.certificate is not None and solved.solution.certificate.bound:
        overstated = corrupt(("certificate", "bound"), lambda x: x + JUST_TOO_MUCH * abs(x))
        corruptions.append(("certificate", overstated))
    for i in [i for i, each in enumerate(scaled["jobs"]) if each["node"] is not None][:1]:
        corruptions.append(("GPU index", corrupt(("jobs", i, "gpus"), lambda _: [99])))
    units = changes_of_unit("time", "bytes", "money")
    assert_same_everywhere("selection", instance, scaled, units, MONEY, corruptions)


@pytest.mark.parametrize("name", ["packing/two-nodes", "packing/mixed-8"])
@pytest.mark.parametrize(("cpu", "memory"), [(1, 1), (1000, 1), (1, 1000), (7, 600)])
def test_packings(name: str, cpu: int, memory: int) -> None:
    """A full node stays full in other units, and is short of one unit of CPU or memory."""
    solution = solve(name, "fgd").solution.to_dict()
    document = optsched.load(name).to_dict()
    for each in (*document["nodes"], *document["tasks"]):
        each["cpu_milli"] *= cpu
        each["memory_bytes"] *= memory
    assert report("packing", document, solution).feasible
    node = solution["placements"][0]["node"]
    tasks = [
        document["tasks"][document["arrivals"][placed["task"]]]
        for placed in solution["placements"]
        if placed["node"] == node
    ]
    for key, rule in (("cpu_milli", "cpu"), ("memory_bytes", "memory")):
        full = copy.deepcopy(document)
        full["nodes"][node][key] = sum(task[key] for task in tasks)
        assert report("packing", full, solution).feasible
        full["nodes"][node][key] -= 1
        assert [v.rule for v in report("packing", full, solution).violations] == [rule]


@pytest.mark.parametrize("unit", changes_of_unit("bytes"))
def test_memory_is_short_at_every_scale(unit: dict[str, float]) -> None:
    document = optsched.load("selection/3x6").to_dict()
    scaled = solve("selection/3x6", "sts").solution.to_dict()
    placed = next(each for each in scaled["jobs"] if each["node"] is not None)
    kind = next(n["gpu_type"] for n in document["nodes"] if n["name"] == placed["node"])
    job = next(each for each in document["jobs"] if each["name"] == placed["name"])
    document["gpu_types"]["large"] = {"memory_bytes": 1e12, "slowdown": {}}
    document["nodes"].append({"name": "l", "gpu_type": "large", "gpus": 1, "cost_rate": [1.0]})
    job["epoch_time"]["large"] = [1.0]
    room = placed.get("fraction", 1.0) * document["gpu_types"][kind]["memory_bytes"]
    for memory, rules in ((less(room), set()), (more(room), {"memory"})):
        job["memory_bytes"] = memory
        given = in_units(document, {"bytes": 1e-9 * unit["bytes"]})
        found = report("selection", given, {**scaled, "objective": None})
        assert {violation.rule for violation in found.violations} == rules


def profiles() -> list[Any]:
    names = [pytest.param(name, id=name) for name in shipped("speed-profile")]
    drawn = (pytest.param(n, id=f"profile-{n}", marks=full_where(n > 8)) for n in range(30))
    return [*names, *drawn]


def drawn_profile(number: int) -> SpeedProfileInstance:
    """A drawn case whose epochs stay within the format in units 1e9 times as large."""
    for seed in itertools.count(1):
        instance = speed_profile_cases.draw(seed, (0, 1, 5)[number % 3] + 16 * number).instance
        work = instance["work"]
        if min(work["values"] if "values" in work else work["points"][1:]) >= 1:
            return SpeedProfileInstance.from_dict(instance)
    raise AssertionError


@pytest.mark.parametrize("given", profiles())
def test_speed_profiles(given: str | int) -> None:
    loaded = optsched.load(given) if isinstance(given, str) else drawn_profile(given)
    document, solution = loaded.to_dict(), solve(loaded, "hull").solution.to_dict()
    start = {"time": document["speeds"][0], "epochs": 1.5}  # the slowest speed is 1.5
    instance = in_units(document, start)
    scaled = in_units(solution, start, objective=MONEY)
    corruptions: list[Corruption] = []
    if scaled["status"] != "infeasible":
        begun, last = scaled["pieces"][0], len(scaled["pieces"]) - 1
        short = JUST_TOO_MUCH * (begun["to"] - begun["from"])
        corruptions += CLAIMS if scaled["objective"] else []
        corruptions += [
            ("pieces", corrupt(("pieces", 0, "from"), lambda _: begun["from"] + short)),
            ("pieces", corrupt(("pieces", last, "to"), less)),
            ("speed", corrupt(("pieces", last, "speed"), lambda _: len(document["speeds"]))),
        ]
    if scaled["status"] == "binding":
        corruptions += [
            ("deadline", corrupt(("deadline",), less, instance=True)),
            ("status", corrupt(("deadline",), more, instance=True)),
        ]
    if scaled["status"] == "infeasible":
        left = loaded.max_work - document.get("completed", 0)
        enough = left / document["speeds"][-1] * document["speeds"][0]
        corruptions.append(
            ("status", corrupt(("deadline",), lambda _: more(enough), instance=True))
        )
    for unit in changes_of_unit("time", "money", "epochs"):
        in_units_of = [(rule, _in_unit(change, unit)) for rule, change in corruptions]
        assert_same_everywhere("speed-profile", instance, scaled, [unit], MONEY, in_units_of)


def _in_unit(change: Any, unit: dict[str, float]) -> Any:
    """A corruption of the documents in their first units, put into others afterwards."""

    def changed(given: dict[str, Any], solution: dict[str, Any]) -> None:
        back = {name: 1 / scale for name, scale in unit.items()}
        before = in_units(given, back), in_units(solution, back, objective=MONEY)
        change(*before)
        given.update(in_units(before[0], unit))
        solution.update(in_units(before[1], unit, objective=MONEY))

    return changed


def stretched(name: str, row: dict[str, Any], length: float) -> None:
    row[name] += JUST_TOO_MUCH * length


def wrong_epochs(_: dict[str, Any], solution: dict[str, Any]) -> None:
    shortest = min(solution["segments"], key=lambda each: each["epochs"])
    shortest["epochs"] = more(shortest["epochs"])


def wrong_completion(_: dict[str, Any], solution: dict[str, Any]) -> None:
    job = solution["jobs"][0]
    stretched("completion", job, job["completion"] - job["first_start"])


def wrong_stretch(_: dict[str, Any], solution: dict[str, Any]) -> None:
    shortest = min(solution["nodes"], key=lambda each: each["end"] - each["start"])
    stretched("end", shortest, shortest["end"] - shortest["start"])


def late_arrival(given: dict[str, Any], solution: dict[str, Any]) -> None:
    arrivals = [job["submit_time"] for job in given["jobs"]]
    job = next(j for j in solution["jobs"] if arrivals[j["job"]] == j["first_start"])
    stretched("submit_time", given["jobs"][job["job"]], job["completion"] - job["first_start"])


@pytest.mark.parametrize("name", first(1, ["three-by-hand", "delay-3x30", "sharing-6x60"]))
def test_runs_over_time(name: str) -> None:
    loaded = optsched.load(f"rolling/{name}")
    (done,) = run_policies(loaded, ["edf"])
    scaled = RollingSolution.of(done.records, done.metrics.total_cost).to_dict()
    document = loaded.to_dict()
    start = {**from_one_up(document, 3.0), "epochs": 1.5}
    instance, scaled = in_units(document, start), in_units(scaled, start, objective=MONEY)
    corruptions: list[Corruption] = [
        *CLAIMS,
        ("epochs", wrong_epochs),
        ("completion", wrong_completion),
        ("node intervals", wrong_stretch),
        ("arrival", late_arrival),
    ]
    units = changes_of_unit("time", "bytes", "money", "epochs")
    assert_same_everywhere("rolling", instance, scaled, units, MONEY, corruptions)


def early_end(_: dict[str, Any], solution: dict[str, Any]) -> None:
    shortest = min(solution["jobs"], key=lambda job: job["end"] - job["start"])
    stretched("end", shortest, shortest["start"] - shortest["end"])


def early_start(_: dict[str, Any], solution: dict[str, Any]) -> None:
    job = solution["jobs"][0]
    length = job["end"] - job["start"]
    job["start"], job["end"] = -JUST_TOO_MUCH * length, (1 - JUST_TOO_MUCH) * length


ONLINE: list[Corruption] = [*CLAIMS, ("duration", early_end), ("start", early_start)]


@pytest.mark.parametrize("policy", first(1, ["a-srpt", "wcs-duration", "srpt-workload-hold"]))
def test_simulations(policy: str) -> None:
    """The engine runs in each unit: in powers of two, where nothing is rounded, the same way."""
    cluster = OnlineCluster.of(4, 8)
    workload, catalogue = generate_workload(40, cluster, seed=3)
    document = OnlineInstance(workload, catalogue, cluster).to_dict()
    document = in_units(document, {"bytes": 2.0**-30})
    unscaled = report("online", document, simulated(document, policy))
    assert unscaled.feasible
    for scale in (2.0**-30, 2.0**30, 1e-9, 1e-3, 1e9):
        for unit in ({"time": scale, "bytes": 1.0}, {"time": scale, "bytes": scale}):
            given = in_units(document, unit)
            scaled = simulated(given, policy)
            found = report("online", given, scaled)
            assert found.feasible, (unit, found)
            if math.frexp(scale)[0] == 0.5:
                assert found.objective == unscaled.objective * scale
            for rule, change in ONLINE:
                broken = copy.deepcopy((given, scaled))
                change(*broken)
                claim = {} if rule == "claimed objective" else {"objective": None}
                rules = {v.rule for v in report("online", given, broken[1] | claim).violations}
                assert rules == {rule}, (unit, rule)


def simulated(document: dict[str, Any], policy: str) -> dict[str, Any]:
    """A run's file."""
    instance = OnlineInstance.from_dict(document)
    jobs = prepare_jobs(instance.workload, instance.catalogue, instance.cluster)
    options = {"predictor": "perfect"}
    run = OnlineSolution.of(run_policy(jobs, policy), instance.name, options=options)
    return run.to_dict()
