"""Adversarial speed profiles: ties, atoms at breakpoints, degenerate hulls, edges of time."""

import copy
from math import nan
from typing import Any, NamedTuple

import numpy as np

from optsched.generators.speed_profile import ProfileSettings, generate_speed_profile
from optsched.speed_profile.instance import SpeedProfileInstance
from oracles import speed_profile as oracle
from oracles.harness import NO_NUMBERS, Edit, spoil


class Case(NamedTuple):
    """One drawn case."""

    family: str
    instance: dict
    gap: float
    rng: np.random.Generator


FAMILIES = (
    "plain",
    "curve",
    "integers",
    "atoms at breakpoints",
    "collinear",
    "idle power",
    "completed",
    "completed curve",
    "plateaus",
    "units",
    "any power",
    "nearly equal speeds",
    "small",
    "unsorted",
    "many atoms",
    "refused",
)


def draw(seed: int, number: int) -> Case:
    rng = np.random.default_rng([seed, number])
    family = FAMILIES[number % len(FAMILIES)]
    speeds, power = _speeds(rng, family)
    instance = document(f"case-{number}", speeds, power, _work(rng, family))
    if family.startswith("completed"):
        _complete(rng, instance)
    if family == "units":
        epoch, time = 10.0 ** rng.integers(-6, 7), 10.0 ** rng.integers(-6, 7)
        # speeds (epochs per second) stay above the format's 1e-9
        _rescale(instance, min(time, epoch * 1e5), epoch)
    instance["deadline"] = _deadline(rng, instance)
    if family == "refused":
        spoil(rng, instance, SPOILS)
    return Case(family, instance, float(rng.choice([1e-6, 1e-6, 0])), rng)


def document(name: str, speeds: Any, power: Any, work: dict) -> dict[str, Any]:
    return {
        "schema": "optsched/speed-profile",
        "version": 1,
        "name": name,
        "speeds": [float(s) for s in speeds],
        "power": [float(p) for p in power],
        "deadline": 0.0,
        "completed": 0.0,
        "work": work,
    }


def corrupted(rng: np.random.Generator, solution: dict, speeds: int) -> dict:
    """A solution one careless edit away; it may still be a valid one."""
    solution = {**copy.deepcopy(solution), "objective": None}
    pieces = solution["pieces"]
    edit = int(rng.integers(9))
    if not pieces:
        solution["status"] = str(rng.choice(["slack", "binding", "infeasible"]))
        return solution
    i = int(rng.integers(len(pieces)))
    span = pieces[-1]["to"] - pieces[0]["from"]
    match edit:
        case 0:
            pieces[i]["speed"] = int(rng.integers(-1, speeds + 1))
        case 1:
            pieces[i]["to"] += float(rng.choice([-0.01, 0.01])) * span
        case 2:
            pieces[i]["from"] += float(rng.choice([-0.01, 0.01])) * span
        case 3:
            del pieces[i]
        case 4:
            solution["status"] = str(rng.choice(["slack", "binding", "infeasible"]))
        case 5:
            pieces.reverse()
        case 6:
            pieces[i]["speed"] = speeds - 1
            solution["status"] = "slack"
        case 7:
            middle = (pieces[i]["from"] + pieces[i]["to"]) / 2
            pieces.insert(i + 1, {**pieces[i], "from": middle})
            pieces[i] = {**pieces[i], "to": middle}
        case _:
            solution["pieces"] = []
    return solution


def _speeds(rng: np.random.Generator, family: str) -> tuple[np.ndarray, np.ndarray]:
    k = int(rng.integers(1, 4)) if family == "small" else int(rng.integers(2, 7))
    gpus = np.arange(1, k + 1)
    speeds = gpus ** rng.uniform(0.4, 1) * 10 ** rng.uniform(-3, 1)
    power = gpus ** rng.uniform(1, 2) * 10 ** rng.uniform(0, 3)
    if family in ("integers", "atoms at breakpoints", "unsorted") or rng.random() < 0.1:
        speeds = np.sort(rng.choice(np.arange(1, 13), k, replace=False)).astype(float)
        power = np.sort(rng.integers(0, 20, k)).astype(float)
    if family == "atoms at breakpoints":
        # 1/s falls by equal steps and Q rises by doubling ones: multipliers 1, 2, 4, ...
        k = min(k, 5)
        times = np.arange(k + 1, 1, -1).astype(float)
        energies = 2.0 ** np.arange(k) + rng.integers(0, 3)
        speeds, power = 1 / times, energies / times
    elif family == "collinear":
        times = np.sort(rng.choice(np.arange(1, 17), k, replace=False))[::-1] / 8.0
        slope = float(rng.choice([0.0, 0.5, 1.0, 3.7]))
        energies = 1 + slope * (times[0] - times)
        if k > 2 and rng.random() < 0.5:
            energies[rng.integers(k)] += float(rng.choice([-0.25, 0.25, 1e-15]))
        speeds, power = 1 / times, np.maximum(energies / times, 0)
    elif family == "idle power":
        power = power + float(10 ** rng.uniform(0, 4))
    elif family == "any power":
        power = rng.uniform(0, 100, k) * (rng.random(k) < 0.7)
    elif family == "nearly equal speeds":
        speeds = speeds[0] * (1 + np.arange(k) * 10.0 ** rng.integers(-7, -2))
    return speeds, power


