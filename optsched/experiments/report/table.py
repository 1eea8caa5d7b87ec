"""The gap table of a result store: a line a method, for each family of its plans.

Excess is objective / best proven bound - 1. The bound of an instance is the best that the library
knows or any row of the store proves for it under the same options, and the same seed where that
draws what happens. An interval resamples instances, not runs: the seeds of one instance are
averaged first. Only rows that the checker passed count.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean, median
from typing import Any

from optsched.checking import relative_excess
from optsched.errors import InputError, shown
from optsched.experiments.statistics import Interval, bootstrap_mean
from optsched.experiments.store.row import FAILURES, MEASURES, Status
from optsched.experiments.store.store import StoreReader
from optsched.library.standing import known_bound
from optsched.problems import PROBLEMS
from optsched.result import RELAXES, Termination, is_proved

REFERENCE = "exact"
"""Times are set against this method's, where a family runs it."""

PAIR_HEADINGS = ("pair", "wins", "ties", "losses")
PROVED_GAP = 1e-6
NOT_RUN = "not run"
TIE = 1e-9
"""Relative difference up to which two objectives tie."""

QUERY = """
SELECT m.plan, m.family, m.method, m.seed, m.options AS asked, i.name AS instance,
       i.problem, m.sha256, r.status, r.message, r.termination, r.objective, r.bound,
       r.details, r.bound_source, r.chosen, r.feasible, r.build_time, r.solve_time, r.unit_time,
       m.key
FROM members m JOIN instances i ON i.sha256 = m.sha256 LEFT JOIN results r ON r.key = m.key
GROUP BY m.plan, m.family, m.key ORDER BY m.plan, min(m.number)
"""
AS_STORED = (
    *("plan", "family", "problem", "instance", "sha256", "method", "seed"),
    *("status", "message", "termination", "chosen", "objective"),
)
"""Columns of the query that a run has as they are."""
BOUNDS = """
SELECT problem, sha256, options, seed, bound, bound_source FROM results
WHERE bound IS NOT NULL AND status = 'done' AND termination <> 'error'
"""


@dataclass(frozen=True)
class Run:
    """A planned run and what came of it; `bound` is the best one known for the instance.

    Of a run free of a rule of the problem it is its own.
    """

    plan: str
    family: str
    problem: str
    instance: str
    sha256: str
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
        """Whether the method gave a bound and was to give no more."""
        asked = self.method in PROBLEMS[self.problem].bounds
        in_order = self.termination in (Termination.FEASIBLE, Termination.OPTIMAL)
        without = self.objective is None and self.bound is not None
        return without and self.status == Status.DONE and (asked or in_order)

    @property
    def proved(self) -> bool:
        """Whether the row's value is proved optimal, by whatever bound, or by its own account.

        The second of methods with an objective or a rule of their own, such as `fewest-waiting`.
        """
        if not self.feasible or self.objective is None:
            return False
        if self.details.get("proved") is True:
            return True
        if self.termination == Termination.OPTIMAL:
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
    without: Mapping[str, int]
    """Runs that ended without a solution, by termination; "not run" for those still planned."""
    relaxes: str | None
    """The rule of the problem that these runs are free of: their excess is over a bound of their
    own, and not comparable with that of other lines."""


@dataclass(frozen=True)
class Pairing:
    """How often one method beats, meets and loses to another on the same instance and seed."""

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
    """The gap table of a family."""

    plan: str
    family: str
    problem: str
    options: Mapping[str, Any]
    instances: int
    lines: tuple[Line, ...]
    pairings: tuple[Pairing, ...]
    runs: tuple[Run, ...]


def gap_table(store: str | Path) -> list[FamilyTable]:
    """The gap tables of a store, one a family.

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
    >>> plan = '''
    ... name = "two"
    ... [[families]]
    ... name = "fig2"
    ... instances = ["placement/fig2"]
    ... methods = ["heavy-edge", "exact"]
    ... '''
    >>> _ = Path("two.toml").write_text(plan)
    >>> _ = sweep("two.toml", "two.sqlite", workers=0)
    >>> [(line.method, line.checked) for line in gap_table("two.sqlite")[0].lines]
    [('heavy-edge', 1), ('exact', 1)]
    """
    with StoreReader(store) as base:
        _require_known_problems(base)
        runs = read_runs(base)
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


def read_runs(base: StoreReader) -> list[Run]:
    """Every planned run of a store, with the best bound of its instance."""
    best: dict[tuple[str, str, int | None], tuple[float, str | None]] = {}
    for row in base.rows(BOUNDS):
        key = _bounded_by(row, row["options"])
        if key not in best or row["bound"] > best[key][0]:
            best[key] = (row["bound"], row["bound_source"])
    return [
        _run(row, _or_known(row, best.get(_bounded_by(row, row["asked"]), (None, None))))
        for row in base.rows(QUERY)
    ]


def _bounded_by(row: Mapping[str, Any], options: str) -> tuple[str, str, int | None]:
    """What a bound holds for: an instance and options, and for some subjects one seed."""
    seed = row["seed"] if PROBLEMS[row["problem"]].over_time else None
    return row["sha256"], options, seed


