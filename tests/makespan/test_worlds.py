"""The shipped makespan sets are the worlds that their names say."""

from typing import Any

import pytest
from sampling import first

import optsched


def best(name: str) -> Any:
    """The best schedule that a short search finds, explained."""
    instance = optsched.load(name)
    found = [optsched.solve(instance, m, iterations=5_000) for m in ("local-search", "nested")]
    return optsched.explain(instance, min(found, key=lambda r: r.objective).solution)


@pytest.mark.parametrize("name", first(1, ["makespan/must-span-8x6", "makespan/must-span-40x8"]))
def test_where_jobs_must_span_they_meet_on_links(name: str) -> None:
    instance = optsched.load(name)
    assert all(job.gpus > max(instance.servers) for job in instance.jobs)
    said = best(name)
    assert said.spanning == len(instance.jobs)
    assert said.contended >= len(instance.jobs) / 3
    assert said.inflation > 1.05


def test_where_spanning_pays_no_schedule_without_it_is_as_good() -> None:
    """Jobs of 3 on servers of 4: without spanning each server runs one after another."""
    instance = optsched.load("makespan/spanning-pays-10x4")
    assert {job.gpus for job in instance.jobs} == {3}
    assert set(instance.servers) == {4}
    said = best("makespan/spanning-pays-10x4")
    assert said.spanning > 0
    alone = sorted((row.alone - row.spread for row in said.rows), reverse=True)
    # 10 jobs on 4 servers, one at a time: no better than all of their slots shared out evenly
    assert said.makespan < sum(alone) / 4


def test_where_spanning_is_prohibitive_no_job_does() -> None:
    instance = optsched.load("makespan/spanning-never-24x8")
    assert all(job.gpus <= min(instance.servers) for job in instance.jobs)
    said = best("makespan/spanning-never-24x8")
    assert (said.spanning, said.contended) == (0, 0)
    assert said.inflation == 1


@pytest.mark.full
def test_the_strong_sets_of_the_papers_shares_see_hardly_any_contention() -> None:
    """What worlds.py says of them: they are no test of contention."""
    assert best("makespan/mixed-24x8-strong").spanning == 0
    assert best("makespan/paper-160x20-strong").contended <= 3
