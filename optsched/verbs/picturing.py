"""Drawing an instance's solution, a result, a run, a table or a store of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched import interrupts
from optsched.errors import InputError, shown
from optsched.experiments.store.store import read_store
from optsched.extras import require_extras
from optsched.files import instance_sha256, read_document
from optsched.io.reading import csv_rows
from optsched.library import load, shipped_names
from optsched.methods import check, problem_for, solution_of, solve
from optsched.problem import Problem, resolve
from optsched.problems import PROBLEMS
from optsched.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from optsched.typing import AMethod, AnInstance, Solution, Solved

TRACE = "trace"
_TRACE = "optsched.plotting.trace:plot_trace"
STORE = b"SQLite format 3\0"
"""First bytes of a result store."""


def plot(
    thing: AnInstance | Solution | Result | pd.DataFrame,
    solution: Solved | Sequence[Solved] | None = None,
    *,
    picture: str | None = None,
    method: AMethod | None = None,
    options: Mapping[str, object] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw an instance with a solution, a result, a run, or a table of results.

    Parameters
    ----------
    thing : instance, Result, solution, DataFrame, str or Path
        An instance or what `optsched.load` takes; a result of `optsched.solve`; a solution of a
        shipped instance, or its file; the table of `optsched.compare` or `optsched.read_store`, a
        file that ``optsched compare --csv`` wrote, or a store.
    solution : solution, Result, run, str or Path, or a sequence of them, optional
        What to draw of an instance; by default `method` makes it. Pictures of problems over time
        take several. Of a store the runs of the instance are drawn, as of a table.
    picture : str, optional
        "gantt" or "contention" of a makespan instance, say; each problem has its own, and any
        other name is answered with a list of them. Of a result, and of an instance without a
        solution, also "trace": incumbent and bound over time. Of a table "gaps", of a store
        "excess", of both "profile": the performance profile of its methods.
    method, options
        As in `optsched.explain`: used where there is no solution.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Its ``figure`` has ``savefig``.

    Raises
    ------
    InputError
        If a file cannot be used, the solution breaks a rule, or there is no such picture.
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> import optsched
    >>> result = optsched.solve("makespan/fig2", "sjf-bco")
    >>> optsched.plot(result).figure.savefig("gantt.svg")
    """
    require_extras(["matplotlib"])
    return _drawn(thing, solution, picture, method, options, ax)


def _drawn(
    thing: Any,
    solution: Any,
    picture: str | None,
    method: AMethod | None,
    options: Mapping[str, object] | None,
    ax: Axes | None,
) -> Axes:
    if _is_store(thing):
        thing = _runs(thing)
    elif isinstance(thing, str | Path) and Path(thing).suffix == ".csv" and Path(thing).is_file():
        thing = _read_table(thing)
    if hasattr(thing, "columns"):
        if solution is not None or method is not None:
            given = "a solution" if method is None else f"method {shown(method)}"
            raise InputError("plot", "", f"{given} beside a table or a store", "the table alone")
        return _table(thing, picture, ax)
    if isinstance(thing, str | Path):
        thing = _read(thing)
    if isinstance(thing, Result):
        thing, solution = thing.given, thing if solution is None else solution
    elif hasattr(thing, "instance"):
        thing, solution = _shipped_instance_of(thing), thing
    problem = problem_for(thing)
    if _is_store(solution):
        return _table(_runs(solution, thing), picture, ax)
    draw = _picture_of(problem, picture)
    if solution is None:
        solution = solve(thing, method, options=options)
        interrupts.heed()
    if picture == TRACE:
        return draw(solution, ax)
    if isinstance(solution, Sequence) and not isinstance(solution, str):
        several = [_feasible(problem, thing, given) for given in solution]
        named = zip(solution, several, strict=True)
        return draw(thing, [g if isinstance(g, Result) else each for g, each in named], ax=ax)
    return draw(thing, _feasible(problem, thing, solution), ax=ax)


