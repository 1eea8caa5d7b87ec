"""Runs under limits against a naive loop written from their page alone."""

import csv
import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from online.test_oracle import OFFERS
from online.test_preemption_oracle import same_segments
from oracles.harness import batches, pick, seed_of_the_day
from oracles.limited import POLICIES, LimitedSimulation
from oracles.limited_cases import draw_limited
from oracles.preemption import POLICIES as PREEMPTIVE
from oracles.preemption import PreemptiveSimulation

from optsched import online
from optsched.online.audit import audit
from optsched.online.data.jobs import Jobs
from optsched.online.records import Records, Segments


def _settings(rng: np.random.Generator, policy: str) -> dict[str, Any]:
    holds = {"spwf-consolidated": (None, "inf"), "a-srpt-backfill": (None, None, "none", "window")}
    return {
        "tau": pick(rng, (0.0, 0.5, 1.0, 2.0, 100.0)),
        "comm_heavy": pick(rng, (1.0, 1.25, 1.5, 2.0)),
        "offer": pick(rng, OFFERS),
        "hold": pick(rng, holds.get(policy, (None, None, "none", "window", "inf"))),
        "slot": pick(rng, (0.0, 0.0, 0.0, 1.0, 2.5)),
    }


def _settings_with_rounds(rng: np.random.Generator, policy: str) -> dict[str, Any]:
    unit = pick(rng, (0.5, 1.0, 2.0, 4.0))
    settings = {
        "checkpoint": unit * pick(rng, (0.0, 0.0, 0.25, 0.5, 0.75)),
        "offer": pick(rng, OFFERS),
        "slot": pick(rng, (0.0, 0.0, 0.0, 1.0, 2.5)),
    }
    return settings if policy == "srpt-preemptive" else {**settings, "round": unit}


def _guesses(rng: np.random.Generator, drawn: dict[str, Any]) -> dict[str, float]:
    """Predicted iterations by job, in row order: the truth, nothing at all, or anything."""
    kind, guess = pick(rng, ("true", "zero", "drawn")), {}
    for row in sorted(drawn["rows"], key=lambda row: row["submit_time"]):
        values = {"true": row["iterations"], "zero": 0.0, "drawn": float(rng.integers(0, 9))}
        guess[row["job_id"]] = values[kind]
    return guess


def _with_largest(cluster: dict[str, Any]) -> dict[str, Any]:
    """The cluster with the size of a server that the oracle's iteration times need."""
    return {**cluster, "gpus_per_server": max(group["gpus"] for group in cluster["servers"])}


def _heavy(jobs: Jobs, guess: dict[str, float], comm_heavy: float) -> dict[str, bool]:
    ratio = (jobs.configurations.worst / jobs.configurations.estimate)[jobs.configuration]
    return dict(zip(guess, (ratio >= comm_heavy).tolist(), strict=True))


