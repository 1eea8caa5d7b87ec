"""Drawing an instance's solution, a result, a run, a table or a store of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched import interrupts
from optsched.errors import InputError, require_extras, shown
from optsched.experiments.store.store import read_store
from optsched.files import instance_sha256, read_document
from optsched.io.reading import csv_rows
from optsched.library import load, shipped_names
from optsched.methods import check, decisions_of, problem_for, solve
from optsched.modelling import is_model, origin_of
from optsched.problem import Problem, resolve
from optsched.problems import PROBLEMS
from optsched.result import Result

if TYPE_CHECKING:
    import pandas as pd
    import pyomo.environ as pyo
    from matplotlib.axes import Axes

    from optsched.typing import InstanceLike, MethodLike, Solution, SolutionLike

TRACE = "trace"
SQLITE_MAGIC = b"SQLite format 3\0"
"""First bytes of a result store."""


def plot(
    subject: InstanceLike | Solution | Result | pyo.ConcreteModel | pd.DataFrame,
    solution: SolutionLike | Sequence[SolutionLike] | None = None,
    *,
    picture: str | None = None,
    method: MethodLike | None = None,
    options: Mapping[str, object] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw an instance with a solution, a result, a run, or a table of results.

    Parameters
    ----------
    subject : instance, Result, model, solution, DataFrame, str or Path
        An instance or what `optsched.load` takes; a result of `optsched.solve`; a solved model; a
        solution of a shipped instance, or its file; the table of `optsched.compare` or
        `optsched.read_store`, a file that ``optsched compare --csv`` wrote, or a store.
    solution : solution, Result, run, str or Path, or a sequence of them, optional
        What to draw of an instance; by default computed by `method`. Pictures of online and
        rolling instances take several. Of a store, the runs of the instance are drawn.
    picture : str, optional
        Such as "gantt" or "contention" for makespan; an invalid name raises an error that lists
        those of the problem. For a result, and for an instance without a solution, also "trace":
        incumbent and bound over time. For a table "gaps", for a store "excess", for both "profile":
        the performance profile of its methods.
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
    table = _table_of(subject)
    if table is not None:
        if solution is not None or method is not None:
            found = "a solution" if method is None else f"method {shown(method)}"
            expected = "the table alone"
            raise InputError("plot", "", f"{found} beside a table or a store", expected)
        return _plot_table(table, picture, ax)
    instance, own_solution = _instance_and_solution(subject)
    given: Any = own_solution if solution is None else solution
    problem = problem_for(instance)
    if _is_store(given):
        return _plot_table(_runs(given, instance), picture, ax)
    draw = _picture_of(problem, picture)
    if given is None:
        given = solve(instance, method, options=options)
        interrupts.raise_if_received()
    if picture == TRACE:
        return draw(given, ax)
    if isinstance(given, Sequence) and not isinstance(given, str):
        checked = [_feasible(problem, instance, each) for each in given]
        pairs = zip(given, checked, strict=True)
        return draw(instance, [g if isinstance(g, Result) else c for g, c in pairs], ax=ax)
    return draw(instance, _feasible(problem, instance, given), ax=ax)


def _table_of(subject: Any) -> Any | None:
    """Return the table in a store or a CSV file, or the table itself; None for other subjects."""
    if _is_store(subject):
        return _runs(subject)
    if isinstance(subject, str | Path):
        is_csv = Path(subject).suffix == ".csv" and Path(subject).is_file()
        return _read_table(subject) if is_csv else None
    return subject if hasattr(subject, "columns") else None


def _instance_and_solution(subject: Any) -> tuple[Any, Any]:
    if isinstance(subject, str | Path):
        subject = _read(subject)
    if isinstance(subject, Mapping):
        return load(subject), None
    if isinstance(subject, Result):
        return subject.instance_data, subject
    if is_model(subject):
        return origin_of(subject).instance, subject
    if hasattr(subject, "instance"):
        return _shipped_instance_of(subject), subject
    return subject, None


def _read(file: str | Path) -> Any:
    """Return the instance of a file or name, or the solution in a file."""
    if Path(file).is_file() and Path(file).suffix == ".json":
        schema = read_document(file).get("schema")
        for problem in PROBLEMS.values():
            if schema == f"optsched/{problem.name}-solution":
                return decisions_of(problem, file)
    return load(file)


def _read_table(file: str | Path) -> pd.DataFrame:
    """Return the table that ``compare --csv`` wrote."""
    import pandas as pd

    lines = csv_rows(file)
    header = next(lines, (1, []))[1]
    rows = []
    for line, cells in lines:
        if len(cells) != len(header):
            found, expected = f"{len(cells)} cells", f"{len(header)}"
            raise InputError(str(file), f"line {line}", found, expected)
        row: dict[str, Any] = dict(zip(header, cells, strict=True))
        for name in {"objective", "bound"} & row.keys():
            try:
                row[name] = float(row[name]) if row[name] else None
            except ValueError:
                where, expected = f"line {line}: {name}", "a number or an empty cell"
                raise InputError(str(file), where, shown(row[name]), expected) from None
        rows.append(row)
    return pd.DataFrame(rows, columns=header)


def _runs(store: str | Path, instance: Any = None) -> Any:
    frame = read_store(store)
    if instance is None:
        return frame
    runs = frame[frame["sha256"] == instance_sha256(instance.to_dict())]
    if runs.empty:
        raise InputError(str(store), "", f"no run of {shown(instance.name)}", "at least one")
    return runs


def _is_store(path: Any) -> bool:
    if not isinstance(path, str | Path):
        return False
    try:
        with Path(path).open("rb") as file:
            return file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
    except OSError:
        return False


def _plot_table(frame: Any, picture: str | None, ax: Axes | None) -> Axes:
    from optsched.plotting.results import plot_excess, plot_gaps, plot_profile

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
    pictures = {**problem.pictures, TRACE: "optsched.plotting.results:plot_trace"}
    name = name or next(iter(pictures))
    if name not in pictures:
        raise InputError("plot", "picture", shown(name), " or ".join(pictures))
    return resolve(pictures[name])


def _feasible(problem: Problem, instance: Any, given: Any) -> Any:
    """Return a feasible solution, or the records of a run as they are; raises InputError."""
    solution = decisions_of(problem, getattr(given, "records", given))
    if isinstance(solution, resolve(problem.solution)):
        report = given.check if isinstance(given, Result) else check(instance, solution)
        if report is None or not report.feasible:
            reason = "no check" if report is None else str(report.violations[0])
            source = str(given) if isinstance(given, str | Path) else "solution"
            raise InputError(source, "", reason, "a feasible solution")
    elif not problem.over_time or hasattr(solution, "schema_"):
        raise InputError("plot", "solution", shown(solution), f"one of {problem.name}")
    return solution