def _work(rng: np.random.Generator, family: str) -> dict:
    atoms = int(rng.integers(1, 7))
    if family == "many atoms":
        atoms = int(rng.integers(15, 30))
    if family == "small":
        atoms = int(rng.integers(1, 3))
    if family in ("curve", "completed curve", "plateaus") or (
        family in ("units", "idle power", "collinear", "any power") and rng.random() < 0.4
    ):
        steps = rng.uniform(0, 1, atoms)
        if family == "plateaus":
            steps = steps * (rng.random(atoms) < 0.5)
        rest = float(rng.choice([0.0, 0.3])) if steps.sum() > 0 else 1.0
        falls = steps / max(steps.sum(), 1e-300) * (1 - rest)
        survival = np.clip(1 - np.concatenate(([0.0], np.cumsum(falls))), 0, 1)
        survival = np.minimum.accumulate(survival)
        survival[-1] = min(rest, survival[-1])
        if rng.random() < 0.2:
            points = np.arange(atoms + 1.0)
        else:
            points = np.concatenate(([0.0], np.cumsum(10 ** rng.uniform(-1, 2, atoms))))
        return {"points": points.tolist(), "survival": survival.tolist()}
    values = np.sort(rng.choice(np.arange(1, 61), atoms, replace=False)).astype(float)
    if rng.random() < 0.4:
        values = np.cumsum(10 ** rng.uniform(-1, 2, atoms))
    weights = rng.uniform(0.01, 1, atoms)
    if family in ("integers", "unsorted") or rng.random() < 0.2:
        weights = np.ones(atoms)
    if family == "atoms at breakpoints":
        weights = 2.0 ** -np.arange(1.0, atoms + 1)
        weights[-1] *= 2
    chances = weights / weights.sum()
    if family == "unsorted":
        order = rng.permutation(atoms)
        values, chances = values[order], chances[order]
        if rng.random() < 0.3 and atoms > 1:
            values[0] = values[1]
    return {"values": values.tolist(), "probabilities": chances.tolist()}


def _complete(rng: np.random.Generator, instance: dict) -> None:
    """Some epochs are done: at a breakpoint, between two, or next to the end."""
    work = instance["work"]
    knots = sorted(work.get("values", work.get("points")))
    if "survival" in work:
        # somewhere work is still left with a chance above 0
        end = max(p for p, f in zip(work["points"], work["survival"], strict=True) if f > 0)
        last = max(end, work["points"][1] / 2)
        knots = [p for p in knots if p < last] + [last]
    at = float(rng.choice(knots))
    most = knots[-1]
    done = float(rng.choice([at, 0.5 * at, float(rng.uniform(0, most)), most * (1 - 1e-6)]))
    instance["completed"] = done if done < most else most / 2


def _rescale(instance: dict, time: float, epoch: float) -> None:
    """Seconds and epochs in other units."""
    work = instance["work"]
    for key in ("values", "points"):
        if key in work:
            work[key] = [value * epoch for value in work[key]]
    instance["completed"] *= epoch
    instance["speeds"] = [speed * epoch / time for speed in instance["speeds"]]


def _deadline(rng: np.random.Generator, instance: dict) -> float:
    """At, around and between the least time and the time of the cheapest profile."""
    speeds = instance["speeds"]
    parts = oracle.segments_of(instance)
    lengths = [float(part.end - part.start) for part in parts]
    work = float(parts[-1].end - parts[0].start)
    least, longest = work / speeds[-1], work / speeds[0]
    match int(rng.integers(10)):
        case 0:
            return least
        case 1:
            return least * float(rng.choice([1 - 1e-5, 0.9, 0.0]))
        case 2:
            return least * float(rng.choice([1 + 1e-12, 1 + 1e-9, 1 + 1e-5]))
        case 3:
            return longest * float(rng.choice([1.0, 1 + 1e-5, 2.0]))
        case 4:
            return work / float(rng.choice(speeds))
        case 5 | 6:
            # slow up to some atom, fast behind it: a vertex of the programme
            turn = int(rng.integers(len(parts) + 1))
            slow, fast = sorted(float(s) for s in rng.choice(speeds, 2))
            return sum(length / (slow if i < turn else fast) for i, length in enumerate(lengths))
        case _:
            return float(rng.uniform(least, longest))


SPOILS: tuple[Edit, ...] = (
    ("speeds", lambda speeds, _: [*speeds, speeds[0]], lambda speeds, _: [3.0, 2.0, 1.0]),
    ("speeds.0", 0.0, -1.0, nan),
    ("power.0", *NO_NUMBERS),
    ("power", lambda power, _: [*power, 1.0]),
    ("deadline", *NO_NUMBERS),
    ("completed", *(lambda _, file, by=by: by * max(file["work"]["values"]) for by in (1, 2))),
    ("work.probabilities.0", *(lambda p, _, by=by: p + by for by in (1e-6, 0.5)), 0.0),
    ("work.values.0", *NO_NUMBERS),
    (
        "work",
        {"values": [], "probabilities": []},
        {"points": [0.0, 1.0, 2.0], "survival": [1.0, 0.5, 0.6]},
        {"points": [0.0, 1.0, 1.0], "survival": [1.0, 0.5, 0.0]},
        {"points": [0.0, 1.0], "survival": [0.9, 0.0]},
        {"points": [0.5, 1.0], "survival": [1.0, 0.0]},
        {"points": [0.0], "survival": [1.0]},
    ),
)
"""Edits of one place, each of which breaks the contract of the file."""


