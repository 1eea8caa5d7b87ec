"""What tests against an oracle share: drawn case numbers, files in, plain data out."""

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optsched
from optsched.errors import InputError

ROUNDING = 1e-9
"""Relative; sums of some dozen float64 products differ by 1e-14 between two ways of adding."""


@contextmanager
def case_named_on_failure(seed: int, number: int, instance: dict) -> Iterator[None]:
    """Add to a failure the seed and number with which its case is drawn again."""
    try:
        yield
    except Exception as failure:
        case = f"seed {seed}, case {number}: {type(failure).__name__}: {failure}"
        raise AssertionError(f"{case}\n{json.dumps(instance)}") from failure


def loaded(folder: Path, instance: dict) -> Any:
    """The instance as the package reads it from a file."""
    file = folder / "instance.json"
    file.write_text(json.dumps(instance))
    return optsched.load(file)


def refused(folder: Path, instance: dict) -> bool:
    """Whether the file is bad input, said in one line."""
    try:
        loaded(folder, instance)
    except InputError as error:
        assert "\n" not in str(error), f"a refusal of several lines: {error}"
        return True
    return False


LEFT_OUT = object()
"""In an edit: the field is left out."""
NO_NUMBERS = (-1.0, nan, inf, -inf)
"""What no quantity may be."""
Edit = tuple[Any, ...]
"""A path in a document, such as job.stages.*.replicas, and values of which any may stand there.

A star is any entry of a list; a function takes the old value and the document.
"""


def pick(rng: np.random.Generator, values: Any) -> Any:
    """One of some values, as plain Python."""
    return values[int(rng.integers(len(values)))]


def spoil(rng: np.random.Generator, document: dict, edits: Sequence[Edit]) -> None:
    path, *values = pick(rng, edits)
    value = pick(rng, values)
    *parents, last = path.split(".")
    place: Any = document
    for key in parents:
        place = place[_key(rng, place, key)]
    key = _key(rng, place, last)
    if value is LEFT_OUT:
        del place[key]
    else:
        place[key] = value(place[key], document) if callable(value) else value


def _key(rng: np.random.Generator, place: Any, key: str) -> Any:
    if isinstance(place, list):
        return int(rng.integers(len(place))) if key == "*" else int(key)
    return key


def was_refused(folder: Path, case: Any, counts: Counter[str]) -> bool:
    """Count a case; of the family of bad files, assert that the package refuses it."""
    counts["cases"] += 1
    if case.family != "refused":
        return False
    assert refused(folder, case.instance), "a bad file was read"
    counts["refused files"] += 1
    return True


def accepts(folder: Path, instance: Any, solution: dict) -> tuple[bool, float | None]:
    """Whether the package's check lets a solution file pass, and the objective it recomputes."""
    file = folder / "solution.json"
    file.write_text(json.dumps(solution))
    try:
        report = optsched.check(instance, file)
    except InputError:
        return False, None
    return report.feasible, report.objective


def close(value: float, expected: float, tolerance: float = ROUNDING) -> bool:
    """Equal up to a relative tolerance; nothing is close to 0 but 0."""
    return abs(value - expected) <= tolerance * abs(expected)


def proves(result: Any, optimum: float, gap: float) -> None:
    """Assert that an exact method's result is the optimum, proved to the gap asked."""
    assert result.termination.value == "optimal", f"{result.method}: {result.termination}"
    slack = max(gap, ROUNDING)
    assert close(result.objective, optimum, slack), (
        f"{result.method}: {result.objective}, the optimum is {optimum}"
    )
    assert result.bound is not None, f"{result.method}: proved without a bound"
    assert result.objective - result.bound <= slack * abs(result.objective) + ROUNDING * abs(
        optimum
    ), f"{result.method}: optimal at {result.objective} with bound {result.bound}"


def stays_below(result: Any, optimum: float, word: float = ROUNDING) -> None:
    """Assert bound <= optimum <= objective; a bound on a solver's word up to its tolerance."""
    if result.bound is not None:
        slack = word if result.bound_source == result.solver else ROUNDING
        assert result.bound <= optimum + slack * abs(optimum), (
            f"{result.method}: bound {result.bound} ({result.bound_source}) above {optimum}"
        )
    if result.objective is not None:
        assert result.objective >= optimum - ROUNDING * abs(optimum), (
            f"{result.method}: {result.objective} is below the optimum {optimum}"
        )


def seed_of_the_day() -> int:
    """The day's seed, as the run's last lines print it (see ``tests/conftest.py``)."""
    return int(os.environ["OPTSCHED_TEST_SEED"])


def batches(nightly: int, default: int, size: int) -> list:
    """Parameters of a test over ``size`` cases a call, each a range of case numbers.

    The default run takes the first ``default`` cases, ``pytest -m nightly`` all ``nightly``. A case
    is drawn from ``(seed_of_the_day(), its number)``, so that any can be made again alone.
    """
    drawn = [range(at, min(at + size, default)) for at in range(0, default, size)]
    whole = [range(at, min(at + size, nightly)) for at in range(0, nightly, size)]
    return [
        *(pytest.param(part, id=f"{part.start}-{part.stop}") for part in drawn),
        *(
            pytest.param(part, id=f"nightly-{part.start}-{part.stop}", marks=pytest.mark.nightly)
            for part in whole
        ),
    ]
