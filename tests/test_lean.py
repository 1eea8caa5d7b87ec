"""Functions without reference counts: the option exists, and nothing leaks or dangles."""

from __future__ import annotations

import gc
import sys

import pytest
from oracles.random_online import random_case

import optsched.lean as lean_module
from optsched.lean import lean
from optsched.online.engine import simulate
from optsched.online.engine_kernel import advance
from optsched.online.iteration_cache import iteration_time


def test_numba_knows_the_option() -> None:
    """Otherwise runs are right and half as fast."""
    assert advance.targetoptions["_nrt"] is False
    assert iteration_time.targetoptions["_nrt"] is True


def test_without_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    real = lean_module.njit

    def older(**options: bool) -> object:
        if "_nrt" in options:
            raise KeyError("_nrt")
        return real(**options)

    monkeypatch.setattr(lean_module, "njit", older)
    assert "_nrt" not in lean(lambda a: a[0]).targetoptions


def test_arrays_of_the_caller_are_released() -> None:
    jobs, predicted = random_case(3)
    for _ in range(3):
        simulate(jobs, "a-srpt", predicted)
    gc.collect()
    before = [sys.getrefcount(each) for each in (jobs.submit, jobs.iterations, jobs.gpus)]
    for _ in range(20):
        simulate(jobs, "a-srpt-backfill", predicted)
    gc.collect()
    assert before == [sys.getrefcount(each) for each in (jobs.submit, jobs.iterations, jobs.gpus)]
