"""Maintenance windows, quotas, priorities and fair-share: by hand, audited, absent, refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run
from online.small import instance_of, one_stage, prepared
from online.test_preemption import stretches

import optsched
from optsched.errors import InputError
from optsched.kernels import always_compile
from optsched.online.audit import audit
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.jobs import Jobs, prepare_jobs
from optsched.online.data.limits import Priorities
from optsched.online.data.workload import Labels
from optsched.online.instance import OnlineInstance
from optsched.online.policies.by_name import POLICIES, PolicyOptions
from optsched.online.records import Records
from optsched.online.simulator import event_loop, preemptive_loop
from optsched.online.simulator.engine import simulate_online
from optsched.online.simulator.own_policy import QueuedJob, View, simulate_policy

KEEPING = [name for name, policy in POLICIES.items() if policy.preempts == "never"]
COLUMNS = ("start", "end", "alpha", "first", "server", "taken")
AT_5 = {"start": 5, "end": 6}
BUSY = {"maintenance": [AT_5]}


def limited(*rows: Any, limits: dict[str, Any], **world: Any) -> OnlineInstance:
    instance = instance_of(*rows, **world)
    return instance.with_(cluster=instance.cluster.with_(**limits))


def starts(instance: OnlineInstance, policy: str, **options: Any) -> list[tuple[float, list[int]]]:
    """Start and servers of each job; its audit must pass."""
    result = optsched.solve(instance, policy, options=options, bound=False)
    assert result.check.feasible, result.check.violations
    jobs = sorted(result.solution.jobs, key=lambda job: job.job_id)
    return [(job.start, [int(server) for server in job.servers]) for job in jobs]


def times(instance: OnlineInstance, policy: str, **options: Any) -> list[float]:
    return [start for start, _ in starts(instance, policy, **options)]


def two_users(limits: dict[str, Any]) -> OnlineInstance:
    """Jobs of 2 GPUs on 8, the first two ann's, who is also a group."""
    names, rows = ["ann", "ann", "bob"], ((0, 2, 10), (1, 2, 5), (2, 2, 3))
    return limited(*rows, servers=2, per_server=4, limits=limits, user=names, group=names)


# --- by hand


@pytest.mark.parametrize("policy", ["las", "max-min"])
def test_rounds_pass_while_an_idle_cluster_waits_for_a_window(policy: str) -> None:
    """On servers 0 and 1 the job would run into both windows, from 1 s on it is offered 1 alone."""
    windows = [{"servers": [0], "start": 1, "end": 9}, {"servers": [1], "start": 6, "end": 8}]
    groups = [{"gpus": 1, "count": 1}, {"gpus": 2, "count": 1}]
    far = one_stage(2, "far", parameter_bytes=4.0)
    cluster = {"servers": groups, "gpus_per_server": None, "maintenance": windows}
    job = limited((0, far, 3), limits=cluster, links=(1.0, 1e9))
    options = {"offer": "first-fit", "round": 1.0, "checkpoint": 0.0}
    assert starts(job, policy, **options) == [(1, [1])]


@pytest.mark.parametrize("kind", ["users", "groups"])
@pytest.mark.parametrize("policy", ["fifo", "wcs-subtime", "easy", "fair-share"])
def test_a_job_over_quota_blocks_nobody(kind: str, policy: str) -> None:
    """ann may hold 2 GPUs: her second job waits for her first, bob's overtakes it."""
    limits = {"quotas": {kind: {"ann": 2}}}
    assert times(two_users(limits), policy) == [0, 10, 2]
    assert times(two_users({}), policy)[1] == 1


@pytest.mark.parametrize(
    ("limits", "walltime", "best"),
    [
        ({"maintenance": [{"servers": [0], "start": 1, "end": 4}]}, None, [0, 0]),
        ({"maintenance": [{"servers": [0], "start": 1, "end": 4}]}, 2.0, [1, 0]),
        ({"maintenance": [{"start": -1, "end": 4.5}]}, None, [5, 5]),
        ({"quotas": {"users": {"ann": 1}}}, None, [1, 0]),
    ],
)
def test_problem_8(limits: dict[str, Any], walltime: float | None, best: list[float]) -> None:
    """Ann's jobs of 2 s and 1 s on two servers of one GPU: where one must wait, the longer does."""
    world = {"servers": 2, "per_server": 1, "user": ["ann", "ann"], "walltime": [None, walltime]}
    jobs = limited((0, 1, 2), (0, 1, 1), limits=limits, **world)
    assert times(jobs, "offline-ilp", slot=1) == best
    complete = optsched.build_model(jobs, "offline-ilp", {"slot": 1})
    assert {job for job, *_ in complete.RUNS} == {0, 1}