def _read(file: str | Path) -> Any:
    """Return the instance of a file or name, or the solution in a file."""
    if Path(file).is_file() and Path(file).suffix == ".json":
        schema = read_document(file).get("schema")
        for problem in PROBLEMS.values():
            if schema == f"optsched/{problem.name}-solution":
                return solution_of(problem, file)
    return load(file)


def _read_table(file: str | Path) -> pd.DataFrame:
    """Return the table that ``compare --csv`` wrote."""
    import pandas as pd

    lines = csv_rows(file)
    heads = next(lines, (1, []))[1]
    rows = []
    for line, cells in lines:
        if len(cells) != len(heads):
            where = f"line {line}"
            raise InputError(str(file), where, f"{len(cells)} cells", f"{len(heads)}")
        row: dict[str, Any] = dict(zip(heads, cells, strict=True))
        for name in ("objective", "bound"):
            if name in row:
                row[name] = _cell(row[name], f"{file}", f"line {line}: {name}")
        rows.append(row)
    return pd.DataFrame(rows, columns=heads)


def _cell(text: str, file: str, where: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        raise InputError(file, where, shown(text), "a number or nothing") from None


def _runs(store: str | Path, instance: Any = None) -> Any:
    """Return the runs of a store, of one instance if it is given."""
    frame = read_store(store)
    if instance is None:
        return frame
    runs = frame[frame["sha256"] == instance_sha256(instance.to_dict())]
    if runs.empty:
        raise InputError(str(store), "", f"no run of {shown(instance.name)}", "one at least")
    return runs


def _is_store(path: Any) -> bool:
    if not isinstance(path, str | Path):
        return False
    try:
        with Path(path).open("rb") as file:
            return file.read(len(STORE)) == STORE
    except OSError:
        return False


def _table(frame: Any, picture: str | None, ax: Axes | None) -> Axes:
    from optsched.plotting.gaps import plot_excess, plot_gaps, plot_profile

    stored = "plan" in frame.columns
    pictures: dict[str, Any] = {"excess": plot_excess} if stored else {"gaps": plot_gaps}
    pictures["profile"] = plot_profile
    name = picture or next(iter(pictures))
    if name not in pictures:
        raise InputError("plot", "picture", shown(name), " or ".join(pictures))
    return pictures[name](frame, ax)


def _shipped_instance_of(solution: Any) -> Any:
    """Return the shipped instance of a solution, which states its name only."""
    schema = str(getattr(solution, "schema_", ""))
    problem = schema.removeprefix("optsched/").removesuffix("-solution")
    name = f"{problem}/{solution.instance}"
    if name not in shipped_names():
        expected = "its instance too: plot(instance, solution)"
        raise InputError("plot", "", f"a solution of {shown(solution.instance)}", expected)
    return load(name)


def _picture_of(problem: Problem, name: str | None) -> Any:
    if not problem.pictures:
        drawn = ", ".join(p.name for p in PROBLEMS.values() if p.pictures)
        raise InputError("plot", "problem", problem.name, f"one with pictures: {drawn}")
    pictures = {**problem.pictures, TRACE: _TRACE}
    name = name or next(iter(pictures))
    if name not in pictures:
        raise InputError("plot", "picture", shown(name), " or ".join(pictures))
    return resolve(pictures[name])


def _feasible(problem: Problem, instance: Any, given: Any) -> Any:
    """Return a feasible solution, or the records of a run as they are; raises InputError."""
    solution = solution_of(problem, getattr(given, "records", given))
    if isinstance(solution, resolve(problem.solution)):
        report = given.check if isinstance(given, Result) else check(instance, solution)
        if report is None or not report.feasible:
            broken = "no check" if report is None else str(report.violations[0])
            source = str(given) if isinstance(given, str | Path) else "solution"
            raise InputError(source, "", broken, "a feasible solution")
    elif not problem.over_time or hasattr(solution, "schema_"):
        raise InputError("plot", "solution", shown(solution), f"one of {problem.name}")
    return solution
