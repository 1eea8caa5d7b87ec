"""Unequal servers: groups of one size are the equal servers, capacities, refusals."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from online.small import instance_of, one_stage

import optsched
from optsched.errors import InputError
from optsched.online.audit import audit
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.jobs import prepare_jobs
from optsched.online.instance import OnlineInstance
from optsched.online.policies.by_name import POLICIES
from optsched.online.simulator.engine import simulate_online


def on(instance: OnlineInstance, *groups: tuple[int, int]) -> OnlineInstance:
    document = instance.to_dict()
    document["cluster"] |= {"servers": [{"gpus": size, "count": n} for size, n in groups]}
    del document["cluster"]["gpus_per_server"]
    return OnlineInstance.from_dict(document)


def test_groups_of_one_size_are_equal_servers() -> None:
    small = optsched.load("online/small-400x40")
    few = small.workload.rows(np.arange(60))
    equal = OnlineInstance(few, small.catalogue, small.cluster)
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
        ([{"gpus": 0, "count": 1}], {}, r"servers\[0\].gpus: found 0"),
        ([{"gpus": 8}], {}, r"servers\[0\].count: missing required field"),
        ("many", {}, "servers: found 'many', expected an integer"),
        ([{"gpus": 1024, "count": 2**20}, {"gpus": 1, "count": 1}], {}, "at most"),
    ],
)
def test_what_is_refused(servers: Any, more: dict[str, int], message: str) -> None:
    document = OnlineCluster.of(2, 2).to_dict()
    del document["gpus_per_server"]
    with pytest.raises(InputError, match=message):
        OnlineCluster.from_dict({**document, "servers": servers, **more})


@pytest.mark.parametrize("policy", ["a-srpt", "srpt-workload-hold", "spwf-consolidated"])
@pytest.mark.parametrize("offer", ["most", "least", "first-fit"])
def test_no_job_waits_forever_for_a_good_offer(policy: str, offer: str) -> None:
    """Servers of one GPU beside one of 8: most offers are far from alpha~."""
    instance = on(optsched.load("online/small-400x40"), (1, 400), (8, 1))
    rows = instance.workload.rows(np.arange(60))
    options = {"hold": "inf", "offer": offer}
    few = OnlineInstance(rows, instance.catalogue, instance.cluster)
    result = optsched.solve(few, policy, options=options, bound=False)
    assert (len(result.solution.jobs), result.check.feasible) == (60, True)


def test_slices_need_servers_that_hold_them() -> None:
    """Two slices of 4 GPUs: the offer of the least free servers is 1, 1, 1, 1, 4."""
    sliced = one_stage(2, "sliced", tensor_parallel=4)
    instance = on(instance_of((0, sliced, 1), servers=2, per_server=8), (4, 2), (1, 4))
    for method in ("fifo", "offline-ilp"):
        options = {"slot": 1.0, "offer": "most"}
        assert optsched.solve(instance, method, options=options).check.feasible
        with pytest.raises(InputError, match="slices that do not fit"):
            optsched.solve(instance, method, options=options | {"offer": "least"})


def test_problem_8_by_hand() -> None:
    """Two GPUs take 1 s on server 0 and 2 s apart; one of the jobs of 4 s waits on server 0."""
    pair = one_stage(2, "pair", forward_time=0.0, parameter_bytes=1.0)
    instance = on(instance_of((0, pair, 1), (0, 1, 4), (0, 1, 4), links=(0.5, 1.0)), (1, 1), (2, 1))
    result = optsched.solve(instance, "offline-ilp", options={"slot": 1.0})
    runs = [(job.start, dict(job.servers)) for job in result.solution.jobs]
    assert (result.objective, runs[0]) == (10.0, (0, {"1": 2}))
    assert sorted(runs[1:]) == [(0, {"0": 1}), (1, {"1": 1})]