@pytest.mark.parametrize("policy", ["fifo", "spwf", "wcs-subtime", "easy", "a-srpt", "fair-share"])
def test_priorities_come_first(policy: str) -> None:
    """While a runs, b of priority 0, c of 1 by his group and d of 2 arrive: they run in reverse.

    The user's value counts even where the group's is higher.
    """
    priorities = {"users": {"d": 2, "b": 0}, "groups": {"lab": 1, "b": 9}}
    owners = {"user": [*"abcd"], "group": ["a", "b", "lab", "d"]}
    rows = (0, 1, 10), (1, 1, 1), (1, 1, 1), (1, 1, 1)
    jobs = limited(*rows, per_server=1, limits={"priorities": priorities}, **owners)
    late = 10 if policy == "a-srpt" else 0  # the virtual machine completes b, c and d first
    options = {"unseen": "zero"} if late else {}
    assert times(jobs, policy, predictor="online-group-mean", **options)[1:] == [12, 11, 10]


def test_no_job_runs_into_a_window() -> None:
    """Server 0 is closed from 1005 to 1008, on the clock of the submissions.

    a would end at 1010, on server 1; b ends when the window starts; c waits for its end.
    """
    window = {"servers": [0], "start": 1005, "end": 1008}
    rows = (1000, 1, 10), (1000, 1, 5), (1001, 1, 1)
    jobs = limited(*rows, servers=2, per_server=1, limits={"maintenance": [window]})
    assert starts(jobs, "fifo") == [(0, [1]), (0, [0]), (8, [0])]
    first = {"servers": {"first": 0, "last": 0}, "start": 1005, "end": 1008}
    assert jobs.cluster.with_(maintenance=[first]).maintenance[0].indices(2) == [0]


def test_fair_share_by_usage() -> None:
    """One GPU; at 8 both users have held 4 GPU-seconds, and the row decides."""
    rows = (0, 1, 4), (0, 1, 4), (0, 1, 4), (1, 1, 4), (1, 1, 2)
    users = {"user": [*"aaabb"]}
    assert times(instance_of(*rows, per_server=1, **users), "fair-share") == [0, 8, 14, 4, 12]
    first = limited(*rows, per_server=1, limits={"priorities": {"users": {"b": 1}}}, **users)
    assert times(first, "fair-share") == [0, 10, 14, 4, 8]


PRIORITY, QUOTA = {"priorities": {"users": {"b": 1}}}, {"quotas": {"users": {"a": 2}}}
SHUT = {"maintenance": [{"start": 10, "end": 12}]}
LATE, EVER = ({"maintenance": [{"servers": [1], "start": t, "end": 1e12}]} for t in (3, 0))
STOPS = [name for name in POLICIES if name not in KEEPING]  # las, srpt-preemptive, max-min


