"""Gap tables of a result store, one per family: a line per method.

Excess is objective / best proven bound - 1. The bound of an instance is the best one in the library
or in any row of the store with the same options (and the same seed for problems over time, where
the seed draws what happens). An interval resamples instances, not runs: the seeds of one instance
are averaged first, and an instance that a generator drew repeatedly counts once. Only rows that the
checker passed count.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from itertools import combinations
from math import isclose
from pathlib import Path
from statistics import fmean, median
from typing import Any

from optsched.checking import relative_excess
from optsched.errors import InputError, shown
from optsched.experiments.statistics import Interval, bootstrap_mean
from optsched.experiments.store.store import FAILURES, MEASURES, Status, StoreReader
from optsched.library.best_records import known_bound
from optsched.problems import PROBLEMS
from optsched.result import RELAXES, Termination, is_proved

REFERENCE = "exact"
"""Times are set against this method's, where a family runs it."""

PAIR_HEADINGS = ("pair", "wins", "ties", "losses")
PROVED_GAP = 1e-6
"""The relative gap to which plans prove optimality by default."""
NOT_RUN = "not run"
TIE_RTOL = 1e-9
"""Relative difference up to which two objectives tie."""

QUERY = """
SELECT m.plan, m.family, m.method, m.seed, m.options, i.name AS instance,
       i.problem, m.sha256, i.content, r.status, r.message, r.termination, r.objective, r.bound,
       r.details, r.bound_source, r.chosen, r.feasible, r.build_time, r.solve_time, r.unit_time,
       m.key
FROM members m JOIN (
    SELECT sha256, name, problem, min(sha256) OVER (
        PARTITION BY json_remove(document, '$.name', '$.provenance')
    ) AS content FROM instances
) i ON i.sha256 = m.sha256 LEFT JOIN results r ON r.key = m.key
GROUP BY m.plan, m.family, m.key ORDER BY m.plan, min(m.number)
"""
BOUNDS = """
SELECT problem, sha256, options, seed, bound, bound_source FROM results
WHERE bound IS NOT NULL AND status = 'done' AND termination <> 'error'
ORDER BY bound, key DESC
"""


@dataclass(frozen=True)
class Run:
    """A planned run with its result; `bound` is the best one known for the instance.

    For a method that relaxes a constraint, it is the run's own bound. Instances that differ in name
    and provenance only have the same `content`, the `sha256` of one of them.
    """

    plan: str
    family: str
    problem: str
    instance: str
    sha256: str
    content: str
    method: str
    seed: int
    options: str
    status: str | None
    message: str | None
    termination: str | None
    chosen: str | None
    objective: float | None
    bound: float | None
    bound_source: str | None
    seconds: float | None
    feasible: bool
    details: Mapping[str, Any]

    @property
    def excess(self) -> float | None:
        """objective / bound - 1 of a checked row, rounding below zero cut off."""
        excess = relative_excess(self.objective, self.bound) if self.feasible else None
        return None if excess is None else max(excess, 0.0)

    @property
    def only_bounds(self) -> bool:
        """Whether the method only computes bounds and returned one."""
        is_bound_method = self.method in PROBLEMS[self.problem].bounds
        ended_normally = self.termination in (Termination.FEASIBLE, Termination.OPTIMAL)
        has_only_bound = self.objective is None and self.bound is not None
        return has_only_bound and self.status == Status.DONE and (is_bound_method or ended_normally)

    @property
    def proved(self) -> bool:
        """Whether a bound, or the method itself (as `fewest-waiting`), proves the value."""
        if not self.feasible or self.objective is None:
            return False
        if self.details.get("proved") is True or self.termination == Termination.OPTIMAL:
            return True
        return self.bound is not None and is_proved(self.objective, self.bound, PROVED_GAP)


@dataclass(frozen=True)
class Line:
    """One method on one family; excesses are shares, not percent, `measures` means."""

    method: str
    planned: int
    checked: int
    bounds: int
    refused: int
    failed: int
    mean: float | None
    interval: Interval | None
    median: float | None
    largest: float | None
    proved: float | None
    seconds: float | None
    time_ratio: float | None
    measures: Mapping[str, float]
    unsolved: Mapping[str, int]
    """Runs that ended without a solution, by termination; "not run" for those still planned."""
    relaxes: str | None
    """Constraint that the method relaxes: its excess is over its own bound, and not comparable."""


