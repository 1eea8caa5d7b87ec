"""How a heuristic's distance from the optimum goes with a parameter of the instance.

A gap at one setting says little: where communication is cheap any placement will do, and where it
is dear other placements win. Each parameter that the problem names is varied alone, all else as the
instance has it; at each value the heuristic and the optimum are found anew.
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
"""Of the instance's own value."""
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Of a parameter between 0 and 1, besides the instance's own."""
TIME_LIMIT = 5.0
"""Seconds of each search for an optimum, unless told."""


@dataclass(frozen=True)
class Point:
    """One value of a parameter: the heuristic's objective, the optimum's, and the best bound.

    Attributes
    ----------
    own : bool
        Whether it is the instance's own value.
    heuristic, optimum, bound : float or None
        None where nothing was found; `optimum` is the best found, `proved` says whether it is one.
    note : str
        Why there is nothing, such as a job that can no longer run.
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
                {
                    "parameter": curve.parameter,
                    "unit": curve.unit,
                    "points": [{**asdict(p), "excess": p.excess} for p in curve.points],
                }
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
    asked = _Asked(given, problem, heuristic, options, time_limit)
    curves = []
    for varied in problem.varied:
        own = _value(given.to_dict(), varied)
        points = tuple(asked.point(varied, value, value == own) for value in _values(own, varied))
        curves.append(Curve(varied.name, varied.unit, points))
    return Sensitivity(
        given.name,
        problem.name,
        heuristic,
        problem.objective,
        problem.unit,
        problem.shown_per_unit,
        tuple(curves),
    )


def _values(own: float, varied: Varied) -> list[float]:
    chosen = SHARES if varied.share else tuple(factor * own for factor in FACTORS)
    return sorted({*chosen, own})


@dataclass(frozen=True)
class _Asked:
    """What is solved at every value."""

    given: Instance
    problem: Problem
    heuristic: str
    options: Mapping[str, object] | None
    time_limit: float

    def point(self, varied: Varied, value: float, own: bool) -> Point:
        """The heuristic and the optimum at one value."""
        interrupts.heed()
        shown_value = value * varied.shown_per_unit
        document = _changed(self.given.to_dict(), varied.path, value)
        try:
            instance = resolve(self.problem.instance).from_dict(document)
        except InputError as error:  # such as a job that makes no progress at so little bandwidth
            return Point(shown_value, own, note=f"cannot be: {error.found}")
        limit = self.time_limit
        quick = solve(instance, self.heuristic, options=self.options, time_limit=limit)
        best = solve(instance, "exact", options=self.options, time_limit=limit)
        found = [o for o in (quick.objective, best.objective) if o is not None]
        return Point(
            shown_value,
            own,
            quick.objective,
            min(found, default=None),
            max((b for b in (quick.bound, best.bound) if b is not None), default=None),
            best.proved,
            "" if found else str(best.details.get("message", best.termination.value)),
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