def _prepared(folder: Path, drawn: dict[str, Any]) -> Jobs:
    for name in ("catalogue", "cluster"):
        (folder / f"{name}.json").write_text(json.dumps(drawn[name]), encoding="utf-8")
    with open(folder / "workload.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(drawn["rows"][0]))
        writer.writeheader()
        writer.writerows(drawn["rows"])
    catalogue = online.read_catalogue(folder / "catalogue.json")
    cluster = online.read_cluster(folder / "cluster.json")
    return online.prepare_jobs(online.read_workload(folder / "workload.csv"), catalogue, cluster)


def _compare(number: int, folder: Path, seen: Counter[str]) -> None:
    """Starts, ends and servers of every job under two policies; the audit accepts the runs."""
    rng = np.random.default_rng([seed_of_the_day(), number, 2])
    drawn = draw_limited(rng)
    jobs = _prepared(folder, drawn)
    cluster = _with_largest(drawn["cluster"])
    unlimited = {**cluster, "maintenance": (), "quotas": {}, "priorities": {}}
    for policy in (POLICIES[number % len(POLICIES)], pick(rng, POLICIES)):
        settings, guess = _settings(rng, policy), _guesses(rng, drawn)
        options = online.PolicyOptions(**settings)
        records = online.simulate_online(jobs, policy, np.array([*guess.values()]), options)
        heavy = _heavy(jobs, guess, settings["comm_heavy"])
        ours, free = (
            LimitedSimulation(
                drawn["rows"], drawn["catalogue"], on, policy, guess, heavy=heavy, **settings
            ).run()
            for on in (cluster, unlimited)
        )
        where = f"{number=} {policy} {settings} {guess} {json.dumps(drawn)}"
        for row, record in zip(ours, records, strict=True):
            text = f"{record} against {row} {where}"
            assert (row.name, row.held) == (record.job_id, dict(record.servers)), text
            assert math.isclose(row.start or 0.0, record.start, abs_tol=1e-9), text
            assert math.isclose(row.end, record.end, abs_tol=1e-9), text
        assert not audit(jobs, records).violations, where
        bound = max(vars(online.flow_bounds(jobs)).values())
        assert bound <= records.flow.sum() * (1 + 1e-9), where
        seen[policy] += 1
        seen["changed"] += any(a.start != b.start for a, b in zip(ours, free, strict=True))


def _compare_segments(number: int, folder: Path, seen: Counter[str]) -> None:
    """Every segment of every job under a policy that stops jobs; the audit accepts the run."""
    rng = np.random.default_rng([seed_of_the_day(), number, 3])
    drawn = draw_limited(rng, most_jobs=20, most_windows=6)
    jobs = _prepared(folder, drawn)
    policy = PREEMPTIVE[number % len(PREEMPTIVE)]
    settings, guess = _settings_with_rounds(rng, policy), _guesses(rng, drawn)
    heavy = _heavy(jobs, guess, 1.5)

    def oracle(**limits: Any) -> list[list[tuple[float, float, dict[int, int]]]]:
        cluster = {**_with_largest(drawn["cluster"]), **limits}
        world = drawn["rows"], drawn["catalogue"], cluster, policy, guess
        simulation = PreemptiveSimulation(*world, heavy=heavy, **settings)
        simulation.run()
        return list(simulation.segments())

    ours, options = oracle(), online.PolicyOptions(**settings)
    records = online.simulate_online(jobs, policy, np.array([*guess.values()]), options)
    where = f"{number=} {policy} {settings} {guess} {json.dumps(drawn)}"
    scale = max(end for segments in ours for _, end, _ in segments)
    for record, name, segments in zip(records, guess, ours, strict=True):
        assert record.job_id == name, where
        assert same_segments(record, segments, scale), f"{record} against {segments} {where}"
    assert not audit(jobs, records).violations, where
    for name in ("durations", "fast_machine", "mean_busy_time"):
        assert getattr(online.flow_bounds(jobs), name) <= records.flow.sum() * (1 + 1e-9), where
    seen[policy] += 1
    seen["stops"] += sum(len(segments) - 1 for segments in ours)
    for limit, none in (("maintenance", ()), ("quotas", {}), ("priorities", {})):
        seen[limit] += oracle(**{limit: none}) != ours


def _full(count: int) -> list[Any]:
    return [pytest.param(range(i, i + 50), marks=pytest.mark.full) for i in range(0, count, 50)]


@pytest.mark.parametrize("numbers", [*batches(2000, default=13, size=50), *_full(500)])
def test_records_are_the_oracles(numbers: range, tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for number in numbers:
        _compare(number, tmp_path, seen)
    assert min(seen[policy] for policy in POLICIES) >= len(numbers) // len(POLICIES), seen
    assert seen["changed"] >= len(numbers) // 2, seen  # a quarter of the runs


@pytest.mark.parametrize("numbers", [*batches(2000, default=12, size=50), *_full(1500)])
def test_segments_are_the_oracles(numbers: range, tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for number in numbers:
        _compare_segments(number, tmp_path, seen)
    assert min(seen[policy] for policy in PREEMPTIVE) >= len(numbers) // len(PREEMPTIVE), seen
    assert seen["stops"] >= 5 * len(numbers), seen
    for limit in ("maintenance", "quotas", "priorities"):  # runs whose segments it changed
        assert seen[limit] >= len(numbers) // 10, seen


def _moved(rng: np.random.Generator, run: Records) -> Iterator[Records]:
    """One job at another event, later or earlier."""
    i = int(rng.integers(len(run)))
    events = np.unique(np.concatenate((run.submit, run.start, run.end)))
    times = [pick(rng, events[events >= run.submit[i]]), run.start[i] + rng.uniform(0.1, 5.0)]
    for time in (*times, rng.uniform(run.submit[i], run.start[i] + 1e-9)):
        start, end = run.start.copy(), run.end.copy()
        start[i], end[i] = time, time + end[i] - start[i]
        yield replace(run, start=start, end=end)


MORE = [pytest.param(range(i, i + 130), marks=pytest.mark.full) for i in range(130, 1300, 130)]


@pytest.mark.parametrize("numbers", [range(130), *MORE])
def test_the_audit_finds_altered_runs(numbers: range, tmp_path: Path) -> None:
    """A job is moved, or the run is one of another policy, or with other settings."""
    seen: Counter[str] = Counter()
    for number in numbers:
        rng, policy = np.random.default_rng([7, number]), POLICIES[number % len(POLICIES)]
        jobs = _prepared(tmp_path, draw_limited(rng))
        predicted = np.where(rng.random(len(jobs)) < 0.5, jobs.iterations, rng.integers(0, 9))
        names = (policy, policy, policy, pick(rng, POLICIES))
        settings = [{**_settings(rng, name), "slot": 0.0} for name in names]
        settings[1] = {**settings[0], "tau": pick(rng, (0.0, 0.5, 1.0, 2.0))}
        options = [online.PolicyOptions(**given) for given in settings]
        worlds = zip(names, options, strict=True)
        run, *others = (online.simulate_online(jobs, n, predicted, o) for n, o in worlds)
        same = {"policy": policy, "options": run.options, "predicted": run.predicted}
        for altered in (*_moved(rng, run), *(replace(other, **same) for other in others)):
            late = np.abs(altered.start - run.start).max() > 1e-6
            elsewhere = [job.servers for job in altered] != [job.servers for job in run]
            if late or elsewhere:
                seen[policy] += 1
                assert audit(jobs, altered).violations, f"{number=} {altered}"
    assert min(seen[policy] for policy in POLICIES) >= 20, seen


def _changed(rng: np.random.Generator, jobs: Jobs, run: Records) -> Iterator[tuple[str, Records]]:
    """One segment elsewhere, late, or cut in two at an event."""
    parts, restore = run.segments, run.options.restore
    events = np.unique(np.concatenate((run.submit, parts.start, parts.end)))
    same = {"policy": run.policy, "options": run.options, "predicted": run.predicted}
    for k in rng.permutation(np.flatnonzero(parts.ended)).tolist():
        part, shift = parts[k], int(rng.integers(run.servers))
        for event in events[(events > part.start) & (events < part.end)][:1].tolist():
            begin = max(part.start + restore * parts.resumed[k], event)
            again = replace(part, start=event, end=event + restore + part.end - begin)
            servers = tuple((m + shift) % run.servers for m, _ in part.servers)
            moved = tuple(sorted(zip(servers, (n for _, n in part.servers), strict=True)))
            changes = {
                "elsewhere": [replace(part, servers=moved)],
                "late": [replace(part, start=event, end=event + part.end - part.start)],
                "cut": [replace(part, end=event), again],
            }
            for what, new in changes.items():
                pieces = [parts[i] for i in range(len(parts))]
                pieces[k : k + 1] = new
                job = np.insert(parts.job, k, parts.job[k : k + len(new) - 1]).tolist()
                if new != [part]:
                    segments = Segments.of(job, pieces)
                    yield what, Records.of(jobs, slice(None), **same, segments=segments)


@pytest.mark.parametrize("numbers", [range(24), pytest.param(range(240), marks=pytest.mark.full)])
def test_the_audit_finds_altered_segments(numbers: range, tmp_path: Path) -> None:
    """Feasible changes of a segment before the last window, or a run with other priorities."""
    seen: Counter[str] = Counter()
    for number in numbers:
        rng, policy = np.random.default_rng([8, number]), PREEMPTIVE[number % len(PREEMPTIVE)]
        drawn = draw_limited(rng, most_jobs=20, most_windows=6)
        drawn["cluster"].setdefault("maintenance", []).append({"start": 1e6, "end": 2e6})
        jobs = _prepared(tmp_path, drawn)
        options = online.PolicyOptions(**{**_settings_with_rounds(rng, policy), "slot": 0.0})
        run = online.simulate_online(jobs, policy, None, options)
        urgent = jobs.cluster.with_(priorities={"users": {"ann": 2, "bob": -2}})
        other = online.simulate_online(replace(jobs, cluster=urgent), policy, None, options)
        runs = {"turn": other} if np.abs(other.end - run.end).max() > 1e-6 else {}
        for what, altered in _changed(rng, jobs, run):
            if what not in runs and not audit(jobs, altered, spot_checks=0).violations:
                runs[what] = altered
        for what, altered in runs.items():
            seen[what] += 1
            assert audit(jobs, altered, spot_checks=9999).violations, f"{number=} {policy} {what}"
    assert len(seen) == 4, seen
    assert min(seen.values()) >= len(numbers) // 10, seen
