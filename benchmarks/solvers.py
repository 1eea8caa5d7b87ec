"""Who proves what: five solvers and our own exact methods on 30 instances at equal time.

    python benchmarks/solvers.py [--page docs/solvers.md] [--seconds 5] [--each 10]

The instances are of the library, drawn by a rule and not picked: of each of three problems the
sets in the order of their names, their instances in turn, and of that list of n the ones at n/2e,
3n/2e, 5n/2e and so on, e of them. HiGHS, SCIP, CBC and GLPK solve the same model, method `ilp` (of
selection `milp`), from the same heuristic start and bounds; ours
is `exact`. One thread each, one after another on one core; the limit is of wall-clock time and
covers heuristics, bounds, stating the model and solving it.
"""

import argparse
import os
import platform
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

os.environ.setdefault("NUMBA_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from machine import take_one_core

import optsched
from optsched.backends.pyomo_solvers import solver_version
from optsched.errors import OptschedError
from optsched.library.sets import library_set, set_names
from optsched.methods import warm_up
from optsched.result import Result

PROBLEMS = ("placement", "makespan", "selection")
SOLVERS = ("highs", "scip", "cbc", "glpk")
OURS = "ours"
MODELS = {"placement": "ilp", "makespan": "ilp", "selection": "milp"}
PROVED_GAP = 1e-6
WORDS = ("threshold bisection", "full model", "relaxation", "pools", "milp", "ilp", *SOLVERS)
"""Sources of bounds that rest on what a solver said."""
HEAD = """# Solvers

Written by `{command}` on {day} ({machine}); do not edit.

{what}

*Rests on* is what a bound is believed for: a *certificate* that the checker verifies without a
solver, an argument or an enumeration of our own by its name, or a *word*: what a solver said, in
floating point and with nothing to show for it. Where heuristic and bound meet before any model is
built, or none can be built in time, the solver is not *called*. *Excess* is the row's value over
the best bound of all rows of its instance, - where that is 0. Two rows that contradict each other,
a value below another's bound, would be listed here: {contradictions}.

Where the value is the same in all rows of the four solvers and far from ours, it is the heuristics'
start, which none of them bettered in the time: so it is in selection.
"""


@dataclass(frozen=True)
class Row:
    """One solver on one instance; no result where it refuses."""

    instance: str
    solver: str
    seconds: float
    result: Result | None
    refused: str = ""

    @property
    def problem(self) -> str:
        """The problem's name."""
        return self.instance.partition("/")[0]

    @property
    def value(self) -> float | None:
        """The checked objective."""
        return None if self.result is None else self.result.objective

    @property
    def bound(self) -> float | None:
        """What it proved."""
        return None if self.result is None else self.result.bound

    @property
    def proved(self) -> bool:
        """Whether it ended as optimal."""
        return self.result is not None and self.result.proved

    @property
    def called(self) -> bool:
        """Whether a solver ran."""
        return self.result is not None and self.result.solver is not None

    @property
    def rests_on(self) -> str:
        """What its bound is believed for."""
        if self.result is None or self.result.bound is None:
            return "-"
        if self.result.certificate is not None:
            return "certificate"
        source = self.result.bound_source or "-"
        if source in WORDS:
            return f"word of {self.result.solver}"
        return source


def main() -> None:
    """Run every solver on every instance; print the page, or write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", type=Path)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each run")
    parser.add_argument("--each", type=int, default=10, help="instances of each problem")
    given = parser.parse_args()
    take_one_core()
    versions = [f"{solver} {solver_version(solver)}" for solver in SOLVERS]  # or one is missing
    rows = []
    for problem in PROBLEMS:
        warm_up(problem)
        for name in drawn(problem, given.each):
            rows += [run(name, solver, given.seconds) for solver in (*SOLVERS, OURS)]
            for row in rows[-len(SOLVERS) - 1 :]:
                if row.instance == name:
                    print(*cells(row, rows), sep="  ", flush=True)
    if given.page is not None:
        given.page.write_text(page(rows, given.seconds, versions), encoding="utf-8")


def drawn(problem: str, each: int) -> list[str]:
    """Names of the instances of a problem, at equal distances in the order of its sets."""
    sets = tuple(sorted(name for name in set_names() if name.startswith(f"{problem}/")))
    names = [entry.name for name in sets for entry in library_set(name).entries]
    return [names[(2 * i + 1) * len(names) // (2 * each)] for i in range(each)]


def run(name: str, solver: str, seconds: float) -> Row:
    """One solver on one instance.

    Parameters
    ----------
    name : str
        Of the instance, in the library.
    solver : str
        One of `SOLVERS`, or ours.
    seconds : float
        The limit.
    """
    problem = name.partition("/")[0]
    method = "exact" if solver == OURS else MODELS[problem]
    began = time.perf_counter()
    try:
        result = optsched.solve(
            optsched.load(name),
            method,
            time_limit=seconds,
            solver="highs" if solver == OURS else solver,
        )
    except OptschedError as error:
        return Row(name, solver, time.perf_counter() - began, None, str(error))
    if result.check is not None and not result.check.feasible:
        raise SystemExit(f"{name} by {solver}: the checker refuses the solution")
    return Row(name, solver, time.perf_counter() - began, result)


def best_bound(rows: Sequence[Row], instance: str) -> float:
    """The best of all rows of an instance."""
    bounds = [r.bound for r in rows if r.instance == instance and r.bound is not None]
    return max(bounds, default=float("nan"))


def contradictions(rows: Sequence[Row]) -> Iterator[str]:
    """Rows whose value lies below what another says no solution is below."""
    for row in rows:
        above = best_bound(rows, row.instance)
        if row.value is not None and row.value < above * (1 - PROVED_GAP):
            yield f"{row.instance}: {row.solver} has {row.value!r}, a bound says {above!r}"


def excess(row: Row, rows: Sequence[Row]) -> float | None:
    """Per cent of its value over the best bound; None without a value."""
    best = best_bound(rows, row.instance)
    if row.value is None or not best:
        return None
    return max(100 * (row.value / best - 1), 0.0)


def cells(row: Row, rows: Sequence[Row]) -> list[str]:
    """A row of the table of all."""
    over = excess(row, rows)
    return [
        row.instance,
        row.solver,
        row.refused.partition(": ")[2] or row.refused if row.result is None else row.result.status,
        "yes" if row.called else "no",
        "-" if row.value is None else f"{row.value:.6g}",
        "-" if row.bound is None else f"{row.bound:.6g}",
        "-" if over is None else f"{over:.2f}",
        f"{row.seconds:.1f}",
        row.rests_on,
    ]


def summary(rows: Sequence[Row]) -> Iterator[list[str]]:
    """By problem and solver: how many are proved, on what, and what is left open."""
    for problem in PROBLEMS:
        for solver in (*SOLVERS, OURS):
            own = [r for r in rows if r.problem == problem and r.solver == solver]
            if not own:
                yield [problem, solver, "no model", "-", "-", "-", "-", "-"]
                continue
            proved = [r for r in own if r.proved]
            words = sum(r.rests_on.startswith("word") for r in proved)
            certified = sum(r.rests_on == "certificate" for r in proved)
            over = [e for r in own if (e := excess(r, rows)) is not None]
            yield [
                problem,
                solver,
                f"{len(proved)} of {len(own)}",
                str(sum(not r.called for r in proved)),
                str(certified),
                str(words),
                f"{median(over):.2f} [{min(over):.2f}-{max(over):.2f}]" if over else "-",
                f"{median(r.seconds for r in own):.1f}",
            ]


def table(heads: Sequence[str], lines: Iterator[list[str]]) -> str:
    """A table in Markdown."""
    marks = ["---" for _ in heads]
    return "\n".join(f"| {' | '.join(line)} |" for line in [list(heads), marks, *lines])


def page(rows: Sequence[Row], seconds: float, versions: Sequence[str]) -> str:
    """The page."""
    what = (__doc__ or "").split("\n\n")[2].replace("\n", " ").strip()
    found = list(contradictions(rows))
    head = HEAD.format(
        command=f"python benchmarks/solvers.py --page docs/solvers.md --seconds {seconds:g}",
        day=datetime.now(UTC).date().isoformat(),
        machine=f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        what=f"{what} Here {seconds:g} s a run. {', '.join(versions)}.",
        contradictions="; ".join(found) or "there are none",
    )
    heads = ("problem", "solver", "proved", "of these before any solver", "by a certificate",
             "on a solver's word", "excess %, median [range]", "seconds, median")  # fmt: skip
    columns = ("instance", "solver", "status", "called", "value", "bound", "excess %", "seconds",
               "rests on")  # fmt: skip
    every = table(columns, (cells(row, rows) for row in rows))
    return f"{head}\n{table(heads, summary(rows))}\n\n## Every row\n\n{every}\n"


if __name__ == "__main__":
    main()
