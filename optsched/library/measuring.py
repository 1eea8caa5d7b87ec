"""Runs of a set's methods, their values, bounds and certificates kept as records: resumable.

Beside each file of records stands ``set.runs.jsonl``, a line a run, also of those that run_fields
nothing new. What is there is not run again: a run that was interrupted goes on where it stopped.
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
from optsched.library.records import MOST_BYTES, Record, add, locked, packed
from optsched.library.sets import Entry, library_set, make
from optsched.library.standing import Standing, exceeds, standings
from optsched.methods import solve
from optsched.problems import PROBLEMS
from optsched.result import Result

CERTIFICATE_SECONDS = 10.0
SOLVERS = ("highs", "scip")


@dataclass(frozen=True)
class Measured:
    """An instance whose methods were run: what is known now, and how many records are new."""

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
    """Run methods on the instances of a set that they were not run on at this limit."""
    chosen = library_set(set_name)
    names = tuple(methods or chosen.methods)
    for name in names:
        PROBLEMS[chosen.name.partition("/")[0]].method(name)
    by = by or f"optsched {optsched.__version__}"
    log = Path(store) / f"{set_name}.runs.jsonl"
    known = _known_runs(log)
    for known_before in standings(chosen.entries, store):
        entry = known_before.entry
        if only_open and known_before.proved:
            continue
        wanted = [name for name in names if (entry.name, name, time_limit) not in known]
        if wanted:
            yield _measured(entry, wanted, Path(store), time_limit, by)


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
        began = processor_seconds()
        try:
            result = solve(instance, name, time_limit=time_limit)
        except (NotApplicableError, SolverError) as error:
            ending = type(error).__name__
            runs.append(
                {"instance": entry.name, "method": name, "limit": time_limit, "end": ending}
            )
            continue
        seconds = round(processor_seconds() - began, 3)
        command = f"optsched solve {entry.name} --method {name} --time-limit {time_limit:g}"
        run_fields = {**common, "method": name, "command": command, "processor_seconds": seconds}
        records += [*_value(result, run_fields), *_word(result, run_fields)]
        results.append(result)
        runs.append(_run(entry, result, time_limit, seconds))
    records += _certified(instance, results, common)
    path = store / f"{entry.set_name}.jsonl"
    with locked(path) as stream:
        kept = list(_new(before, records))
        add(stream, [record.line() for record in kept])
    with locked(store / f"{entry.set_name}.runs.jsonl") as stream:
        add(stream, [json.dumps(run, allow_nan=False).encode() + b"\n" for run in runs])
    (after,) = standings([entry], store)
    return Measured(after, len(kept))


def _value(result: Result, run_fields: dict[str, Any]) -> Iterator[Record]:
    if result.objective is None or result.check is None or not result.check.feasible:
        return
    assert result.solution is not None
    text = packed(without_certificate(result.solution.to_dict()))
    if len(text) < MOST_BYTES:
        yield Record.of(**run_fields, kind="value", value=result.objective, solution=text)


def _word(result: Result, run_fields: dict[str, Any]) -> Iterator[Record]:
    """A bound as the method says it, without a certificate."""
    if result.bound is None or (result.check is not None and not result.check.feasible):
        return
    solver = result.solver
    if solver is None and result.bound_source in SOLVERS:
        solver = result.bound_source
    fields = {**run_fields, "kind": "bound", "value": result.bound, "argument": result.bound_source}
    if solver is not None:
        version = f"{solver} {result.solver_version}" if result.solver_version else solver
        yield Record.of(**fields, proof="solver", solver=version, gap=result.gap)
    else:
        yield Record.of(**{**fields, "method": result.chosen or result.method}, proof="formula")


def _certified(
    instance: Any, results: Sequence[Result], common: dict[str, Any]
) -> Iterator[Record]:
    """The best bound that a certificate proves, sought from the best of the results on."""
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


def _new(before: Standing, records: Sequence[Record]) -> Iterator[Record]:
    """Those that say more than what is known: a better value, a better bound, a proof of one."""
    best = {
        "value": None if before.value is None else -before.value.value,
        "certificate": None if before.certified is None else before.certified.value,
        "word": None if before.bound is None else before.bound.value,
    }
    for record in sorted(records, key=_best_first):
        proved = record.proof == "certificate"
        what = "value" if record.kind == "value" else "certificate" if proved else "word"
        merit = -record.value if record.kind == "value" else record.value
        known = best[what]
        if known is None or exceeds(merit, known):
            yield record
            best[what] = merit
            if proved:
                word = best["word"]
                best["word"] = merit if word is None else max(word, merit)


def _best_first(record: Record) -> tuple[bool, float]:
    """Certificates first, so that a word must say more."""
    proved = record.proof == "certificate"
    return not proved, record.value if record.kind == "value" else -record.value


def _run(entry: Entry, result: Result, time_limit: float, seconds: float) -> dict[str, Any]:
    return {
        "instance": entry.name,
        "method": result.method,
        "limit": time_limit,
        "end": result.termination.value,
        "value": result.objective,
        "bound": result.bound,
        "seconds": seconds,
    }


def _known_runs(path: Path) -> set[tuple[str, str, float]]:
    """Instance, method and limit of the runs there are; a line cut short is none."""
    known = set()
    lines = path.read_bytes().split(b"\n") if path.is_file() else []
    for number, line in enumerate(lines, start=1):
        try:
            run = json.loads(line)
            known.add((run["instance"], run["method"], float(run["limit"])))
        except (ValueError, KeyError, TypeError):
            if number < len(lines):
                raise InputError(str(path), f"line {number}", "no run", "a run") from None
    return known


def without_certificate(document: dict[str, Any]) -> dict[str, Any]:
    """A solution's document; its prices are a record of their own."""
    return {key: value for key, value in document.items() if key != "certificate"}


def today() -> str:
    """The day in UTC."""
    return datetime.now(UTC).date().isoformat()


def processor_seconds() -> float:
    """Of this process and those it waited for."""
    return sum(os.times()[:4])
