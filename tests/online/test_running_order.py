"""Who of those that run comes last, and who ends next, beside lists that are sorted each time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from online.test_preemption import jobs_of

from optsched.online.policies.by_name import POLICIES, PolicyOptions
from optsched.online.simulator import ends, last_running
from optsched.online.simulator.preemption import PreemptiveRun
from optsched.online.simulator.preemption_state import (
    ALPHA,
    END,
    ENDS,
    FROM,
    GONE,
    HORIZON,
    KIND,
    KNOWN,
    LAST,
    LEFT,
    RUNNING,
    TIMES,
)

MANY = 60


def crowd(rng: np.random.Generator) -> PreemptiveRun:
    """All jobs as admitted, on GPUs enough for all; their keys and ends are often equal."""
    jobs = jobs_of(*((0.0, 1, 1.0) for _ in range(MANY)), servers=MANY, per_server=1)
    policy = POLICIES["srpt-preemptive"]
    made = PreemptiveRun(jobs, policy, PolicyOptions().for_policy(policy), jobs.iterations)
    made.state.number[:, KIND] = jobs.configuration
    made.state.job[:, KNOWN] = rng.integers(0, 12, MANY)
    made.state.job[:, ALPHA] = 1.0
    return made


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("few", [2, 64])
def test_the_last_by_the_keys_of_now(seed: int, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether jobs start, end, are stopped or only come nearer to their ends."""
    monkeypatch.setattr(last_running, "FEW", few)
    monkeypatch.setattr(last_running, "LONG", 5)
    rng = np.random.default_rng(seed)
    made = crowd(rng)
    rows, rules, state = made.rows, made.rules, made.state
    now, waiting, running = 0.0, list(range(MANY)), dict[int, float]()
    begun = dict[int, float]()

    def key(row: int) -> float:
        gone = max(0.0, now - running[row])
        estimate = rows.estimate[rows.configuration[row]]
        return max(0.0, state.job[row, KNOWN] - gone) * estimate

    for step in range(900):
        what = rng.random()
        if waiting and (what < 0.4 if step % 300 < 150 else what < 0.2):
            row = waiting.pop(rng.integers(len(waiting)))
            running[row] = state.job[row, FROM] = now + rng.integers(2)
            place = state.index[RUNNING] - state.index[LAST]
            state.index[RUNNING] += 1
            begun[row] = key(row)
            last_running.run_by_key(rows, state, place, row, begun[row])
        elif running and what < 0.6:
            row = [*running][rng.integers(len(running))]
            seen = last_running.leave(state, row)
            assert key(row) <= seen <= begun[row]
            waiting.append(row)
            del running[row]
        elif running and what < 0.9:
            at = last_running.see_last(rows, rules, state, now)
            assert state.last_row[at] == max(running, key=lambda each: (key(each), each))
            assert state.last_key[at] == key(state.last_row[at])
        else:
            now += float(rng.integers(3))
        listed = state.running[: state.index[RUNNING] - state.index[LAST]]
        last = state.last_row[: state.index[LAST]]
        assert sorted([*listed, *last]) == sorted(running)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("few", [2, 64])
def test_the_next_end(seed: int, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether jobs start, are stopped, or end, and whether ends far ahead are known or not."""
    monkeypatch.setattr(ends, "FEW", few)
    monkeypatch.setattr(ends, "LONG", 5)
    monkeypatch.setattr(ends, "expect_ends", ends.expect_ends.py_func)  # compiled, it has its own
    rng = np.random.default_rng(seed)
    made = crowd(rng)
    state: Any = made.state
    waiting, now, shortened = list(range(MANY)), 0.0, 0

    def running() -> list[int]:
        return state.running[: state.index[RUNNING]].tolist()

    def stop(row: int, left: float) -> None:
        last_running.leave(state, row)
        state.number[row, TIMES] = -state.number[row, TIMES]
        state.job[row, LEFT] = left
        ends.forget_stopped(state)
        waiting.append(row)

    for _ in range(900):
        what = rng.random()
        if waiting and what < 0.5:
            row = waiting.pop(rng.integers(len(waiting)))
            state.number[row, TIMES] = abs(state.number[row, TIMES]) + 1
            state.job[row, LEFT] = 1.0
            state.job[row, END] = now + rng.integers(30)
            ends.expect_end(state, state.index[RUNNING], row)
            last_running.run_at(state, state.index[RUNNING], row, 1, 0.0)
            state.index[RUNNING] += 1
        elif running() and what < 0.75:
            stop(int(rng.choice(running())), 1.0)
        elif running():
            if ends.next_end(state) == np.inf:
                ends.expect_ends(state, state.index[RUNNING], -np.inf, np.inf)
            now = min(state.job[each, END] for each in running())
            assert ends.next_end(state) == now
            row = int(state.end_row[state.index[ENDS] - 1])
            assert state.job[row, END] == now
            assert row in running()
            stop(row, GONE)
        shortened += state.clock[HORIZON] < np.inf
    assert (shortened > 300) == (few == 2)