@pytest.mark.parametrize(
    ("policies", "limits", "gpus", "rows", "cost", "expected"),
    [
        # b is longer, and stops a; in rounds of 4 s at 4
        (STOPS[1:2], PRIORITY, 2, [(0, 2, 3), (1, 2, 9)], 1, [[(0, 1), (10, 13)], [(1, 10)]]),
        (STOPS[::2], PRIORITY, 2, [(0, 2, 6), (1, 2, 9)], 1, [[(0, 4), (13, 16)], [(4, 13)]]),
        # both of a's jobs have room, but she may hold 2 GPUs: the shorter one stops the other
        (STOPS[1:2], QUOTA, 4, [(0, 2, 9), (2, 2, 1)], 1, [[(0, 2), (3, 11)], [(2, 3)]]),
        (STOPS[:1], QUOTA, 4, [(0, 2, 5), (2, 2, 1)], 1, [[(0, 4), (5, 7)], [(4, 5)]]),
        # b is before a, but stops nobody since it would run into the window; it starts at its end
        (STOPS, SHUT | PRIORITY, 1, [(0, 1, 9), (2, 1, 9)], 1, [[(0, 9)], [(12, 21)]]),
        # stopped with 4 s left; with 3 s of restoring they end when the window starts
        (STOPS[1:2], SHUT, 1, [(0, 1, 6), (2, 1, 1)], 3, [[(0, 2), (3, 10)], [(2, 3)]]),
        (STOPS[1:2], SHUT, 1, [(0, 1, 6), (2, 1, 1)], 3.5, [[(0, 2), (12, 19.5)], [(2, 3)]]),
        # server 1 is closed from 3 on: there is room for one job
        (STOPS[1:2], LATE, 2, [(0, 1, 10), (4, 1, 2)], 1, [[(0, 4), (6, 13)], [(4, 6)]]),
        # a job that waits almost forever costs no event a round
        (STOPS, EVER, 2, [(0, 2, 1), (4, 1, 2)], 1, [[(1e12, 1e12 + 1)], [(4, 6)]]),
    ],
)
def test_stops_by_hand(
    policies: Any, limits: Any, gpus: int, rows: Any, cost: float, expected: Any
) -> None:
    """Jobs of a and b, or both of a under her quota, on servers of one GPU."""
    users = ["a", "a" if limits is QUOTA else "b"]
    jobs = prepared(limited(*rows, limits=limits, user=users, servers=gpus, per_server=1))
    for policy in policies:
        records = simulate_online(jobs, policy, None, PolicyOptions(checkpoint=cost, round=4))
        assert stretches(records) == expected
        assert audit(jobs, records).feasible


# --- against other runs


PRIORITIES = Priorities(users={"u1": 2, "u2": -1}, groups={"g2": 1})


def drawn(seed: int, **more: Any) -> tuple[Jobs, Any]:
    """Forty jobs of the shipped workload on 6 servers under drawn limits, and predictions."""
    rng, small = np.random.default_rng(seed), optsched.load("online/small-400x40")
    table = small.workload.rows(np.sort(rng.choice(400, 60, replace=False)))
    table = table.rows(np.flatnonzero(table.gpus <= 48)[:40])
    walltime = np.where(rng.random(len(table)) < 0.3, np.nan, rng.uniform(10, 4000, len(table)))
    user, group = ([f"{k}{i}" for i in rng.integers(0, 4, len(table))] for k in "ug")
    table = replace(table, user=Labels.of(user), group=Labels.of(group), walltime=walltime)
    table = replace(table, submit_time=table.submit_time * rng.choice([0.1, 1.0]))
    times = np.sort(rng.uniform(-0.1, 1.2, (3, 2)), axis=1) * table.submit_time.max()
    largest = {u: int(table.gpus[np.array(user) == u].max()) for u in table.user.values}
    limits: dict[str, Any] = {
        "maintenance": [
            {"servers": servers, "start": start, "end": end}
            for servers, (start, end) in zip(([0, 4], [1, 2], None), times.tolist(), strict=True)
        ],
        "quotas": {"users": largest, "groups": {"g0": int(table.gpus.max())}},
        "priorities": PRIORITIES.model_dump(),
    }
    cluster = small.cluster.with_(servers=6, **limits | more)
    jobs = prepare_jobs(table, small.catalogue, cluster)
    return jobs, jobs.iterations * np.exp(rng.normal(0, 0.5, len(jobs)))


@pytest.mark.parametrize("name", POLICIES)
def test_runs_pass_their_audit_and_python_agrees(name: str, monkeypatch: Any) -> None:
    for seed in range(4):
        jobs, predicted = drawn(seed)
        options = PolicyOptions(offer=[None, "most", "best-fit-last", "least"][seed])
        with always_compile():
            records = simulate_online(jobs, name, predicted, options)
        assert audit(jobs, records, spot_checks=99).feasible
        with monkeypatch.context() as patch:
            loop = (event_loop if name in KEEPING else preemptive_loop).simulate
            patch.setattr(loop, "for_size", lambda _, loop=loop: loop.py_func)
            in_python = simulate_online(jobs, name, predicted, options)
        for column in COLUMNS:
            np.testing.assert_allclose(getattr(in_python, column), getattr(records, column))


