"""Policy ``patterns``: the optimum of every interval, one after another.

Guarantee: each decision is optimal for (P1) when its solve ends within the limit (relative gap
1e-4); the run as a whole is not, since (19) freezes the configuration while STS plans to speed up.
A decision that finds nothing in time falls back on STS's; `cut` and `fallen_back` count both.
"""

from __future__ import annotations

import time

from optsched.backends import solve_model
from optsched.result import Settings, Termination
from optsched.rolling.keep import keep_in_place
from optsched.rolling.simulator import Plan
from optsched.rolling.world import View, World
from optsched.selection.decode import assignment_of
from optsched.selection.patterns import build, pattern_data, read_counted
from optsched.selection.sts import sts_assignment

GAP = 1e-4
TIME_LIMIT = 5.0


class IntervalOptimum:
    """The pattern model at every event."""

    name = "patterns"

    def __init__(self, world: World, *, time_limit: float | None) -> None:
        self.limit = TIME_LIMIT if time_limit is None else time_limit
        self.cut, self.fallen_back = 0, 0

    def decide(self, view: View) -> Plan:
        """Solve (P1) for the jobs present."""
        tables, began = view.costed, time.perf_counter()
        model = build(pattern_data(tables))
        settings = Settings(time_limit=self.limit, gap=GAP)
        answer = solve_model(model, settings, build_time=time.perf_counter() - began)
        self.cut += answer.termination is not Termination.OPTIMAL
        if answer.has_solution:
            seats = dict(assignment_of(tables, read_counted(model)))
        else:
            self.fallen_back += 1
            seats = sts_assignment(tables)
        return Plan(keep_in_place(tables, seats, view.running))
