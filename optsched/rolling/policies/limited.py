"""A policy under a time limit; once it has passed, waiting jobs start first come, first served.

Running jobs then keep their GPUs to the end, as under ``fifo``: each decision is cheap, no job
waits for ever, and the run is complete and can be audited. A run that even so takes `GRACE` seconds
more, such as one of a hundred thousand jobs, ends without records.
"""

from __future__ import annotations

from optsched.deadline import Deadline, clock
from optsched.display import counted
from optsched.result import Termination
from optsched.rolling.policies.queue import Queue
from optsched.rolling.simulator.engine import Decider, Plan, UnfinishedRunError
from optsched.rolling.simulator.world import View, World

GRACE = 1.0
"""Seconds after the limit in which a run may still be completed."""


class Limited:
    """A policy until its deadline, ``fifo`` from then on.

    Attributes
    ----------
    decisions, late : int
        All decisions so far, and those of them that came after the deadline.
    """

    def __init__(self, world: World, policy: Decider, deadline: Deadline) -> None:
        self.name, self.wake = policy.name, policy.wake
        self.policy, self.deadline = policy, deadline
        self.fallback = Queue(world, "fifo")
        self.decisions, self.late, self.late_since = 0, 0, 0.0

    def decide(self, view: View) -> Plan:
        """Ask the policy while there is time."""
        self.decisions += 1
        if not self.deadline.is_over:
            return self.policy.decide(view)
        if not self.late:
            self.late_since, self.wake = clock(), self.fallback.wake
        self.late += 1
        if clock() - self.late_since > GRACE:
            raise UnfinishedRunError(
                Termination.TIME_LIMIT,
                f"policy {self.name}: the time limit passed at {view.time:.6g} s of the run, "
                f"with {len(view.jobs)} jobs present",
            )
        return self.fallback.decide(view)

    @property
    def message(self) -> str | None:
        """Counts of decisions that a limit cut; None if there are none."""
        said = getattr(self.policy, "message", None)
        if not self.late:
            return said
        limit = (
            f"{self.late} of {counted(self.decisions, 'decision')} after the time limit, by fifo"
        )
        return limit if said is None else f"{said}; {limit}"
