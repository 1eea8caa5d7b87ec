"""Runs under limits against a naive loop written from their page alone."""

import csv
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from online.test_oracle import OFFERS
from oracles.harness import batches, pick, seed_of_the_day
from oracles.limited import POLICIES, LimitedSimulation
from oracles.limited_cases import draw_limited

from optsched import online
from optsched.online.audit import audit


def _settings(rng: np.random.Generator, policy: str) -> dict[str, Any]:
    """tau, comm_heavy, offer, hold and slot."""
    holds: tuple[str | None, ...] = (None, None, "none", "window", "inf")
    if policy == "spwf-consolidated":
        holds = (None, "inf")
    return {
        "tau": pick(rng, (0.0, 0.5, 1.0, 2.0, 100.0)),
        "comm_heavy": pick(rng, (1.0, 1.25, 1.5, 2.0)),
        "offer": pick(rng, OFFERS),
        "hold": pick(rng, holds[:4] if policy == "a-srpt-backfill" else holds),
        "slot": pick(rng, (0.0, 0.0, 0.0, 1.0, 2.5)),
    }


def _compare(number: int, folder: Path, seen: Counter[str]) -> None:
    """Starts, ends and servers of every job under two policies; the audit accepts the run."""
    rng = np.random.default_rng([seed_of_the_day(), number, 2])
    drawn = draw_limited(rng)
    for name in ("catalogue", "cluster"):
        (folder / f"{name}.json").write_text(json.dumps(drawn[name]), encoding="utf-8")
    with open(folder / "workload.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(drawn["rows"][0]))
        writer.writeheader()
        writer.writerows(drawn["rows"])
    jobs = online.prepare_jobs(
        online.read_workload(folder / "workload.csv"),
        online.read_catalogue(folder / "catalogue.json"),
        online.read_cluster(folder / "cluster.json"),
    )
    rows = sorted(drawn["rows"], key=lambda row: row["submit_time"])
    largest = max(group["gpus"] for group in drawn["cluster"]["servers"])
    world = drawn["rows"], drawn["catalogue"], {**drawn["cluster"], "gpus_per_server": largest}
    for policy in (POLICIES[number % len(POLICIES)], pick(rng, POLICIES)):
        kind, settings = pick(rng, ("true", "zero", "drawn")), _settings(rng, policy)
        guess = {
            row["job_id"]: {
                "true": row["iterations"],
                "zero": 0.0,
                "drawn": float(rng.integers(0, 9)),
            }[kind]
            for row in rows
        }
        given = np.array([guess[row["job_id"]] for row in rows])
        records = online.simulate_online(jobs, policy, given, online.PolicyOptions(**settings))
        made = jobs.configurations
        heavy = (made.worst / made.estimate >= settings["comm_heavy"])[jobs.configuration]
        named = dict(zip(guess, heavy.tolist(), strict=True))
        ours = LimitedSimulation(*world, policy, guess, heavy=named, **settings).run()
        where = f"{number=} {policy} {settings} {guess} {json.dumps(drawn)}"
        scale = max(row.end for row in ours)
        for at, row in enumerate(ours):
            record = records[at]
            same = (
                record.job_id == row.name
                and dict(record.servers) == row.held
                and math.isclose(record.start, row.start or 0.0, abs_tol=1e-9 * scale)
                and math.isclose(record.end, row.end, abs_tol=1e-9 * scale)
            )
            assert same, f"row {at}: {record} against {row} {where}"
        assert not audit(jobs, records).violations, where
        seen[policy] += 1


@pytest.mark.parametrize("numbers", batches(1000, default=24, size=50))
def test_records_are_the_oracles(numbers: range, tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for number in numbers:
        _compare(number, tmp_path, seen)
    assert min(seen[policy] for policy in POLICIES) >= len(numbers) // len(POLICIES), seen