@dataclass(frozen=True)
class Pairing:
    """Wins, ties and losses of one method against another on the same instance and seed."""

    first: str
    second: str
    wins: int
    ties: int
    losses: int

    @property
    def cells(self) -> tuple[str, ...]:
        """As the tables show it, under `PAIR_HEADINGS`."""
        return f"{self.first} against {self.second}", *map(str, (self.wins, self.ties, self.losses))


@dataclass(frozen=True)
class FamilyTable:
    plan: str
    family: str
    problem: str
    options: Mapping[str, Any]
    draws: int
    instances: int
    lines: tuple[Line, ...]
    pairings: tuple[Pairing, ...]
    runs: tuple[Run, ...]


def gap_table(store: str | Path) -> list[FamilyTable]:
    """The gap tables of a store, one per family.

    Parameters
    ----------
    store : str or Path
        A store that `sweep` made.

    Returns
    -------
    list[FamilyTable]
        Excesses by method over the best bound of each instance.

    Raises
    ------
    InputError
        If it is no store, or an empty one.

    Examples
    --------
    >>> from pathlib import Path
    >>> from optsched.experiments import sweep
    >>> plan = 'families = [{name = "a", instances = ["placement/fig2"], methods = ["exact"]}]'
    >>> _ = Path("two.toml").write_text(plan)
    >>> _ = sweep("two.toml", "two.sqlite", workers=0)
    >>> [(line.method, line.checked) for line in gap_table("two.sqlite")[0].lines]
    [('exact', 1)]
    """
    with StoreReader(store) as base:
        _require_known_problems(base)
        # The rows are ordered by their bounds: the last of a scope is its largest.
        bounds = {_bound_scope(r): (r["bound"], r["bound_source"]) for r in base.rows(BOUNDS)}
        planned = base.rows(QUERY)
    runs = [_run(row, best_bound(row, bounds.get(_bound_scope(row)))) for row in planned]
    families: dict[tuple[str, str, str, str], list[Run]] = {}
    for run in runs:
        key = (run.plan, run.family, run.problem, run.options)
        families.setdefault(key, []).append(run)
    if not families:
        raise InputError(str(store), "", "no plan", "a store that a sweep was started on")
    return [_family(group) for group in families.values()]


def _require_known_problems(base: StoreReader) -> None:
    for table in ("instances", "results"):
        for row in base.rows(f"SELECT DISTINCT problem FROM {table}"):
            if row["problem"] not in PROBLEMS:
                expected = f"one of {', '.join(PROBLEMS)}"
                raise InputError(base.path, f"{table}.problem", shown(row["problem"]), expected)


def _bound_scope(row: Mapping[str, Any]) -> tuple[str, str, int | None]:
    """What a bound holds for: an instance and options; for problems over time also one seed."""
    seed = row["seed"] if PROBLEMS[row["problem"]].over_time else None
    return row["sha256"], row["options"], seed


def best_bound(
    row: Mapping[str, Any], stored: tuple[float, str | None] | None
) -> tuple[float | None, str | None]:
    """The store's bound, or the library's on its instance where that is the better one."""
    options = json.loads(row["options"])
    known = known_bound(row["problem"], row["instance"], row["sha256"], options, row["seed"])
    if known is None or (stored is not None and known[0] <= stored[0]):
        return stored or (None, None)
    return known


def _run(row: Mapping[str, Any], bound: tuple[float | None, str | None]) -> Run:
    times = [t for t in (row["build_time"], row["solve_time"]) if t is not None]
    details = json.loads(row["details"] or "{}")
    if RELAXES in details:
        bound = row["bound"], row["bound_source"]
    values = {field.name: row[field.name] for field in fields(Run) if field.name in row}
    values |= {
        "bound": bound[0],
        "bound_source": bound[1],
        "seconds": sum(times) if times else None,
        "feasible": bool(row["feasible"]) and row["status"] == Status.DONE,
        "details": details,
    }
    return Run(**values)


