"""Drawing what there is: an instance's solution, a result, a run, a table or a store of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched import interrupts
from optsched.errors import InputError, shown
from optsched.extras import require_extras
from optsched.files import instance_sha256
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
STORE = b"SQLite format 3\0"
"""How the file of a result store begins."""


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
        shipped instance; the table of `optsched.compare` or `optsched.read_store`, or a store.
    solution : solution, Result, run, str or Path, or a sequence of them, optional
        What to draw of an instance; by default `method` makes it. Pictures of problems over time
        take several. Of a store the runs of the instance are drawn, as of a table.
    picture : str, optional
        "gantt" or "contention" of a makespan instance, say; each problem has its own, and any
        other name is answered with a list of them. Of a result also "trace": its incumbent and
        bound over time.
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
    if hasattr(thing, "columns"):
        return _table(thing, picture, ax)
    if isinstance(thing, Result) and picture == TRACE:
        from optsched.plotting.trace import plot_trace

        return plot_trace(thing, ax)
    if isinstance(thing, Result):
        thing, solution = thing.given, thing if solution is None else solution
    elif isinstance(thing, str | Path):
        thing = load(thing)
    elif hasattr(thing, "instance"):
        thing, solution = _shipped_instance_of(thing), thing
    problem = problem_for(thing)
    if _is_store(solution):
        return _table(_runs(solution, thing), picture, ax)
    draw = _picture_of(problem, picture)
    if solution is None:
        solution = solve(thing, method, options=options)
        interrupts.heed()
    if isinstance(solution, Sequence) and not isinstance(solution, str):
        several = [_feasible(problem, thing, each) for each in solution]
        named = zip(solution, several, strict=True)
        return draw(thing, [g if isinstance(g, Result) else each for g, each in named], ax=ax)
    return draw(thing, _feasible(problem, thing, solution), ax=ax)


def _runs(store: str | Path, instance: Any = None) -> Any:
    """The runs of a store, of one instance if it is given."""
    from optsched.experiments.frame import read_store

    frame = read_store(store)
    if instance is None:
        return frame
    kept = frame[frame["sha256"] == instance_sha256(instance.to_dict())]
    if kept.empty:
        raise InputError(str(store), "", f"no run of {shown(instance.name)}", "one at least")
    return kept


def _is_store(path: Any) -> bool:
    if not isinstance(path, str | Path):
        return False
    try:
        with Path(path).open("rb") as file:
            return file.read(len(STORE)) == STORE
    except OSError:
        return False


def _table(frame: Any, picture: str | None, ax: Axes | None) -> Axes:
    from optsched.plotting.gaps import plot_excess, plot_gaps

    pictures = {"excess": plot_excess} if "plan" in frame.columns else {"gaps": plot_gaps}
    name = picture or next(iter(pictures))
    if name not in pictures:
        raise InputError("plot", "picture", shown(name), " or ".join(pictures))
    return pictures[name](frame, ax)


def _shipped_instance_of(solution: Any) -> Any:
    """A solution knows its instance by name only."""
    schema = str(getattr(solution, "schema_", ""))
    problem = schema.removeprefix("optsched/").removesuffix("-solution")
    name = f"{problem}/{solution.instance}"
    if name not in shipped_names():
        expected = "its instance too: plot(instance, solution)"
        raise InputError("plot", "", f"a solution of {shown(solution.instance)}", expected)
    return load(name)


def _picture_of(problem: Problem, name: str | None) -> Any:
    if not problem.pictures:
        told = ", ".join(each.name for each in PROBLEMS.values() if each.pictures)
        raise InputError("plot", "problem", problem.name, f"one with pictures: {told}")
    name = name or next(iter(problem.pictures))
    if name not in problem.pictures:
        raise InputError("plot", "picture", shown(name), " or ".join(problem.pictures))
    return resolve(problem.pictures[name])


def _feasible(problem: Problem, instance: Any, given: Any) -> Any:
    """A solution that breaks no rule; a run's own records are drawn as they are."""
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
