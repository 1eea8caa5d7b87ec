"""Unequal servers: groups of one size are the equal servers, capacities, refusals."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from online.small import instance_of

import optsched
from optsched.errors import InputError, NotApplicableError
from optsched.online.audit import audit
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.jobs import prepare_jobs
from optsched.online.instance import OnlineInstance
from optsched.online.policies.by_name import POLICIES
from optsched.online.simulator.engine import simulate_online


def on(instance: OnlineInstance, *groups: tuple[int, int]) -> OnlineInstance:
    """The instance on groups of (GPUs, servers)."""
    document = instance.to_dict()
    document["cluster"] |= {"servers": [{"gpus": size, "count": n} for size, n in groups]}
    del document["cluster"]["gpus_per_server"]
    return OnlineInstance.from_dict(document)


def test_groups_of_one_size_are_equal_servers() -> None:
    equal = optsched.load("online/small-400x40")
    groups = on(equal, (8, 15), (8, 25))
    for policy in POLICIES:
        runs = [optsched.solve(each, policy, bound=False) for each in (equal, groups)]
        assert runs[0].solution.jobs == runs[1].solution.jobs


def test_first_come_by_hand() -> None:
    """3 GPUs of servers 0 and 1 for 2 s; 2 GPUs must wait for them, as servers 1 and 2 have one."""
    instance = on(instance_of((0, 3, 2), (1, 3, 1), (1, 1, 5)), (2, 1), (1, 2))
    result = optsched.solve(instance, "fifo")
    assert [(job.start, dict(job.servers)) for job in result.solution.jobs] == [
        (0, {"0": 2, "1": 1}),
        (2, {"0": 2, "1": 1}),
        (2, {"2": 1}),
    ]


def test_the_audit_knows_the_servers() -> None:
    """Server 0 has 2 GPUs: a third on it violates its capacity."""
    instance = on(instance_of((0, 3, 2)), (2, 1), (1, 2))
    jobs = prepare_jobs(instance.workload, instance.catalogue, instance.cluster)
    records = simulate_online(jobs, "fifo")
    moved = replace(records, first=np.array([0, 1]), server=np.array([0]), taken=np.array([3]))
    rules = {violation.rule for violation in audit(jobs, moved).violations}
    assert "capacity" in rules


@pytest.mark.parametrize(
    ("servers", "more", "message"),
    [
        (2, {}, "gpus_per_server"),
        ([{"gpus": 2, "count": 1}], {"gpus_per_server": 2}, "none beside groups"),
        ([], {}, "servers"),
        ([{"gpus": 0, "count": 1}], {}, "servers"),
        ([{"gpus": 1024, "count": 2**20}, {"gpus": 1, "count": 1}], {}, "at most"),
    ],
)
def test_what_is_refused(servers: Any, more: dict[str, int], message: str) -> None:
    document = OnlineCluster.of(2, 2).to_dict()
    del document["gpus_per_server"]
    with pytest.raises(InputError, match=message):
        OnlineCluster.from_dict({**document, "servers": servers, **more})


def test_problem_8_is_refused() -> None:
    instance = on(instance_of((0, 1, 1)), (2, 1), (1, 2))
    with pytest.raises(NotApplicableError, match="equal servers"):
        optsched.solve(instance, "offline-ilp", options={"slot": 1.0})
