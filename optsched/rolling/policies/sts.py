"""Policies ``sts`` and ``sts-postprocessing``: the stochastic scheduler of sts at every event.

Guarantee: none. As method ``sts`` for one interval, with three things that only time brings: the
distribution is that of W given W > w_c; the profile's speeds start at k_0, the GPUs selected before
on the type the job last ran on (one more when its T_j is now); and each job that got what its
profile wants asks for a decision at its own T_j, when the first piece ends. A fraction "meets the
due date" if the job does by speeding up as planned after the first piece. A job whose type and
number of GPUs do not change keeps its GPUs where it can (sts, VI-C). The rest of VI-C, raising
fractions and k on the idle GPUs of open nodes, is in ``sts-postprocessing``, and in ``sts`` where
the option says "on": at light load it speeds every job up whose profile asked for less, and the
profile's energy is no longer met. k_0 and T_j stay the profile's, whatever was added to it.
Complexity of a decision: O(J T (K^2 log^2 S + N)). Source: sts, Algorithms 2 and 3, VI-B.
"""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from optsched.result import Settings
from optsched.rolling.policies.fewest_migrations import Placed, with_fewest_migrations
from optsched.rolling.simulator.engine import MIN_CHANGE_SHARE, Plan
from optsched.rolling.simulator.world import View, World
from optsched.selection.heuristics import sts as one_interval
from optsched.selection.heuristics.cluster_state import nodes_of
from optsched.selection.heuristics.sts import NODE, Jobs, Rules, select

SLIVER = 1000 * MIN_CHANGE_SHARE
"""Share of H, a second of an hour: a first piece that is shorter is left out where idle GPUs are
handed out. A moment with more of them leaves a pressed job a moment of slack, to be spent on fewer,
and so by turns."""


def sts(name: str, world: World, settings: Settings) -> Sts:
    """``sts``, and with the idle GPUs of open nodes handed out ``sts-postprocessing``."""
    asked = world.readings.postprocessing == "on"
    return Sts(world, name, postprocessing=asked or name == "sts-postprocessing")


class Sts:
    """STS over time. Remembers the type and GPUs selected for each job."""

    wake = inf

    def __init__(self, world: World, name: str = "sts", *, postprocessing: bool = False) -> None:
        self.world, self.name = world, name
        self.kinds = one_interval.kinds_of(world.all)
        self.nodes = nodes_of(world.instance, world.all.kind_of)
        min_share = SLIVER if postprocessing else MIN_CHANGE_SHARE
        self.rules = Rules(
            try_fewer_gpus=world.readings.strict == "off",
            fraction_for_first_piece=True,
            use_idle_gpus=postprocessing,
            min_piece_seconds=min_share * world.instance.interval,
        )
        jobs = len(world.instance.jobs)
        self.kind, self.gpus = np.full(jobs, -1), np.zeros(jobs, dtype=np.int64)

    def decide(self, view: View) -> Plan:
        """Algorithm 2; once nothing is free, the jobs of less pressure wait unasked."""
        tables = view.tables
        order = np.argsort(-one_interval.pressure(tables), kind="stable")
        jobs = Jobs(
            tables.seconds,
            tables.works.curves,
            tables.due,
            tables.latest_on_time,
            self._least(view),
        )
        seats, length = select(jobs, self.kinds, self.nodes, order, self.rules)
        seated = order[seats[NODE, order] >= 0]
        node, first, placed, asked, given, _ = np.ascontiguousarray(seats[:, seated])
        kind = tables.kind_of[node]
        whole = self.kinds.gpus[kind]
        self.kind[view.index[seated]] = kind
        self.gpus[view.index[seated]] = np.where(asked < whole, asked + 1, 1)
        waits = np.where(placed == asked, length[seated] * tables.seconds[seated, kind, asked], inf)
        changes = {j: t for j, t in zip(seated.tolist(), waits.tolist(), strict=True) if t < inf}
        size = np.where(given < whole, given + 1, 1)
        given_seats = Placed(seated, node, first, size, given)
        return Plan(with_fewest_migrations(tables, given_seats, view.running), changes)

    def _least(self, view: View) -> NDArray[np.int64]:
        """k_0 - 1 of each job on each type: the profile's speeds start there."""
        least = np.zeros((len(view.jobs), len(self.kinds.gpus)), dtype=np.int64)
        known = np.flatnonzero(self.kind[view.index] >= 0)
        kind, more = self.kind[view.index[known]], np.zeros(len(view.jobs), dtype=np.int64)
        more[list(view.due_for_change)] = 1
        gpus = self.gpus[view.index[known]] + more[known]
        least[known, kind] = np.minimum(gpus, self.kinds.gpus[kind]) - 1
        return least
