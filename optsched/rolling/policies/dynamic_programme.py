"""Policies ``dp`` and ``avg-dp``: a dynamic programme over jobs x GPUs at every event.

Proxy (28) says which jobs run; in order of arrival each takes the fastest free configuration (sts,
VII-A1). ``avg-dp`` plans with mean lengths. Dedicated GPUs only. Guarantee: none.
"""

from __future__ import annotations

import math

from optsched.result import Settings
from optsched.rolling.policies.fewest_migrations import placed_of, with_fewest_migrations
from optsched.rolling.policies.queue import planned_times
from optsched.rolling.simulator.engine import Plan
from optsched.rolling.simulator.world import View, World
from optsched.selection.heuristics.cluster_state import ClusterState
from optsched.selection.heuristics.dp import dp_jobs, fastest_seats


def dp(name: str, world: World, settings: Settings) -> DynamicProgramme:
    """Make ``dp`` or ``avg-dp``."""
    return DynamicProgramme(world, name)


class DynamicProgramme:
    """The policy."""

    wake = math.inf

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name, self.average = world, name, name.startswith("avg-")

    def decide(self, view: View) -> Plan:
        """Choose for all jobs anew."""
        tables, jobs = view.tables, self.world.instance.jobs
        order = dp_jobs(tables, planned_times(view, self.average))
        order.sort(key=lambda j: (jobs[view.jobs[j]].submit_time, j))
        seats = fastest_seats(tables, ClusterState(tables), order)
        return Plan(with_fewest_migrations(tables, placed_of(seats), view.running))
