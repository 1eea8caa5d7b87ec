"""Speed profiles made to be decided by an ulp: ties, atoms at breakpoints, extreme units."""

from __future__ import annotations

import numpy as np

from optsched.generators.speed_profile import ProfileSettings, generate_speed_profile
from optsched.speed_profile.instance import SpeedProfileInstance

Document = dict


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
    values, weights = _work(rng)
    chances = weights / weights.sum()
    completed = float(values[0]) / 3 if rng.random() < 0.2 else 0.0
    time_unit, work_unit, money = (2.0 ** rng.integers(-9, 10, size=3)) * _tenths(rng)
    values, completed = values * work_unit, completed * work_unit
    speeds, power = speeds * work_unit / time_unit, power * money
    return SpeedProfileInstance.from_dict(
        {
            "schema": "optsched/speed-profile",
            "version": 1,
            "name": "adversarial",
            "speeds": [float(s) for s in speeds],
            "power": [float(p) for p in power],
            "deadline": _deadline(rng, np.diff([completed, *values]), speeds),
            "completed": completed,
            "work": {
                "values": [float(w) for w in values],
                "probabilities": [float(p) for p in chances],
            },
        }
    )


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
    """Speeds that differ by a millionth."""
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


def _work(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Values, and weights by which survival halves, falls evenly or as it likes."""
    count = int(rng.choice([1, 2, 3, 5, 12]))
    values = np.cumsum(rng.integers(1, 6, size=count)).astype(float)
    kind = int(rng.integers(3))
    if kind == 0:
        return values, 2.0 ** -np.minimum(np.arange(1, count + 1), count - 1)
    return values, np.ones(count) if kind == 1 else rng.uniform(0.01, 1.0, size=count)


def _deadline(rng: np.random.Generator, lengths: np.ndarray, speeds: np.ndarray) -> float:
    """Anything between, or the time of whole pieces at speeds that grow, an ulp off or not."""
    if rng.random() < 0.3:
        work = lengths.sum()
        return float(rng.uniform(work / speeds[-1], work / speeds[0]))
    used = np.sort(rng.integers(len(speeds), size=len(lengths)))
    exact = float((lengths / speeds[used]).sum())
    return exact * (1 + float(rng.integers(-2, 3)) * 2.0**-52)