def _or_known(
    row: Mapping[str, Any], best: tuple[float | None, str | None]
) -> tuple[float | None, str | None]:
    """The store's bound, or the library's on its instance where that is the better one."""
    options = json.loads(row["asked"])
    known = known_bound(row["problem"], row["instance"], row["sha256"], options, row["seed"])
    return best if known is None or (best[0] is not None and known[0] <= best[0]) else known


def _run(row: Mapping[str, Any], best: tuple[float | None, str | None]) -> Run:
    times = [t for t in (row["build_time"], row["solve_time"]) if t is not None]
    bound, source = best
    if RELAXES in json.loads(row["details"] or "{}"):
        bound, source = row["bound"], row["bound_source"]
    return Run(
        **{name: row[name] for name in AS_STORED},
        options=row["asked"],
        bound=bound,
        bound_source=source,
        seconds=sum(times) if times else None,
        feasible=bool(row["feasible"]) and row["status"] == Status.DONE,
        details=json.loads(row["details"] or "{}"),
    )


def _family(runs: list[Run]) -> FamilyTable:
    methods = _in_order(runs)
    reference = {
        (r.sha256, r.seed): r.seconds for r in runs if r.method == REFERENCE and r.feasible
    }
    first = runs[0]
    pairings = [_pairing(a, b, runs) for a, b in combinations(_comparable(first, methods), 2)]
    return FamilyTable(
        plan=first.plan,
        family=first.family,
        problem=first.problem,
        options=json.loads(first.options),
        instances=len({r.sha256 for r in runs}),
        lines=tuple(_line(m, [r for r in runs if r.method == m], reference) for m in methods),
        pairings=tuple(p for p in pairings if p.wins + p.ties + p.losses),
        runs=tuple(runs),
    )


def _comparable(run: Run, methods: list[str]) -> list[str]:
    """Methods that are paired by the objective: those that seek it, where parts stand for it."""
    problem = PROBLEMS[run.problem]
    own = {method.name for method in problem.methods if method.kind == "model"}
    return [method for method in methods if not (problem.parts and method in own)]


def _in_order(runs: Iterable[Run]) -> list[str]:
    """Methods as the problem lists them, so that tables do not depend on the plan's order."""
    present = {(r.problem, r.method) for r in runs}
    known = [m.name for p in PROBLEMS.values() for m in p.methods if (p.name, m.name) in present]
    return known + sorted({method for _, method in present} - set(known))  # of another version


def _line(method: str, runs: list[Run], reference: Mapping[tuple[str, int], float | None]) -> Line:
    checked = [r for r in runs if r.feasible]
    by_instance: dict[str, list[float]] = {}
    for r in checked:
        if r.excess is not None:
            by_instance.setdefault(r.sha256, []).append(r.excess)
    means = [fmean(values) for values in by_instance.values()]
    every = [value for values in by_instance.values() for value in values]
    ratios = [
        r.seconds / base
        for r in checked
        if r.seconds is not None and (base := reference.get((r.sha256, r.seed)))
    ]
    times = [r.seconds for r in checked if r.seconds is not None]
    return Line(
        method=method,
        planned=len(runs),
        checked=len(checked),
        bounds=sum(r.only_bounds for r in runs),
        refused=sum(r.status == Status.REFUSED for r in runs),
        failed=sum(r.status in FAILURES for r in runs),
        mean=fmean(means) if means else None,
        interval=bootstrap_mean(means),
        median=median(every) if every else None,
        largest=max(every, default=None),
        proved=sum(r.proved for r in checked) / len(checked) if checked else None,
        seconds=median(times) if times else None,
        time_ratio=median(ratios) if ratios else None,
        measures=_mean_measures(checked),
        without=_without_solution(runs),
        relaxes=next((str(r.details[RELAXES]) for r in checked if RELAXES in r.details), None),
    )


def _without_solution(runs: Iterable[Run]) -> dict[str, int]:
    """Count the runs without a solution by how they ended."""
    ended = [r for r in runs if r.status in (None, Status.DONE) and not r.feasible]
    counts = Counter(r.termination or NOT_RUN for r in ended if not r.only_bounds)
    return dict(sorted(counts.items()))


def _mean_measures(checked: Iterable[Run]) -> dict[str, float]:
    """Of each measure the mean over instances."""
    found: dict[str, dict[str, list[float]]] = {}
    for run in checked:
        for name, value in run.details.get(MEASURES, {}).items():
            if value is not None:
                found.setdefault(name, {}).setdefault(run.sha256, []).append(value)
    return {name: fmean(map(fmean, each.values())) for name, each in found.items()}


def _pairing(first: str, second: str, runs: list[Run]) -> Pairing:
    values = {
        (r.method, r.sha256, r.seed): r.objective
        for r in runs
        if r.feasible and r.objective is not None
    }
    counts = {-1: 0, 0: 0, 1: 0}
    for (method, sha256, seed), a in values.items():
        b = values.get((second, sha256, seed))
        if method == first and a is not None and b is not None:
            tie = abs(a - b) <= TIE * max(abs(a), abs(b))
            counts[0 if tie else (-1 if a < b else 1)] += 1
    return Pairing(first, second, counts[-1], counts[0], counts[1])
