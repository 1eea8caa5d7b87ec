"""A heuristic's distance from the optimum against a parameter of the instance.

The gap depends on bandwidths, so each parameter that the problem names is varied alone, and at each
value the instance is solved by the heuristic and exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from optsched import interrupts
from optsched.checking import relative_excess
from optsched.display import Explanation, number
from optsched.errors import InputError
from optsched.methods import instance_and_problem, solve
from optsched.problem import Problem, SensitivityParameter
from optsched.problems import PROBLEMS

if TYPE_CHECKING:
    from optsched.typing import Instance, InstanceLike

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
    own: bool = False
    heuristic: float | None = None
    optimum: float | None = None
    bound: float | None = None
    proved: bool = False
    note: str = ""

    @property
    def excess(self) -> float | None:
        """Relative excess of the heuristic over the best bound."""
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
    """One curve per parameter: the heuristic's objective, the optimum and the gap between them."""

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
                self._format(point.heuristic),
                self._format(point.optimum),
                "-" if point.excess is None else f"{100 * point.excess:.2f}",
                point.note or ("" if point.proved else "not proved: excess over the bound"),
            ]
            for curve in self.curves
            for point in curve.points
        ]
        title = (
            f"{self.instance}: {self.heuristic} and the optimum, {self.objective} in {self.unit}"
        )
        return title, headings, rows, "\n".join(map(self._summary_line, self.curves))

    def _format(self, value: float | None) -> str:
        return number(None if value is None else value * self.shown_per_unit)

    def _summary_line(self, curve: Curve) -> str:
        known = [(p.excess, p) for p in curve.points if p.excess is not None]
        if not known:
            return f"{curve.parameter}: no excess is known"
        first = itemgetter(0)
        (low, at_low), (high, at_high) = min(known, key=first), max(known, key=first)
        reference = "the optimum" if all(point.proved for _, point in known) else "the best bound"
        text = f"{curve.parameter}: {self.heuristic} is {100 * low:.2f}% above {reference}"
        if low == high:
            return f"{text} at every value"
        at = (number(point.value, curve.unit).rstrip() for point in (at_low, at_high))
        return f"{text} at {next(at)}, {100 * high:.2f}% at {next(at)}"


def sensitivity(
    instance: InstanceLike,
    *,
    method: str | None = None,
    options: Mapping[str, object] | None = None,
    time_limit: float = TIME_LIMIT,
) -> Sensitivity:
    """Vary each parameter that the problem names and the instance depends on, one at a time.

    Parameters
    ----------
    instance : instance, str or Path
        An instance, or what `optsched.load` takes.
    method : str, optional
        The heuristic; by default the paper's.
    options : mapping, optional
        Options of the cost, as in `optsched.solve`.
    time_limit : float
        Seconds of each exact solve; at the limit only a bound is reported.

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
    given, problem = instance_and_problem(instance)
    if not problem.varied:
        expected = " or ".join(p.name for p in PROBLEMS.values() if p.varied)
        raise InputError("explain", "--sensitivity", problem.name, expected)
    heuristic = problem.method(method or problem.defaults[0]).name
    curves = []
    for varied in (parameter for parameter in problem.varied if parameter.has_effect(given)):
        record, field = varied.path
        own = float(getattr(getattr(given, record), field))
        values = {own, *(SHARES if varied.share else (factor * own for factor in FACTORS))}
        points = [
            replace(
                _point(varied, value, given, problem, heuristic, options, time_limit),
                own=value == own,
            )
            for value in sorted(values)
        ]
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
    varied: SensitivityParameter,
    value: float,
    given: Instance,
    problem: Problem,
    heuristic: str,
    options: Mapping[str, object] | None,
    limit: float,
) -> Point:
    """Solve by the heuristic and exactly at one value of a parameter."""
    interrupts.raise_if_received()
    shown_value, (record, field) = value * varied.shown_per_unit, varied.path
    try:
        instance = given.with_(**{record: {field: value}})
    except InputError as error:  # such as a job that makes no progress at so little bandwidth
        return Point(shown_value, note=f"invalid instance: {error.found}")
    runs = [solve(instance, m, options=options, time_limit=limit) for m in (heuristic, "exact")]
    objectives = [run.objective for run in runs if run.objective is not None]
    exact = runs[1]
    return Point(
        shown_value,
        heuristic=runs[0].objective,
        optimum=min(objectives, default=None),
        bound=max((run.bound for run in runs if run.bound is not None), default=None),
        proved=exact.proved,
        note="" if objectives else str(exact.details.get("message", exact.termination.value)),
    )
