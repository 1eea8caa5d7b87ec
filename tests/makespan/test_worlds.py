"""The shipped makespan sets are the worlds that their names say."""

from typing import Any

import optsched


def best(name: str) -> Any:
    """The best schedule that a short search finds, explained."""
    instance = optsched.load(name)
    found = [optsched.solve(instance, m, iterations=5_000) for m in ("local-search", "nested")]
    return optsched.explain(instance, min(found, key=lambda r: r.objective).solution)


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
