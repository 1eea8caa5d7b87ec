"""Units that misbehave by their seed, for the tests of sweeps; imported by the workers."""

import os
import signal
import time
from typing import Any

from optsched import methods
from optsched.experiments.plans.units import Unit
from optsched.experiments.run import processes
from optsched.experiments.store.store import Row

CRASHES, SLEEPS, EATS, RAISES, EXITS = 1, 2, 3, 4, 5
_solve = methods.solve


def run_unit(unit: Unit, document: str, memory: int | None = None) -> Row:
    """The worker's own function, with a method that may not come back."""
    methods.solve = solve
    return processes.run_unit(unit, document, memory)


def solve(instance: Any, method: str, *, seed: int, **settings: Any) -> Any:
    if seed == CRASHES:
        os.kill(os.getpid(), signal.SIGKILL)
    if seed == SLEEPS:
        time.sleep(600)
    if seed == EATS:
        return len(bytearray(2**36))
    if seed == RAISES:
        raise RuntimeError("two\nlines")
    if seed == EXITS:
        os._exit(3)
    return _solve(instance, method, seed=seed, **settings)