# --- decided by an ulp ----------------------------------------------------------------------------


def generated(rng: np.random.Generator) -> SpeedProfileInstance:
    """An instance of the package's own generator, mostly with a binding deadline."""
    settings = ProfileSettings(
        network=str(rng.choice(["AlexNet", "ResNet", "VGG16", "MobileNetV2"])),
        gpus=int(rng.integers(2, 9)),
        speedup=float(rng.choice([0.5, 0.8, 0.9, 1.0])),
        idle_power=float(rng.choice([0.0, 60.0])),
    )
    made = generate_speed_profile(settings, seed=int(rng.integers(2**31)))
    fastest, slowest = (made.max_work / made.speeds[k] for k in (-1, 0))
    deadline = float(rng.uniform(0.99 * fastest, 1.01 * slowest))
    return made.model_copy(update={"deadline": deadline})


def adversarial(rng: np.random.Generator) -> SpeedProfileInstance:
    """Products F^c Phi that tie, a deadline that some whole pieces meet exactly, other units."""
    speeds, power = _TIES[int(rng.integers(len(_TIES)))](rng)
    values, weights = _tied_work(rng)
    chances = weights / weights.sum()
    completed = float(values[0]) / 3 if rng.random() < 0.2 else 0.0
    time_unit, work_unit, money = (2.0 ** rng.integers(-9, 10, size=3)) * _tenths(rng)
    values, completed = values * work_unit, completed * work_unit
    speeds, power = speeds * work_unit / time_unit, power * money
    work = {"values": values.tolist(), "probabilities": chances.tolist()}
    file = document("adversarial", speeds, power, work)
    file["deadline"] = _tied_deadline(rng, np.diff([completed, *values]), speeds)
    return SpeedProfileInstance.from_dict({**file, "completed": completed})


def _tenths(rng: np.random.Generator) -> float:
    """1, or a factor that no float holds exactly."""
    return float(rng.choice([1.0, 0.1, 0.3, 1 / 3]))


def _doubling(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Slopes of the hull that are powers of two times one number, as survival is."""
    count = int(rng.integers(2, 7))
    inverse = np.cumsum(rng.integers(1, 4, size=count))[::-1] / float(rng.choice([1, 3, 7, 10]))
    steps = np.diff(inverse) * -(2.0 ** np.arange(count - 1))
    energy = np.concatenate(([1.0], 1.0 + np.cumsum(steps))) * _tenths(rng)
    return 1 / inverse, energy / inverse


def _equal_slopes(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """All speeds on one line of the hull: only rounding tells them apart."""
    count = int(rng.integers(2, 9))
    inverse = np.sort(rng.uniform(0.1, 3.0, size=count))[::-1]
    return 1 / inverse, (5.0 - inverse) / inverse


def _close_speeds(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    count = int(rng.integers(2, 6))
    speeds = 1.0 + 1e-6 * np.arange(count)
    return speeds, np.cumsum(rng.uniform(0.1, 1.0, size=count)) + 3


def _power_law(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    count = np.arange(1, int(rng.integers(1, 9)) + 1)
    return count ** float(rng.choice([0.5, 0.8, 1.0])), count * float(rng.choice([0.1, 300.0]))


def _flat(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The same power at any speed, or none."""
    count = int(rng.integers(1, 6))
    return np.cumsum(rng.uniform(0.1, 1.0, size=count)), np.full(count, rng.choice([0.0, 1.0]))


_TIES = (_doubling, _doubling, _equal_slopes, _close_speeds, _power_law, _flat)


def _tied_work(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Values, and weights by which survival halves, falls evenly or as it likes."""
    count = int(rng.choice([1, 2, 3, 5, 12]))
    values = np.cumsum(rng.integers(1, 6, size=count)).astype(float)
    kind = int(rng.integers(3))
    if kind == 0:
        return values, 2.0 ** -np.minimum(np.arange(1, count + 1), count - 1)
    return values, np.ones(count) if kind == 1 else rng.uniform(0.01, 1.0, size=count)


def _tied_deadline(rng: np.random.Generator, lengths: np.ndarray, speeds: np.ndarray) -> float:
    """Anything between, or the time of whole pieces at speeds that grow, an ulp off or not."""
    if rng.random() < 0.3:
        work = lengths.sum()
        return float(rng.uniform(work / speeds[-1], work / speeds[0]))
    used = np.sort(rng.integers(len(speeds), size=len(lengths)))
    exact = float((lengths / speeds[used]).sum())
    return exact * (1 + float(rng.integers(-2, 3)) * 2.0**-52)
