"""Time `import optsched` and `optsched --help`: `python benchmarks/import_time.py [--runs 9]`.

Each run is a fresh interpreter; the first, which may compile byte code, is left out. The
interpreter's own start, which both include, is printed beside them.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = {
    "python -c pass": (["-c", "pass"], None),
    "import optsched": (["-c", "import optsched"], 0.3),
    "optsched --help": (["-m", "optsched", "--help"], 0.6),
}
FEWEST_RUNS = 5


def main() -> None:
    """Print median, least, largest and spread (standard deviation) of the wall times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=9)
    runs = max(parser.parse_args().runs, FEWEST_RUNS)
    print(f"{'command':18} {'median':>8} {'least':>8} {'largest':>8} {'spread':>8}  asked")
    print(f"{runs} runs each, seconds")
    for name, (arguments, asked) in COMMANDS.items():
        _seconds(arguments)
        times = [_seconds(arguments) for _ in range(runs)]
        figures = (statistics.median(times), min(times), max(times), statistics.stdev(times))
        limit = "" if asked is None else f"< {asked} s"
        print(f"{name:18} " + " ".join(f"{figure:8.3f}" for figure in figures) + f"  {limit}")


def _seconds(arguments: list[str]) -> float:
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
