"""Measure the library: what methods find on a set, kept as records with certificates.

Usage: ``python benchmarks/measure_library.py SET --store DIR [--time-limit 60] [--methods A,B]
[--open]``. Each set has a log ``SET.runs.jsonl`` with one line per run. Logged runs are not
repeated, so an interrupted measurement resumes. Values, bounds and certificates that improve on the
known ones are added to ``SET.jsonl``, which ``optsched verify --store`` and ``library show`` read.

Candidates for certificates are a method's own, simple duals, and duals of LPs solved for this
purpose; only `verify` establishes what they prove.
"""

import argparse
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import optsched
from optsched.deadline import Deadline
from optsched.errors import InputError, NotApplicableError, SolverError
from optsched.library.best_records import BestRecords, best_records
from optsched.library.records import (
    MAX_LINE_BYTES,
    Record,
    add,
    locked,
    packed,
    today,
    without_certificate,
)
from optsched.library.sets import Entry, library_set, load_entry
from optsched.library.verify import RefusedError, verify
from optsched.methods import solve
from optsched.problems import PROBLEMS
from optsched.result import Result

Certificate = dict[str, Any]
CERTIFICATE_SECONDS = 10.0
"""Time limit of the search for a certificate."""
SOLVERS = ("highs", "scip")
STRICT_RTOL = 1e-10
"""Relative distance below a bound, since only strict inequalities are proved."""
BISECTIONS = 24
"""Steps in which a threshold within a factor of 2 is known to seven digits."""
DUAL_DIGITS = 9
"""Significant digits of a dual; rounding weakens the bound by about as much."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the methods, and print what is known of each instance that was run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set", metavar="SET", help="e.g. placement/plans-1")
    parser.add_argument("--store", required=True, metavar="DIR", help="folder of the records")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds a run")
    parser.add_argument("--methods", metavar="A,B", help="default: the set's")
    parser.add_argument("--by", help="author of the records")
    parser.add_argument("--open", action="store_true", help="only unproved instances")
    given = parser.parse_args(arguments)
    names = given.methods and [method.strip() for method in given.methods.split(",")]
    limits = {"time_limit": given.time_limit, "methods": names}
    runs = measure(given.set, given.store, **limits, by=given.by, only_open=given.open)
    try:
        for best, new in runs:
            excess = "-" if best.excess is None else f"{best.excess:.3%}"
            print(f"{best.entry.name}  {best.status}  {excess}  {new} records", flush=True)
    except InputError as error:
        parser.exit(2, f"{error}\n")


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
            options = chosen.options
            yield _measured(best.entry, missing, Path(store), time_limit, by, options)


def _measured(
    entry: Entry,
    methods: Sequence[str],
    store: Path,
    time_limit: float,
    by: str,
    options: Mapping[str, Any],
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
            result = solve(instance, name, time_limit=time_limit, options=options)
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
        command += "".join(f" --option {key}={value:g}" for key, value in options.items())
        origin = {**common, "method": name, "command": command, "processor_seconds": seconds}
        records += _value_records(result, origin)
        if not options:  # a bound under other options is none of the instance
            records += _bound_records(result, origin)
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


def processor_seconds() -> float:
    """CPU time of this process and of its finished children."""
    return sum(os.times()[:4])


def best_certificate(
    instance: Any, result: Result, seconds: float | None = None
) -> tuple[float, Certificate] | None:
    """The best bound that a candidate certifies, and that candidate; None if none verifies."""
    document = instance.to_dict()
    target = result.bound if result.objective is None else result.objective
    best: tuple[float, Certificate] | None = None
    for candidate in CANDIDATES[result.problem](instance, result, Deadline(seconds)):
        try:
            proved = verify(document, candidate)
        except RefusedError:
            continue
        if best is None or proved > best[0]:
            best = proved, candidate
        if target is not None and best[0] >= target * (1 - 1e-8):
            break
    return best


def _placement(instance: Any, result: Result, deadline: Deadline) -> Iterator[Certificate]:
    from optsched.placement.bounds.patterns import PatternMaster
    from optsched.placement.bounds.pricing import PatternCertificate
    from optsched.placement.cost import tables_of
    from optsched.placement.options import PlacementOptions

    if result.certificate is not None:
        yield result.certificate.to_dict()
    if result.bound is None or not result.bound > 0:
        return
    stages = len(instance.job.stages)
    low = result.bound * (1 - STRICT_RTOL) / 2
    threshold = high = 2 * low
    unit_duals = np.eye(stages, dtype=int).tolist()
    for duals in ([0] * stages, [1] * stages, *unit_duals):
        yield {"kind": "patterns", "threshold": threshold, "prices": duals}
    counts = getattr(result.solution, "counts", None)
    if counts is None:
        return
    master = PatternMaster(instance, tables_of(instance, PlacementOptions()), deadline)
    master.add_placement(np.array(counts))
    for _ in range(BISECTIONS):
        certificate = master.relax(master.price(threshold))
        if certificate is None:
            return
        if isinstance(certificate, PatternCertificate):
            yield certificate.to_dict()
            if threshold == high:
                return
            low = threshold
        else:
            high = threshold
        threshold = math.sqrt(low * high)


def _makespan(instance: Any, result: Result, deadline: Deadline) -> Iterator[Certificate]:
    from optsched.makespan.bounds.best import best_bound
    from optsched.makespan.bounds.certificate import MAX_RESOLUTION
    from optsched.makespan.bounds.durations import durations_of

    if result.certificate is not None:
        yield result.certificate.to_dict()
    durations = durations_of(instance)
    best = best_bound(instance, deadline=deadline)
    if best.certificate is not None:
        yield best.certificate.to_dict()
    longest_job_duals = [0] * len(instance.jobs)
    longest_job_duals[int(durations.minimum.argmax())] = 1
    for bound in sorted({best.value, result.bound or best.value}, reverse=True):
        end = bound - 1 if instance.slotted else bound * (1 - STRICT_RTOL)
        if end <= 0:
            continue
        resolution = int(min(end, MAX_RESOLUTION)) if instance.slotted else MAX_RESOLUTION
        scale = 1 if instance.slotted else resolution / end
        duration_duals = [max(math.floor(d * scale), 0) for d in durations.minimum.tolist()]
        for duals in (longest_job_duals, duration_duals):
            yield {"kind": "columns", "deadline": end, "resolution": resolution, "prices": duals}


def _selection(instance: Any, result: Result, deadline: Deadline) -> Iterator[Certificate]:
    certificate = getattr(result.solution, "certificate", None)
    if certificate is not None:
        document = certificate.model_dump(mode="json")
        slots = {name: _rounded(duals) for name, duals in document["slots"].items()}
        yield {"kind": "prices", "jobs": document["jobs"], "slots": slots}


def _speed_profile(instance: Any, result: Result, deadline: Deadline) -> Iterator[Certificate]:
    from optsched.speed_profile.exact.hull import hull_profile
    from optsched.speed_profile.profile import curve_of

    _, multiplier = hull_profile(instance, curve_of(instance))
    yield {"kind": "multiplier", "multiplier": float(multiplier)}


def _rolling(instance: Any, result: Result, deadline: Deadline) -> Iterator[Certificate]:
    from optsched.result import Settings
    from optsched.rolling.options import RollingOptions
    from optsched.rolling.runs import clairvoyant_duals

    bound, kinds = clairvoyant_duals(instance, RollingOptions(), Settings(seed=result.seed))
    duals = {k: _rounded(row.tolist()) for k, row in zip(kinds, bound.duals, strict=True)}
    edges = bound.slot_edges.tolist()
    yield {"kind": "prices", "seed": result.seed, "edges": edges, "prices": duals}


def _online(instance: Any, result: Result, deadline: Deadline) -> Iterator[Certificate]:
    from optsched.online.bounds.flow import CELLS, ITERATIONS, capacity_duals
    from optsched.online.bounds.gang import gang_bound
    from optsched.online.data.jobs import prepare_jobs

    jobs = prepare_jobs(instance.workload, instance.catalogue, instance.cluster)
    length = jobs.min_length
    trivial_bound = float(length.sum()) * (1 + STRICT_RTOL)
    gang = gang_bound(jobs, result.objective, deadline=deadline)
    if gang.value > trivial_bound:
        document = gang.to_dict()
        yield document | {k: _rounded(document[k]) for k in ("prices", "early") if k in document}
    value, edges, duals = capacity_duals(jobs, length, result.objective, CELLS, ITERATIONS)
    if value > trivial_bound:
        yield {"kind": "prices", "edges": edges.tolist(), "prices": _rounded(duals.tolist())}
    yield {"kind": "prices", "edges": [0.0, float(jobs.submit[-1]) + 1.0], "prices": [0.0]}


def _packing(instance: Any, result: Result, deadline: Deadline) -> Iterator[Certificate]:
    if result.certificate is not None:
        yield result.certificate.to_dict()


def _rounded(duals: list[float]) -> list[float]:
    return [float(f"{dual:.{DUAL_DIGITS}g}") for dual in duals]


Candidates = Callable[[Any, Result, Deadline], Iterator[Certificate]]
CANDIDATES: dict[str, Candidates] = {
    "placement": _placement,
    "makespan": _makespan,
    "selection": _selection,
    "speed-profile": _speed_profile,
    "rolling": _rolling,
    "online": _online,
    "packing": _packing,
}


if __name__ == "__main__":
    main()
