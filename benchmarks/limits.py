"""Time limits: every method of the problems at a moment, on the largest instances, cut short.

    python benchmarks/limits.py [--problem placement]... [--limits 1,10] [--methods exact,columns]
                                [--long 60]

A row is one `optsched.solve`: model building, solver, bound and check together, the instance and
the compiled code loaded before. Processor time is this process's and those that it started; an
overrun is what was spent after the limit had passed, so that a machine busy with other work shows
about what an idle one does. Exit code 1 if one is above a second and a tenth of the limit, or if a
row has no solution although a heuristic has one. What a method refuses by name is printed. A method
with "!" opens exactly as many nodes as the paper prints; one with a solver's name states its model
for that solver, on an instance of its own. Methods that go on for a minute on a problem's largest
instances have a row of one, too (`--long 0` leaves those out).
"""

import argparse
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("NUMBA_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import optsched
from optsched.backends.pyomo_solvers import require_solver
from optsched.errors import NotApplicableError, OptschedError
from optsched.generators.makespan import Workload, generate_makespan
from optsched.methods import warm_up
from optsched.problems import PROBLEMS
from optsched.result import Result, Termination

ALLOWED = 1.0, 0.1
"""Seconds of processor time after a limit, or so much of it if that is more."""
LOOK = 0.02
"""Seconds between two looks at the processor's clock; compiled code may hold one up."""
LARGEST = {
    "placement": ("vgg19-128", "gpt-175b-64x1"),
    "makespan": ("large-1600x200", "5000x500", "12x4-long"),
    "selection": ("100x400", "100x400-distinct", "24x96-six-classes"),
    "speed-profile": ("resnet-8", "vgg16-8"),
}
BY_SOLVER = {
    "placement": ("ilp", "gpt-175b-64x1"),
    "makespan": ("ilp", "medium-1/018"),
    "selection": ("milp", "interval-1/004"),
}
"""The model that other solvers than HiGHS are given, and the instance."""
SOLVERS = ("scip", "cbc", "glpk")
LONG = {
    "placement": {"vgg19-128": ("ilp-vertex",), "gpt-175b-64x1": ("ilp",)},
    "makespan": {
        "5000x500": ("local-search", "nested", "ilp", "ilp-schedules", "exact"),
        "12x4-long": ("theta",),
    },
    "selection": {"100x400-distinct": ("patterns", "columns", "exact")},
}
"""Those that have enough to do for a minute, by instance."""
SMALL = {
    "placement": "fig2",
    "makespan": "contended-3x3",
    "selection": "3x6",
    "speed-profile": "one-atom",
}
"""Solved by every method before anything is timed: what it imports is loaded then."""


@dataclass(frozen=True)
class Row:
    """One method under one limit."""

    problem: str
    instance: str
    method: str
    options: str
    limit: float
    wall: float
    processor: float
    overrun: float
    result: Result | None
    refusal: str

    def __str__(self) -> str:
        head = f"{self.problem:13s} {self.instance:18s} {self.method + self.options:17s}"
        times = f"{self.limit:4g} {self.wall:7.2f} {self.processor:9.2f} {self.overrun:7.2f}"
        if self.result is None:
            return f"{head} {times}  refused: {self.refusal}"
        value = "-" if self.result.objective is None else f"{self.result.objective:.6g}"
        bound = "-" if self.result.bound is None else f"{self.result.bound:.6g}"
        return f"{head} {times}  {self.result.termination.value:10s} {value:>11s} {bound:>11s}"


def main() -> int:
    """Print every row, and what is wrong; 1 if anything is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problem", action="append", choices=list(LARGEST))
    parser.add_argument("--limits", default="1,10", help="seconds, separated by commas")
    parser.add_argument("--methods", default="", help="only these, separated by commas")
    parser.add_argument("--long", type=float, default=60.0, help="seconds of the long rows")
    arguments = parser.parse_args()
    limits = [float(limit) for limit in arguments.limits.split(",")]
    only = [name for name in arguments.methods.split(",") if name]
    print(f"{'problem':13s} {'instance':18s} {'method':17s}", end=" ")
    print("limit   wall processor overrun  ended       objective       bound")
    rows = []
    for problem in arguments.problem or LARGEST:
        for row in measured(problem, limits, only, arguments.long):
            print(row, flush=True)
            rows.append(row)
    wrong = [
        f"over its limit: {row}"
        for row in rows
        if row.overrun > max(ALLOWED[0], ALLOWED[1] * row.limit)
    ]
    wrong += [f"no solution: {row}" for row in without_solution(rows)]
    worst = max((row.overrun for row in rows), default=0.0)
    print(
        f"\n{len(rows)} rows; largest overrun {worst:.2f} s of processor time; {len(wrong)} wrong"
    )
    for line in wrong:
        print(line)
    return 1 if wrong else 0


def measured(problem: str, limits: list[float], only: list[str], longer: float) -> Iterator[Row]:
    """The rows of one problem.

    Parameters
    ----------
    problem : str
        Its name.
    limits : list of float
        Seconds, a row each.
    only : list of str
        Methods; all if empty.
    longer : float
        Seconds of the rows of `LONG`; 0 for none.
    """
    warm_up(problem)
    methods = [m.name for m in PROBLEMS[problem].methods if not only or m.name in only]
    settings = [(name, "") for name in methods]
    if problem == "selection":
        settings += [(name, "!") for name in methods if name not in HEURISTICS]
    for name, _ in settings:
        timed(problem, optsched.load(f"{problem}/{SMALL[problem]}"), name, "", 10.0)
    for which in LARGEST[problem]:
        instance = made(which) or optsched.load(f"{problem}/{which}")
        for name, options in settings:
            for limit in limits:
                yield timed(problem, instance, name, options, limit)
        for name in LONG.get(problem, {}).get(which, ()) if longer else ():
            if name in methods:
                yield timed(problem, instance, name, "", longer)
    name, which = BY_SOLVER.get(problem, ("", ""))
    if name in methods:
        instance = optsched.load(f"{problem}/{which}")
        for solver in filter(_is_here, SOLVERS):
            for limit in limits:
                yield timed(problem, instance, name, f" {solver}", limit)


HEURISTICS = tuple(m.name for m in PROBLEMS["selection"].methods if m.kind == "heuristic")
"""Of selection: what an exact number of open nodes is nothing to."""


def timed(problem: str, instance: object, method: str, options: str, limit: float) -> Row:
    """One solve; "!" opens exactly as many nodes as the paper prints, else a solver is named."""
    given = {"node_opening": "printed"} if options == "!" else None
    solver = options.strip(" !") or "highs"
    result, refusal = None, ""
    before: list[float] = []  # processor time, last looked at before the limit
    began, processor = time.perf_counter(), busy()

    def look() -> None:
        while True:
            used = busy()
            if done.wait(LOOK) or time.perf_counter() - began > limit:
                return
            before.append(used)

    done = threading.Event()
    threading.Thread(target=look, daemon=True).start()
    try:
        result = optsched.solve(instance, method, options=given, time_limit=limit, solver=solver)
    except NotApplicableError as error:
        refusal = str(error)
    ended, wall = busy(), time.perf_counter() - began
    done.set()
    overrun = ended - (before[-1] if before else processor) if wall > limit else 0.0
    name = str(getattr(instance, "name", ""))
    return Row(
        problem, name, method, options, limit, wall, ended - processor, overrun, result, refusal
    )


def busy() -> float:
    """Seconds of processor time of this process and of those that it started."""
    own, alive = os.times(), 0
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # it ended meanwhile
            for child in (task / "children").read_text().split():
                stat = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
                alive += int(stat[11]) + int(stat[12])
    ended = own.children_user + own.children_system
    return time.process_time() + ended + alive / os.sysconf("SC_CLK_TCK")


def _is_here(solver: str) -> bool:
    try:
        require_solver(solver)
    except OptschedError:
        return False
    return True


def made(name: str) -> object | None:
    """Instances that are too large, or too odd, to be shipped."""
    if name == "5000x500":
        return generate_makespan(5000, 500, seed=1, name=name, horizon=5000)
    if name == "12x4-long":
        long = Workload(iterations=(10_000, 60_000), execution_time=(200.0, 1700.0))
        return generate_makespan(
            12,
            4,
            contention="strong",
            server_sizes=(4,),
            largest_job=8,
            workload=long,
            horizon=3000,
            seed=5,
            name=name,
        )
    return None


def without_solution(rows: list[Row]) -> list[Row]:
    """Rows that have none although their instance has one in another row.

    But for heuristics that ended by themselves: theirs is then later than the horizon.
    """
    solved = {
        (row.instance, row.options)
        for row in rows
        if row.result and row.result.solution is not None
    }
    return [
        row
        for row in rows
        if row.result is not None
        and row.result.solution is None
        and row.result.termination is not Termination.INFEASIBLE
        and row.method not in PROBLEMS[row.problem].bounds
        and not (
            row.wall < row.limit and PROBLEMS[row.problem].method(row.method).kind == "heuristic"
        )
        and (row.instance, row.options) in solved
    ]


if __name__ == "__main__":
    sys.exit(main())
