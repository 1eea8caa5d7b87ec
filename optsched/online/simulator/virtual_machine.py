"""The virtual machine of a-srpt: preemptive SRPT on one machine as fast as the whole cluster.

Guarantee: SRPT has the least total flow time of all preemptive schedules of one machine. It is
advanced only at its own arrivals and completions, so that its clock rounds the same way whatever
happens on the cluster. Ties go to the earlier row. O(log n) an event.
Source: a-srpt, IV-C (instance A~_1); models/online/README.md.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from optsched.compiled_loops import njit, njit_inlined
from optsched.online.simulator.heaps import pop_keyed, push_keyed

IDLE = -1
CURRENT, WAITING = 0, 1
LAST, REMAINING = 0, 1


class Machine(NamedTuple):
    """Its state in arrays: the job that runs, its remaining work, and a heap of the others.

    Attributes
    ----------
    index : (2,) int
        The row that runs (or -1), and how many wait.
    clock : (2,) float
        Seconds: when it was last advanced, and the remaining work of the row that runs.
    remaining, row : (n,)
        The heap of those that wait, by (remaining work, row).
    """

    index: Any
    clock: Any
    remaining: Any
    row: Any


def idle_machine(rows: int) -> Machine:
    """A machine with room for so many rows."""
    return Machine(
        index=np.array([IDLE, 0], dtype=np.int64),
        clock=np.zeros(2),
        remaining=np.empty(rows),
        row=np.empty(rows, dtype=np.int64),
    )


@njit_inlined
def next_completion(machine: Any) -> float:
    """When the row that runs will be complete if none arrives before; inf when idle."""
    if machine.index[CURRENT] == IDLE:
        return np.inf
    return machine.clock[LAST] + machine.clock[REMAINING]


@njit_inlined
def complete(machine: Any) -> int:
    """Complete the row that runs, at its own time, and turn to the next one."""
    done = machine.index[CURRENT]
    machine.clock[LAST] = machine.clock[LAST] + machine.clock[REMAINING]
    waiting = machine.index[WAITING]
    if waiting == 0:
        machine.index[CURRENT] = IDLE
    else:
        left, row = pop_keyed(machine.remaining, machine.row, waiting)
        machine.index[CURRENT] = row
        machine.index[WAITING] = waiting - 1
        machine.clock[REMAINING] = left
    return done


@njit_inlined
def arrive(machine: Any, now: float, row: int, work: float) -> None:
    """A row with positive work arrives; completions up to `now` have been taken out."""
    current = machine.index[CURRENT]
    if current == IDLE:
        machine.index[CURRENT] = row
        machine.clock[REMAINING] = work
    else:
        left = max(0.0, machine.clock[REMAINING] - (now - machine.clock[LAST]))
        waiting = machine.index[WAITING]
        if work < left or (work == left and row < current):
            push_keyed(machine.remaining, machine.row, waiting, left, current)
            machine.index[CURRENT] = row
            machine.clock[REMAINING] = work
        else:
            push_keyed(machine.remaining, machine.row, waiting, work, row)
            machine.clock[REMAINING] = left
        machine.index[WAITING] = waiting + 1
    machine.clock[LAST] = now


@njit(cache=True)
def srpt_completions(release: Any, work: Any) -> NDArray[np.float64]:
    """Completion time of every row under preemptive SRPT on one machine."""
    rows = len(release)
    machine = Machine(
        np.array([IDLE, 0]), np.zeros(2), np.empty(rows), np.empty(rows, dtype=np.int64)
    )
    completion = np.empty(rows)
    for row in range(rows + 1):
        now = release[row] if row < rows else np.inf
        while next_completion(machine) <= now and machine.index[CURRENT] != IDLE:
            end = next_completion(machine)
            completion[complete(machine)] = end
        if row < rows:
            if work[row] > 0.0:
                arrive(machine, now, row, work[row])
            else:
                completion[row] = now
    return completion
