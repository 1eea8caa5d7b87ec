"""The next decision: on the states of a simulated run it starts what the simulator started."""

import heapq
import json
from typing import Any

import numpy as np
import pytest
from commands import run
from online.small import instance_of, one_stage
from online.test_limits import First
from online.test_protocol import Easy, Remaining, documented
from oracles.limited_cases import draw_limited
from oracles.random_online import random_case

import optsched
from optsched.errors import InputError, MethodError
from optsched.online.data.catalogue import Catalogue
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.jobs import Jobs, prepare_jobs
from optsched.online.data.workload import Workload
from optsched.online.decide import decide
from optsched.online.policies.by_name import POLICIES, PolicyOptions
from optsched.online.records import Records
from optsched.online.simulator.engine import simulate_online
from optsched.online.simulator.own_policy import simulate_policy
from optsched.online.state import OnlineDecision, OnlineState

PLAIN = [name for name, policy in POLICIES.items() if policy.preempts == "never"]
PLAIN.remove("fair-share")  # a state does not have the usage of past jobs


def replay(jobs: Jobs, run: Records, policy: Any, options: PolicyOptions) -> int:
    """Decide at each submission, end and wake of a run; return the number of decisions."""
    table, predicted = jobs.workload, run.predicted
    models = {
        table.model.values[table.model.codes[row]]: jobs.configurations.jobs[c]
        for row, c in enumerate(jobs.configuration)
    }
    walltime = [np.nan] * len(jobs) if table.walltime is None else table.walltime
    world = {"cluster": jobs.cluster, "catalogue": Catalogue.of(models)}
    entries = [
        {
            "job_id": str(table.job_id[row]),
            "submit_time": float(jobs.submit[row]),
            "gpus": int(jobs.gpus[row]),
            "model": table.model.values[table.model.codes[row]],
            "predicted": float(predicted[row]),
            "user": table.user.values[table.user.codes[row]],
            "group": table.group.values[table.group.codes[row]],
            "walltime": None if np.isnan(walltime[row]) else float(walltime[row]),
        }
        for row in range(len(jobs))
    ]
    times = [*jobs.submit.tolist(), *run.end.tolist()]
    heapq.heapify(times)
    memory, count, started = None, 0, 0
    while times:
        now = heapq.heappop(times)
        while times and times[0] == now:
            heapq.heappop(times)
        queue = [entries[row] for row in np.flatnonzero((jobs.submit <= now) & (run.start >= now))]
        active = [
            {
                **entries[row],
                "start": float(run.start[row]),
                "servers": {str(server): gpus for server, gpus in run[row].servers},
            }
            for row in np.flatnonzero((run.start < now) & (run.end > now))
        ]
        state = OnlineState(now=now, queue=queue, running=active, memory=memory, **world)
        if count % 7 == 0:  # both ways through JSON
            state = OnlineState.from_dict(json.loads(json.dumps(state.to_dict())))
        decision = decide(state, policy, options=options)
        text = json.dumps(decision.to_dict(), allow_nan=False)
        assert OnlineDecision.from_dict(json.loads(text)) == decision
        expected = {
            str(run.job_id[row]): {str(m): gpus for m, gpus in run[row].servers}
            for row in np.flatnonzero(run.start == now)
        }
        assert {job.job_id: dict(job.servers) for job in decision.starts} == expected, now
        for job in decision.starts:
            row = int(np.flatnonzero(run.job_id == job.job_id)[0])
            assert job.alpha == pytest.approx(run.alpha[row], rel=1e-9)
        if decision.wake is not None:
            assert decision.wake > now
            heapq.heappush(times, decision.wake)
        memory, count, started = decision.memory, count + 1, started + len(expected)
    assert started == len(jobs)  # every start is at a decision
    return count


def options_of(rng: np.random.Generator, name: str) -> PolicyOptions:
    """Options that the policy takes, often with short windows, sometimes with slots."""
    hold = rng.choice([None, "window", "none"])
    if name == "spwf-consolidated":
        hold = None
    return PolicyOptions(
        tau=float(rng.choice([0.1, 1.0, 100.0])),
        comm_heavy=float(rng.choice([1.0, 1.5])),
        hold=hold,
        slot=float(rng.choice([0.0, 0.0, 8.0])),
    )


