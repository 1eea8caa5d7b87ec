"""A policy under a time limit; once it has passed, waiting jobs start first come, first served.

Running jobs then keep their GPUs to the end, as under ``fifo``: each decision is cheap, no job
starves, and the run is complete and can be audited. A run that nevertheless takes `GRACE` seconds
more, such as one of a hundred thousand jobs, ends without records.
"""

from __future__ import annotations

from optsched.deadline import Deadline, clock
from optsched.display import counted
from optsched.result import Termination
from optsched.rolling.policies.queue import Queue
from optsched.rolling.simulator.engine import Plan, Policy, UnfinishedRunError
from optsched.rolling.simulator.world import View, World

GRACE = 1.0
"""Seconds after the limit in which a run may still be completed."""


class Limited:
    """A policy until its deadline, ``fifo`` from then on.

    Attributes
    ----------
    decisions, fallback_decisions : int
        All decisions so far, and those of them after the deadline.
    """

    def __init__(self, world: World, policy: Policy, deadline: Deadline) -> None:
        self.name, self.wake = policy.name, policy.wake
        self.policy, self.deadline = policy, deadline
        self.fallback = Queue(world, "fifo")
        self.decisions, self.fallback_decisions, self.fallback_start = 0, 0, 0.0

    def decide(self, view: View) -> Plan:
        """Use the policy before the deadline, then FIFO."""
        self.decisions += 1
        if not self.deadline.is_over:
            return self.policy.decide(view)
        if not self.fallback_decisions:
            self.fallback_start, self.wake = clock(), self.fallback.wake
        self.fallback_decisions += 1
        if clock() - self.fallback_start > GRACE:
            raise UnfinishedRunError(
                Termination.TIME_LIMIT,
                f"policy {self.name}: the time limit passed at {view.time:.6g} s of the run, "
                f"with {len(view.jobs)} jobs present",
            )
        return self.fallback.decide(view)

    @property
    def message(self) -> str | None:
        """Note on decisions affected by limits; None if there are none."""
        policy_message = getattr(self.policy, "message", None)
        if not self.fallback_decisions:
            return policy_message
        count = f"{self.fallback_decisions} of {counted(self.decisions, 'decision')}"
        limit = f"time limit reached: {count} made by fifo"
        return limit if policy_message is None else f"{policy_message}; {limit}"
