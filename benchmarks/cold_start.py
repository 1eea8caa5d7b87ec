"""The first command on a machine, nothing compiled: `python benchmarks/cold_start.py [--runs 5]`.

Each run has an empty folder for compiled code, and is of processes of their own. Its measure is the
processor time that numba needs to be imported and to compile one function of one addition: the
same run's. Processor time is that of the process and of those it started.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TRIVIAL = """
import numba

@numba.njit
def increased(number):
    return number + 1

increased(1)
"""
CASES = {
    "one trivial function": (["-c", TRIVIAL], None),
    "compare instances/placement": (["compare", "instances/placement"], 5),
    "compare makespan/fig2": (["compare", "makespan/fig2"], 9),
    "sweep plans/small": (["sweep", "plans/small", "--store", "cold.sqlite"], 30),
}
"""Arguments, and how many trivial functions it may cost."""
FEWEST_RUNS = 5


def main() -> None:
    """Print seconds of processor time, and their ratio to a trivial function's."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=FEWEST_RUNS)
    runs = max(parser.parse_args().runs, FEWEST_RUNS)
    taken: dict[str, list[float]] = {name: [] for name in CASES}
    for _ in range(runs):
        for name, (arguments, _allowed) in CASES.items():
            taken[name].append(_seconds(arguments))
    unit = taken["one trivial function"]
    print(f"{runs} runs, seconds of processor time; ratio to the trivial function of the same run")
    print(f"{'':28}{'median':>8}{'least':>8}{'largest':>8}{'ratio':>7}{'range':>12}  asked")
    for name, (_, allowed) in CASES.items():
        seconds = taken[name]
        ratios = [a / b for a, b in zip(seconds, unit, strict=True)]
        ratio = statistics.median(ratios)
        print(
            f"{name:28}{statistics.median(seconds):8.2f}{min(seconds):8.2f}{max(seconds):8.2f}"
            f"{ratio:7.2f}{f'{min(ratios):.2f}-{max(ratios):.2f}':>12}"
            f"  {'' if allowed is None else f'<= {allowed}'}"
        )


def _seconds(arguments: list[str]) -> float:
    """Processor time of a process with nothing compiled."""
    command = arguments if arguments[0] == "-c" else ["-m", "optsched", *arguments]
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(ROOT / "instances", Path(folder) / "instances")
        before = _children()
        subprocess.run(
            [sys.executable, *command],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": f"{folder}/compiled"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        return _children() - before


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