def limited_case(seed: int) -> tuple[Jobs, np.ndarray]:
    """Jobs under limits, from time 0 on, with their true lengths: windows need the lengths."""
    drawn = draw_limited(np.random.default_rng(seed), 30)
    first = min(row["submit_time"] for row in drawn["rows"])
    for row in drawn["rows"]:
        row["submit_time"] -= first
    for window in drawn["cluster"].get("maintenance", []):
        window |= {"start": window["start"] - first, "end": window["end"] - first}
    columns = {name: [row[name] for row in drawn["rows"]] for name in drawn["rows"][0]}
    catalogue, cluster = (
        read.from_dict(drawn[name])
        for read, name in ((Catalogue, "catalogue"), (OnlineCluster, "cluster"))
    )
    jobs = prepare_jobs(Workload.of(**columns), catalogue, cluster)
    return jobs, jobs.iterations


def compare(name: str, seed: int) -> None:
    for jobs, predicted in (
        random_case(seed, (12, 30), delays=seed % 2 == 0, sliced=seed % 5 == 0),
        limited_case(seed),
    ):
        options = options_of(np.random.default_rng(seed), name)
        replay(jobs, simulate_online(jobs, name, predicted, options), name, options)


@pytest.mark.parametrize("name", PLAIN)
def test_decisions_are_those_of_the_simulator(name: str) -> None:
    compare(name, PLAIN.index(name))


@pytest.mark.full
@pytest.mark.parametrize("name", PLAIN)
def test_decisions_are_those_of_the_simulator_often(name: str) -> None:
    for seed in range(40):
        compare(name, seed)


@pytest.mark.parametrize("policy", [Easy(), documented("ShortestFirst"), First()])
def test_policies_of_ones_own_decide_alike(policy: Any) -> None:
    options, is_limited = PolicyOptions(), isinstance(policy, First)
    for seed in (3, 4, 5):
        jobs, predicted = limited_case(seed) if is_limited else random_case(seed, (20, 40))
        replay(jobs, simulate_policy(jobs, policy, predicted, options), policy, options)


def state_of(*queue: tuple[Any, ...], **fields: Any) -> dict[str, Any]:
    """One server of two GPUs, and waiting jobs a, b, ... of (submission, GPUs, prediction)."""
    world = instance_of((0, 1, 1), (0, 2, 1))
    waiting = [
        {
            "job_id": chr(97 + i),
            "submit_time": submit,
            "gpus": gpus,
            "model": one_stage(gpus).model,
            "predicted": predicted,
        }
        for i, (submit, gpus, predicted) in enumerate(queue)
    ]
    state = {"schema": "optsched/online-state", "version": 1, "now": 10.0, "queue": waiting}
    documents = {"cluster": world.cluster.to_dict(), "catalogue": world.catalogue.to_dict()}
    return {**state, **documents, "running": [], **fields}


def test_by_hand() -> None:
    """Of 6 s on 1 of 2 GPUs the virtual machine makes 3 s, of 4 s on both 4 s."""
    state = state_of((8.0, 1, 6.0), (9.0, 2, 4.0))
    first = optsched.decide(state)
    assert (first.starts, first.wake) == ((), 11.0)
    assert (first.memory.clock, first.memory.virtual) == (9.0, {"a": 2.0, "b": 4.0})
    later = optsched.decide({**state, "now": 11.0, "memory": first.memory})
    assert [(job.job_id, job.servers) for job in later.starts] == [("a", {"0": 1})]
    assert (later.wake, later.memory.released) == (15.0, ())
    active = [{**state["queue"].pop(0), "start": 11.0, "servers": {"0": 1}}]
    state |= {"now": 15.0, "running": active, "memory": later.to_dict()["memory"]}
    waits = optsched.decide(state)
    assert (waits.starts, waits.wake, waits.memory.released) == ((), None, ("b",))
    ended = optsched.decide({**state, "running": [], "memory": waits.memory})
    assert [(job.job_id, job.servers) for job in ended.starts] == [("b", {"0": 2})]


