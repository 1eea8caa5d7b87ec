"""The machine that a benchmark runs on."""

import os
import platform
import resource
import sys
from contextlib import suppress
from pathlib import Path

from optsched.backends.pyomo_solvers import solver_version


def take_one_core() -> None:
    """Name the machine, and pin the process to one core."""
    if hasattr(os, "sched_setaffinity"):  # Linux
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(f"Python {platform.python_version()}, HiGHS {solver_version('highs')}, one core")


def peak_memory() -> float:
    """The largest resident set of this process so far, MiB."""
    with suppress(OSError):  # Linux; what the C library says there counts the parent's, too
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.split("VmHWM:")[1].split()[0]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 if sys.platform != "darwin" else peak / 2**20
