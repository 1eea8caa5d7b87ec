"""Runs of a set's methods, whose values, bounds and certificates are kept as records.

Each set has a log ``set.runs.jsonl`` with one line per run. Logged runs are not repeated, so an
interrupted measurement resumes.
"""

import json
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import optsched
from optsched.errors import InputError, NotApplicableError, SolverError
from optsched.library.best_records import BestRecords, best_records
from optsched.library.certificates import best_certificate
from optsched.library.records import MAX_LINE_BYTES, Record, add, locked, packed
from optsched.library.sets import Entry, library_set, load_entry
from optsched.methods import solve
from optsched.problems import PROBLEMS
from optsched.result import Result

CERTIFICATE_SECONDS = 10.0
"""Time limit of the search for a certificate."""
SOLVERS = ("highs", "scip")


def measure(
    set_name: str,
    store: str | Path,
    *,
    time_limit: float = 60.0,
    methods: Sequence[str] | None = None,
    by: str | None = None,
    only_open: bool = False,
) -> Iterator[tuple[BestRecords, int]]:
    """Run methods on a set, skipping runs in the log with the same time limit.

    Yields the best records of each instance that was run, and the number of new records.
    """
    chosen = library_set(set_name)
    names = tuple(methods or chosen.methods)
    for name in names:
        PROBLEMS[chosen.name.partition("/")[0]].method(name)
    by = by or f"optsched {optsched.__version__}"
    logged = _logged_runs(Path(store) / f"{set_name}.runs.jsonl")
    for best in best_records(chosen.entries, store):
        missing = [n for n in names if (best.entry.name, n, time_limit) not in logged]
        if missing and not (only_open and best.proved):
            yield _measured(best.entry, missing, Path(store), time_limit, by)


def _measured(
    entry: Entry, methods: Sequence[str], store: Path, time_limit: float, by: str
) -> tuple[BestRecords, int]:
    instance = load_entry(entry)
    records: list[Record] = []
    runs: list[dict[str, Any]] = []
    results: list[Result] = []
    common = {"instance": entry.name, "sha256": entry.sha256, "date": today(), "by": by}
    # Run every method, with a line of the log and candidate records from each.
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
    # Store those that improve on the known ones, certificates first, and then the log.
    new = []
    with locked(store / f"{entry.set_name}.jsonl") as stream:
        (best,) = best_records([entry], store)
        for record in sorted(records, key=_certified_and_best_first):
            if best.improved_by(record):
                new.append(record)
                best = BestRecords.of(entry, (*best.history, record))
        add(stream, [record.line() for record in new])
    with locked(store / f"{entry.set_name}.runs.jsonl") as stream:
        add(stream, [json.dumps(run, allow_nan=False).encode() + b"\n" for run in runs])
    return best, len(new)


def _certified_and_best_first(record: Record) -> tuple[bool, float]:
    return record.proof != "certificate", record.value if record.kind == "value" else -record.value


def _value_records(result: Result, origin: dict[str, Any]) -> Iterator[Record]:
    if result.objective is not None and result.check is not None and result.check.feasible:
        assert result.solution is not None
        text = packed(without_certificate(result.solution.to_dict()))
        if len(text) < MAX_LINE_BYTES:
            yield Record(**origin, kind="value", value=result.objective, solution=text)


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
        fields |= {"proof": "solver", "solver": version, "gap": result.gap}
    else:
        fields |= {"proof": "formula", "method": result.chosen or result.method}
    yield Record(**fields)


def _certified_records(
    instance: Any, results: Sequence[Result], common: dict[str, Any]
) -> Iterator[Record]:
    """Bounds with certificates, from the result with the best bound and those that have one."""
    with_bounds = [r for r in results if r.bound is not None] or results[:1]
    ranked = sorted(with_bounds, key=lambda r: r.bound or 0.0, reverse=True)
    other_certified = [r for r in results if _has_certificate(r) and r is not ranked[0]]
    for result in (*ranked[:1], *other_certified):
        began = processor_seconds()
        best = best_certificate(instance, result, CERTIFICATE_SECONDS)
        if best is not None:
            seconds = result.build_time + result.solve_time + processor_seconds() - began
            yield Record(
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
    return (result.certificate or getattr(result.solution, "certificate", None)) is not None


def _logged_runs(path: Path) -> set[tuple[str, str, float]]:
    """Instance, method and limit of the runs in a log; an unfinished last line is ignored."""
    logged = set()
    lines = path.read_bytes().split(b"\n") if path.is_file() else []
    for number, line in enumerate(lines, start=1):
        try:
            run = json.loads(line)
            logged.add((run["instance"], run["method"], float(run["limit"])))
        except (ValueError, KeyError, TypeError):
            if number < len(lines):
                raise InputError(str(path), f"line {number}", "no run", "a run's JSON") from None
    return logged


def without_certificate(document: dict[str, Any]) -> dict[str, Any]:
    """A solution's document without its certificate, which has a record of its own."""
    return {key: value for key, value in document.items() if key != "certificate"}


def today() -> str:
    """The day in UTC."""
    return datetime.now(UTC).date().isoformat()


def processor_seconds() -> float:
    """CPU time of this process and of its finished children."""
    return sum(os.times()[:4])
