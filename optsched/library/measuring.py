"""Runs of a set's methods, whose values, bounds and certificates are kept as records.

Beside each file of records stands ``set.runs.jsonl``, a line a run, also of runs without a new
record. Runs in it are not repeated: an interrupted measurement continues.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import optsched
from optsched.errors import InputError, NotApplicableError, SolverError
from optsched.library.certificates import best_certificate
from optsched.library.records import MAX_LINE_BYTES, Record, add, locked, packed
from optsched.library.sets import Entry, library_set, make
from optsched.library.standing import Standing, exceeds, standings
from optsched.methods import solve
from optsched.problems import PROBLEMS
from optsched.result import Result

CERTIFICATE_SECONDS = 10.0
"""Time limit of the search for a certificate."""
SOLVERS = ("highs", "scip")


@dataclass(frozen=True)
class Measured:
    """An instance after its methods were run, and the number of new records."""

    standing: Standing
    new: int


def measure(
    set_name: str,
    store: str | Path,
    *,
    time_limit: float = 60.0,
    methods: Sequence[str] | None = None,
    by: str | None = None,
    only_open: bool = False,
) -> Iterator[Measured]:
    """Run methods on a set's instances, except runs with this limit that are in the log."""
    chosen = library_set(set_name)
    names = tuple(methods or chosen.methods)
    for name in names:
        PROBLEMS[chosen.name.partition("/")[0]].method(name)
    by = by or f"optsched {optsched.__version__}"
    done = _logged_runs(Path(store) / f"{set_name}.runs.jsonl")
    for before in standings(chosen.entries, store):
        missing = [n for n in names if (before.entry.name, n, time_limit) not in done]
        if missing and not (only_open and before.proved):
            yield _measured(before.entry, missing, Path(store), time_limit, by)


def _measured(
    entry: Entry, methods: Sequence[str], store: Path, time_limit: float, by: str
) -> Measured:
    instance = make(entry)
    (before,) = standings([entry], store)
    records: list[Record] = []
    runs: list[dict[str, Any]] = []
    results: list[Result] = []
    common = {"instance": entry.name, "sha256": entry.sha256, "date": today(), "by": by}
    for name in methods:
        run = {"instance": entry.name, "method": name, "limit": time_limit}
        began = processor_seconds()
        try:
            result = solve(instance, name, time_limit=time_limit)
        except (NotApplicableError, SolverError) as error:
            runs.append({**run, "end": type(error).__name__})
            continue
        seconds = round(processor_seconds() - began, 3)
        runs.append(
            {
                **run,
                "method": result.method,
                "end": result.termination.value,
                "value": result.objective,
                "bound": result.bound,
                "seconds": seconds,
            }
        )
        command = f"optsched solve {entry.name} --method {name} --time-limit {time_limit:g}"
        origin = {**common, "method": name, "command": command, "processor_seconds": seconds}
        records += [*_value_records(result, origin), *_bound_records(result, origin)]
        results.append(result)
    records += _certified_records(instance, results, common)
    with locked(store / f"{entry.set_name}.jsonl") as stream:
        new = list(_improving(before, records))
        add(stream, [record.line() for record in new])
    with locked(store / f"{entry.set_name}.runs.jsonl") as stream:
        add(stream, [json.dumps(run, allow_nan=False).encode() + b"\n" for run in runs])
    (after,) = standings([entry], store)
    return Measured(after, len(new))


def _value_records(result: Result, origin: dict[str, Any]) -> Iterator[Record]:
    if result.objective is not None and result.check is not None and result.check.feasible:
        assert result.solution is not None
        text = packed(without_certificate(result.solution.to_dict()))
        if len(text) < MAX_LINE_BYTES:
            yield Record.of(**origin, kind="value", value=result.objective, solution=text)


def _bound_records(result: Result, origin: dict[str, Any]) -> Iterator[Record]:
    """The bound that the method states, without a certificate."""
    if result.bound is None or (result.check is not None and not result.check.feasible):
        return
    solver = result.solver
    if solver is None and result.bound_source in SOLVERS:
        solver = result.bound_source
    fields = {**origin, "kind": "bound", "value": result.bound, "argument": result.bound_source}
    if solver is not None:
        version = f"{solver} {result.solver_version}" if result.solver_version else solver
        yield Record.of(**fields, proof="solver", solver=version, gap=result.gap)
    else:
        yield Record.of(**{**fields, "method": result.chosen or result.method}, proof="formula")


def _certified_records(
    instance: Any, results: Sequence[Result], common: dict[str, Any]
) -> Iterator[Record]:
    """Bounds with certificates, from the result with the best bound and those that have one."""
    with_bounds = [r for r in results if r.bound is not None] or results[:1]
    ranked = sorted(with_bounds, key=lambda r: r.bound or 0.0, reverse=True)
    own = [r for r in results if _has_certificate(r) and r is not ranked[0]]
    for result in (*ranked[:1], *own):
        began = processor_seconds()
        best = best_certificate(instance, result, CERTIFICATE_SECONDS)
        if best is not None:
            seconds = result.build_time + result.solve_time + processor_seconds() - began
            yield Record.of(
                **common,
                kind="bound",
                value=best[0],
                proof="certificate",
                certificate=packed(best[1]),
                method=result.method,
                command=f"optsched verify {common['instance']}",
                processor_seconds=round(seconds, 3),
            )


def _has_certificate(result: Result) -> bool:
    own = getattr(result.solution, "certificate", None)
    return result.certificate is not None or own is not None


def _improving(before: Standing, records: Sequence[Record]) -> Iterator[Record]:
    """Records with a better value, a better certificate, or a bound above any certificate."""
    best = {"value": before.value, "certificate": before.certified, "bound": before.bound}
    known = {key: None if r is None else _merit(r) for key, r in best.items()}
    for record in sorted(records, key=lambda r: (r.proof != "certificate", -_merit(r))):
        key = "certificate" if record.proof == "certificate" else record.kind
        bar, merit = known[key], _merit(record)
        if bar is None or exceeds(merit, bar):
            yield record
            known[key] = merit
            if key == "certificate":  # a bound without a certificate must exceed it
                known["bound"] = max(merit, known["bound"] or merit)


def _merit(record: Record) -> float:
    return -record.value if record.kind == "value" else record.value


def _logged_runs(path: Path) -> set[tuple[str, str, float]]:
    """Instance, method and limit of the runs in a log; an unfinished last line is ignored."""
    done = set()
    lines = path.read_bytes().split(b"\n") if path.is_file() else []
    for number, line in enumerate(lines, start=1):
        try:
            run = json.loads(line)
            done.add((run["instance"], run["method"], float(run["limit"])))
        except (ValueError, KeyError, TypeError):
            if number < len(lines):
                raise InputError(str(path), f"line {number}", "no run", "a run") from None
    return done


def without_certificate(document: dict[str, Any]) -> dict[str, Any]:
    """A solution's document without its certificate, which has a record of its own."""
    return {key: value for key, value in document.items() if key != "certificate"}


def today() -> str:
    """The day in UTC."""
    return datetime.now(UTC).date().isoformat()


def processor_seconds() -> float:
    """Processor time of this process and of the children that it waited for."""
    return sum(os.times()[:4])