@pytest.mark.parametrize("name", [name for name in POLICIES if name != "fair-share"])
def test_limits_that_do_not_bind_change_nothing(name: str) -> None:
    """All loops give the same records, with windows that are over or far and no quotas."""
    windows = [{"start": -9.0, "end": -1.0}, {"start": 9e9, "end": 9.1e9}]
    idle = {"maintenance": windows, "priorities": {"users": {"x": 1}}}
    for seed in range(4):
        jobs, predicted = drawn(seed, **idle, quotas={"users": {"x": 0}})
        plain = replace(jobs, cluster=jobs.cluster.without_limits())
        jobs = replace(jobs, cluster=plain.cluster.with_(**idle))
        options = PolicyOptions(tau=0.5, slot=[0.0, 60.0][seed % 2])
        runs = [simulate_online(each, name, predicted, options) for each in (jobs, plain)]
        assert all(np.array_equal(getattr(runs[0], c), getattr(runs[1], c)) for c in COLUMNS)


class First:
    """fifo in a policy's own words."""

    def schedule(self, view: View) -> None:
        for job in view.queue:
            if view.over_quota(job):
                continue
            if (offer := view.offer(job, "most")) is None:
                break
            view.start(job, offer)


class Attained:
    """las in a policy's own words, without windows and quotas."""

    def schedule(self, view: View) -> None:
        def key(job: QueuedJob) -> tuple[int, float, int]:
            return -PRIORITIES.of(job.user, job.group), view.attained(job), job.row

        room, running = view.gpus, [each.job for each in view.running]
        for job in sorted([*view.queue, *running], key=key):
            if job.gpus <= room:
                room -= job.gpus
            elif job in running and view.now % 360 == 0:
                view.preempt(job)
        for job in sorted(view.queue, key=key):
            if (offer := view.offer(job, "best-fit-last")) is not None:
                view.start(job, offer)
        if view.queue:
            view.wake((view.now // 360 + 1) * 360)


@pytest.mark.parametrize("seed", range(6))
def test_own_policies_are_the_compiled_ones(seed: int) -> None:
    fewer = {"maintenance": [], "quotas": {}}
    for policy, name, limits in ((First(), "fifo", {}), (Attained(), "las", fewer)):
        jobs, predicted = drawn(seed, **limits)
        runs = [simulate_policy(jobs, policy, predicted), simulate_online(jobs, name, predicted)]
        assert all(audit(jobs, records).feasible for records in runs)
        for column in COLUMNS:
            np.testing.assert_allclose(*(getattr(records, column) for records in runs))


@pytest.mark.parametrize(
    ("limits", "message"),
    [(QUOTA, "j1: found over quota"), (SHUT, "j0: found server 0 with a maintenance window")],
)
def test_starts_against_limits_are_refused(limits: dict[str, Any], message: str) -> None:
    class Rash:
        def schedule(self, view: View) -> None:
            for job in view.queue:
                view.start(job, {job.row: 2})

    jobs = prepared(limited((0, 2, 11), (0, 2, 1), servers=2, limits=limits, user=["a", "a"]))
    with pytest.raises(InputError, match=message):
        simulate_policy(jobs, Rash())


# --- the audit


def rules_of(instance: OnlineInstance, policy: str, change: Any) -> set[str]:
    """Rules that the audit finds violated once a valid run is changed."""
    jobs = prepared(instance)
    records = simulate_online(jobs, policy)
    assert audit(jobs, records).feasible
    return {violation.rule for violation in audit(jobs, change(records)).violations}


def moved(row: int, start: float) -> Any:

    def change(records: Records) -> Records:
        begin, end = records.start.copy(), records.end.copy()
        begin[row], end[row] = start, start + end[row] - begin[row]
        return replace(records, start=begin, end=end)

    return change


def swap(records: Records) -> Records:
    """Start the second job when the first ends, and then the third."""
    return moved(1, 10.0)(moved(2, 11.0)(records))


def test_the_audit_finds_each_broken_rule() -> None:
    ann = two_users({"quotas": {"users": {"ann": 2}}})
    assert rules_of(ann, "fifo", moved(1, 3)) == {"quota"}
    assert rules_of(ann, "wcs-subtime", moved(2, 11)) == {"work conservation"}
    assert rules_of(ann, "fair-share", moved(2, 11)) == {"work conservation", "fair share"}
    closed = limited((0, 1, 2), (3, 1, 1), limits=BUSY)
    assert rules_of(closed, "fifo", moved(1, 4.5)) == {"maintenance"}
    assert rules_of(closed, "fifo", moved(0, 5.5)) == {"maintenance"}
    late = limited((0, 1, 1), limits=BUSY, walltime=[3])
    assert rules_of(late, "fifo", moved(0, 3)) == {"maintenance"}
    first = {"priorities": {"users": {"b": 1}}}
    rows = (0, 1, 10), (1, 1, 1), (2, 1, 1)
    urgent = limited(*rows, per_server=1, limits=first, user=[*"aab"])
    for policy in ("fifo", "spwf", "a-srpt"):
        assert rules_of(urgent, policy, swap) == {"queue order"}
    assert rules_of(urgent, "fair-share", swap) == {"fair share"}
    fair = instance_of(*rows, per_server=1, user=[*"aab"])
    assert rules_of(fair, "fair-share", swap) == {"fair share"}
    two = limited((0, 1, 9), servers=3, limits={"maintenance": [{"servers": [0], **AT_5}]})
    assert rules_of(two, "fifo", lambda run: replace(run, server=np.array([2]))) == {"offer"}


@pytest.mark.parametrize("name", ["las", "srpt-preemptive", "max-min"])
def test_priorities_of_jobs_that_may_be_stopped(name: str) -> None:
    """A run without limits is right where they do not bind, and wrong with priorities."""
    jobs, predicted = drawn(3)
    plain = replace(jobs, cluster=jobs.cluster.without_limits())
    records = simulate_online(plain, name, predicted, PolicyOptions(round=60, checkpoint=5))
    over, urgent = {"maintenance": [{"start": -9, "end": -1}]}, {"priorities": {"users": {"u1": 2}}}
    runs = [replace(jobs, cluster=plain.cluster.with_(**limits)) for limits in (over, urgent)]
    found = [{violation.rule for violation in audit(of, records).violations} for of in runs]
    assert (found[0], "queue order" in found[1]) == (set(), True)


# --- absent, refused, at the command line


def test_absent_limits_leave_no_trace() -> None:
    document = OnlineCluster.of(2, 2).to_dict()
    assert not {"maintenance", "quotas", "priorities"} & document.keys()
    given = OnlineCluster.from_dict({**document, **BUSY, "quotas": {"users": {"": 1}}})
    assert OnlineCluster.from_dict(given.to_dict()) == given
    assert given.limits == ("maintenance", "quotas")
    assert given.without_limits().to_dict() == document


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"maintenance": [{"servers": [2], **AT_5}]}, r"\[0\].servers: found 2, expected"),
        ({"maintenance": [{"servers": {"first": 1, "last": 0}, **AT_5}]}, "servers.last: found 0"),
        ({"maintenance": [{"servers": {"first": 1}, **AT_5}]}, "servers.last: missing"),
        ({"maintenance": [{"start": 1, "end": 1}]}, r"maintenance\[0\].end: found 1"),
        ({"quotas": {"users": {"a": -1}}}, "quotas.users.a: found -1"),
        ({"priorities": {"groups": {"a": 0.5}}}, "priorities.groups.a: found 0.5"),
    ],
)
def test_wrong_limits_are_refused_by_place(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        OnlineCluster.from_dict({**OnlineCluster.of(2, 2).to_dict(), **limits})


def test_a_job_above_a_quota_is_refused() -> None:
    with pytest.raises(InputError, match="j0: gpus: found 2, expected at most 1, the quota"):
        prepared(limited((0, 2, 1), limits={"quotas": {"users": {"u": 1}}}))


def test_the_command(tmp_path: Path) -> None:
    assert run("generate workload --jobs 60 --servers 4 --seed 1 -o", tmp_path)[0] == 0
    file = tmp_path / "cluster.json"
    document = json.loads(file.read_text())
    document["maintenance"] = [{"servers": [0, 2], "start": 500, "end": 4000}]
    document["priorities"] = {"users": {"u0": 1}}
    file.write_text(json.dumps(document))
    line = f"simulate {tmp_path / 'workload.csv'} --audit --json --policy"
    code, out, error = run(line, "all")
    assert (code, error.count("skipped")) == (0, 0)
    rows = json.loads(out)
    assert [row["policy"] for row in rows] == [*POLICIES]
    assert all(row["audit"]["feasible"] for row in rows)