def test_the_head_of_fifo_waits_for_gpus_that_a_running_job_holds() -> None:
    held = {"start": 1.0, "servers": {"0": 1}, "job_id": "r"}
    state = state_of((2.0, 2, 1.0), (3.0, 1, 1.0))
    state["running"] = [{**state["queue"][1], "submit_time": 0.0, **held}]
    assert decide(state, "fifo").starts == ()
    assert [job.job_id for job in decide(state, "wcs-subtime").starts] == ["b"]
    assert [job.job_id for job in decide(state, "easy").starts] == []  # r is expected to have ended
    state["running"][0]["predicted"] = 10.0  # ends at 11, as b does
    assert [job.job_id for job in decide(state, "easy").starts] == ["b"]


def test_a_job_above_its_quota_waits_or_runs_on() -> None:
    state = state_of((0.0, 2, 1.0), (0.0, 1, 1.0))
    state["cluster"] = {**state["cluster"], "quotas": {"users": {"": 1}}}
    assert [job.job_id for job in decide(state, "fifo").starts] == ["b"]
    state["running"] = [{**state["queue"].pop(0), "start": 1.0, "servers": {"0": 2}}]
    assert decide(state, "fifo").starts == ()


class Raises:
    def schedule(self, view: Any) -> None:
        raise ZeroDivisionError("of mine")


def test_what_is_refused() -> None:
    state = state_of((0.0, 1, 1.0))
    job, model = state["queue"][0], {"gpus": 2, "model": "m2", "predicted": 100.0}

    def running(*servers: dict[str, int], **fields: Any) -> dict[str, Any]:
        active = [
            {**job, "job_id": f"r{i}", "start": 1.0, "servers": each, **fields}
            for i, each in enumerate(servers)
        ]
        return {**state, "running": active}

    one = {"0": 1}
    refusals: list[tuple[dict[str, Any], Any, str]] = [
        (state, "las", "decide: policy: found 'las', expected a policy that does not preempt jobs"),
        (state, "fair-share", "found 'fair-share', expected a policy that does not .* count usage"),
        (state, "asrpt", "decide: policy: found 'asrpt', expected 'a-srpt'"),
        (state, "a-srpt-backfill", "with inf, backfilling could starve the head"),
        (state, 3, r"expected .* an object with schedule"),
        ({**state, "schema": "optsched/online"}, "fifo", "expected 'optsched/online-state'"),
        ({**state, "queue": [job, job]}, "fifo", "job a twice"),
        ({**state, "now": -1.0}, "fifo", r"queue\[0\]: found time 0.0, expected at most -1.0"),
        ({**state, "memory": {"clock": 11.0}}, "fifo", "memory.clock: found 11.0"),
        ({**state, "extra": 1}, "fifo", "extra: found 1, expected no such key"),
        (running({"0": 3}), "fifo", r"running\[0\].servers: found 3 GPUs, expected the job's 1"),
        (running({"1": 1}), "fifo", r"running\[0\].servers: found 1, expected servers 0 to 0"),
        (running(one, one, one), "fifo", "3 GPUs held on server 0"),
        (running({"0": 2}, **model), Remaining(), "found a preemption"),
    ]
    for document, policy, message in refusals:
        with pytest.raises(InputError, match=message):
            decide(document, policy, options={"hold": "inf"} if "back" in str(policy) else None)
    with pytest.raises(MethodError, match=r"raised ZeroDivisionError: of mine"):
        decide(state, Raises())


def test_the_command(tmp_path: Any) -> None:
    file, out = tmp_path / "state.json", tmp_path / "decision.json"
    file.write_text(json.dumps(state_of((8.0, 1, 6.0), (9.0, 2, 4.0))))
    code, text, _ = run("decide", str(file), "--policy", "fifo")
    assert code == 0
    printed = OnlineDecision.from_dict(json.loads(text))
    assert [job.job_id for job in printed.starts] == ["a"]
    assert run("decide", str(file), "--policy", "fifo", "-o", str(out))[0] == 0
    assert OnlineDecision.from_dict(json.loads(out.read_text())) == printed
    code, _, error = run("decide", str(file), "--policy", "max-min")
    assert (code, error.count("\n")) == (2, 1)
    assert run("decide", str(file), "--policy", "fifo", "-o", str(file))[0] == 2