def _family(runs: list[Run]) -> FamilyTable:
    first, methods = runs[0], _in_order(runs)
    problem = PROBLEMS[first.problem]
    other_objective = {m.name for m in problem.methods if problem.parts and m.kind == "model"}
    compared = [method for method in methods if method not in other_objective]
    pairings = [_pairing(*pair, runs) for pair in combinations(compared, 2)]
    reference = {
        (r.content, r.seed): r.seconds for r in runs if r.method == REFERENCE and r.feasible
    }
    return FamilyTable(
        plan=first.plan,
        family=first.family,
        problem=first.problem,
        options=json.loads(first.options),
        draws=len({r.sha256 for r in runs}),
        instances=len({r.content for r in runs}),
        lines=tuple(_line(m, [r for r in runs if r.method == m], reference) for m in methods),
        pairings=tuple(p for p in pairings if p.wins + p.ties + p.losses),
        runs=tuple(runs),
    )


def _in_order(runs: Iterable[Run]) -> list[str]:
    """Methods as the problem lists them, so that tables do not depend on the plan's order."""
    present = {(r.problem, r.method) for r in runs}
    known = [m.name for p in PROBLEMS.values() for m in p.methods if (p.name, m.name) in present]
    return known + sorted({method for _, method in present} - set(known))  # of another version


def _line(method: str, runs: list[Run], reference: Mapping[tuple[str, int], float | None]) -> Line:
    passed = [r for r in runs if r.feasible]
    checked = list({(r.content, r.seed): r for r in passed}.values())
    excesses = [(r.content, r.excess) for r in checked if r.excess is not None]
    means, values = _means_by_instance(excesses), [excess for _, excess in excesses]
    times = [r.seconds for r in checked if r.seconds is not None]
    ratios = [
        r.seconds / base
        for r in checked
        if r.seconds is not None and (base := reference.get((r.content, r.seed)))
    ]
    ended = [r for r in runs if r.status in (None, Status.DONE) and not r.feasible]
    unsolved = Counter(r.termination or NOT_RUN for r in ended if not r.only_bounds)
    return Line(
        method=method,
        planned=len(runs),
        checked=len(passed),
        bounds=sum(r.only_bounds for r in runs),
        refused=sum(r.status == Status.REFUSED for r in runs),
        failed=sum(r.status in FAILURES for r in runs),
        mean=fmean(means) if means else None,
        interval=bootstrap_mean(means),
        median=median(values) if values else None,
        largest=max(values, default=None),
        proved=sum(r.proved for r in checked) / len(checked) if checked else None,
        seconds=median(times) if times else None,
        time_ratio=median(ratios) if ratios else None,
        measures=_mean_measures(checked),
        unsolved=dict(sorted(unsolved.items())),
        relaxes=next((str(r.details[RELAXES]) for r in checked if RELAXES in r.details), None),
    )


def _means_by_instance(values: Iterable[tuple[str, float]]) -> list[float]:
    """Means over the seeds of each instance, of pairs of an instance and a value."""
    groups: dict[str, list[float]] = {}
    for instance, value in values:
        groups.setdefault(instance, []).append(value)
    return [fmean(group) for group in groups.values()]


def _mean_measures(checked: Iterable[Run]) -> dict[str, float]:
    """Each measure's mean over instances, the objective's and the bound's among them."""
    values: dict[str, list[tuple[str, float]]] = {}
    for run in checked:
        own = {"objective": run.objective, "bound": run.bound}
        for name, value in {**run.details.get(MEASURES, {}), **own}.items():
            if value is not None:
                values.setdefault(name, []).append((run.content, value))
    return {name: fmean(_means_by_instance(pairs)) for name, pairs in values.items()}


def _pairing(first: str, second: str, runs: list[Run]) -> Pairing:
    objectives = [
        {
            (r.content, r.seed): r.objective
            for r in runs
            if r.method == method and r.feasible and r.objective is not None
        }
        for method in (first, second)
    ]
    pairs = [(a, objectives[1][run]) for run, a in objectives[0].items() if run in objectives[1]]
    ties = sum(isclose(a, b, rel_tol=TIE_RTOL) for a, b in pairs)
    wins = sum(a < b and not isclose(a, b, rel_tol=TIE_RTOL) for a, b in pairs)
    return Pairing(first, second, wins, ties, len(pairs) - wins - ties)
