"""A heuristic's distance from the optimum against a parameter of the instance.

A gap at one setting says little: where communication is cheap any placement is good, and where it
is expensive other placements are best. Each parameter that the problem names is varied alone, and
at each value the instance is solved again by the heuristic and exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched import interrupts
from optsched.checking import relative_excess
from optsched.display import Explanation, number
from optsched.errors import InputError, shown
from optsched.library import load
from optsched.methods import problem_for, solve
from optsched.problem import Problem, Varied, resolve

if TYPE_CHECKING:
    from optsched.typing import AnInstance, Instance

FACTORS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0)
"""Multiples of the instance's own value."""
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Values of a parameter between 0 and 1, besides the instance's own."""
TIME_LIMIT = 5.0
"""Default time limit of each exact solve, in seconds."""


@dataclass(frozen=True)
class Point:
    """One value of a parameter: the heuristic's objective, the best known one and the best bound.

    `own` marks the instance's own value. `optimum` is the best objective found, which is optimal if
    `proved`. Objectives are None where the `note` says why there is none.
    """

    value: float
    own: bool
    heuristic: float | None = None
    optimum: float | None = None
    bound: float | None = None
    proved: bool = False
    note: str = ""

    @property
    def excess(self) -> float | None:
        """The heuristic over the best bound, less 1."""
        excess = relative_excess(self.heuristic, self.bound)
        return None if excess is None else max(excess, 0.0)

    def to_dict(self) -> dict[str, Any]:
        """The point as a JSON object."""
        return {**asdict(self), "excess": self.excess}


@dataclass(frozen=True)
class Curve:
    """A parameter, by its name and unit, and its points in rising order of the value."""

    parameter: str
    unit: str
    points: tuple[Point, ...]


@dataclass(frozen=True, repr=False)
class Sensitivity(Explanation):
    """A curve a parameter: the heuristic's objective, the optimum and the gap between them."""

    right = ("value", "heuristic", "optimum", "excess %")

    instance: str
    problem: str
    heuristic: str
    objective: str
    unit: str
    shown_per_unit: float
    curves: tuple[Curve, ...]

    def to_dict(self) -> dict[str, Any]:
        """The curves as a JSON object."""
        return {
            "instance": self.instance,
            "heuristic": self.heuristic,
            "objective": self.objective,
            "curves": [
                {**vars(curve), "points": [point.to_dict() for point in curve.points]}
                for curve in self.curves
            ],
        }

    def table(self) -> tuple[str, list[str], list[list[str]], str]:
        """Title, headings, a row a point, and where each curve is lowest and highest."""
        headings = ["", "parameter", "value", "unit", "heuristic", "optimum", "excess %", ""]
        rows = [
            [
                ">" if point.own else "",
                curve.parameter,
                number(point.value),
                curve.unit,
                self._shown(point.heuristic),
                self._shown(point.optimum),
                "-" if point.excess is None else f"{100 * point.excess:.2f}",
                point.note or ("" if point.proved else "not proved: excess over the bound"),
            ]
            for curve in self.curves
            for point in curve.points
        ]
        title = (
            f"{self.instance}: {self.heuristic} and the optimum, {self.objective} in {self.unit}"
        )
        return title, headings, rows, "\n".join(map(self._range, self.curves))

    def _shown(self, value: float | None) -> str:
        return number(None if value is None else value * self.shown_per_unit)

    def _range(self, curve: Curve) -> str:
        known = [(p.excess, p) for p in curve.points if p.excess is not None]
        if not known:
            return f"{curve.parameter}: no excess is known"
        (low, at_low), (high, at_high) = min(known, key=_first), max(known, key=_first)
        than = "the optimum" if all(point.proved for _, point in known) else "the best bound"
        said = f"{curve.parameter}: {self.heuristic} is {100 * low:.2f}% above {than}"
        if low == high:
            return f"{said} at every value"
        at = (number(point.value, curve.unit).rstrip() for point in (at_low, at_high))
        return f"{said} at {next(at)}, {100 * high:.2f}% at {next(at)}"


def sensitivity(
    instance: AnInstance,
    *,
    method: str | None = None,
    options: Mapping[str, object] | None = None,
    time_limit: float = TIME_LIMIT,
) -> Sensitivity:
    """Vary each parameter that the problem names, one at a time.

    Parameters
    ----------
    instance : instance, str or Path
        An instance, or what `optsched.load` takes.
    method : str, optional
        The heuristic; by default the paper's.
    options : mapping, optional
        Readings of the cost, as in `optsched.solve`.
    time_limit : float
        Seconds of each search for an optimum; what it proves by then is said to be a bound.

    Returns
    -------
    Sensitivity
        Both objectives at each value of each parameter; `optsched.plotting.plot_sensitivity`
        draws it.

    Raises
    ------
    InputError
        If the problem names no parameter, or the method is unknown.

    Examples
    --------
    >>> [curve.parameter for curve in sensitivity("placement/fig2").curves]
    ['NIC bandwidth', 'intra bandwidth']
    """
    given: Instance = load(instance) if isinstance(instance, str | Path) else instance
    problem = problem_for(given)
    if not problem.varied:
        raise InputError("explain", "--sensitivity", problem.name, "placement or makespan")
    heuristic = problem.method(method or problem.defaults[0]).name
    known = (given, problem, heuristic, options, time_limit)
    curves = []
    for varied in problem.varied:
        own = _value(given.to_dict(), varied)
        chosen = SHARES if varied.share else tuple(factor * own for factor in FACTORS)
        points = (_point(varied, value, value == own, *known) for value in sorted({*chosen, own}))
        curves.append(Curve(varied.name, varied.unit, tuple(points)))
    return Sensitivity(
        given.name,
        problem.name,
        heuristic,
        problem.objective,
        problem.unit,
        problem.shown_per_unit,
        tuple(curves),
    )


def _point(
    varied: Varied,
    value: float,
    own: bool,
    given: Instance,
    problem: Problem,
    heuristic: str,
    options: Mapping[str, object] | None,
    limit: float,
) -> Point:
    """Solve by the heuristic and exactly at one value of a parameter."""
    interrupts.heed()
    shown_value = value * varied.shown_per_unit
    document = _changed(given.to_dict(), varied.path, value)
    try:
        instance = resolve(problem.instance).from_dict(document)
    except InputError as error:  # such as a job that makes no progress at so little bandwidth
        return Point(shown_value, own, note=f"cannot be: {error.found}")
    quick = solve(instance, heuristic, options=options, time_limit=limit)
    best = solve(instance, "exact", options=options, time_limit=limit)
    objectives = [o for o in (quick.objective, best.objective) if o is not None]
    return Point(
        shown_value,
        own,
        quick.objective,
        min(objectives, default=None),
        max((b for b in (quick.bound, best.bound) if b is not None), default=None),
        best.proved,
        "" if objectives else str(best.details.get("message", best.termination.value)),
    )


def _value(document: dict[str, Any], varied: Varied) -> float:
    for key in varied.path:
        document = document[key]
    value: Any = document
    if not isinstance(value, int | float):
        raise InputError("instance", ".".join(varied.path), shown(value), "a number")
    return float(value)


def _changed(document: dict[str, Any], path: Sequence[str], value: float) -> dict[str, Any]:
    """The document with another value at a place."""
    first, *rest = path
    return {**document, first: _changed(document[first], rest, value) if rest else value}


def _first(pair: tuple[float, Point]) -> float:
    return pair[0]
