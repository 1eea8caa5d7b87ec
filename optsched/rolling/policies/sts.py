"""Policies ``sts`` and ``sts-postprocessing``: the stochastic scheduler of sts at every event.

Guarantee: none. As method ``sts`` for one interval, with three differences over time: the
distribution is that of W given W > w_c; the profile's speeds start at k_0, the GPUs selected before
on the job's last GPU type (one more at T_j); and a decision is scheduled at T_j, the end of the
first piece of each job that received its preferred configuration. A fraction "meets the due date"
if the job does by speeding up as planned after the first piece. A job whose type and
number of GPUs do not change keeps its GPUs if possible (sts, VI-C). The rest of VI-C, raising
fractions and k on the idle GPUs of open nodes, is in ``sts-postprocessing``, and in ``sts`` if the
option is "on": at low load it speeds up jobs beyond their profile, which costs energy. k_0 and T_j
remain those of the profile.
Complexity of a decision: O(J T (K^2 log^2 S + N)). Source: sts, Algorithms 2 and 3, VI-B.
"""

from math import inf

import numpy as np

from optsched.arrays import Ints
from optsched.result import Settings
from optsched.rolling.policies.fewest_migrations import Placed, with_fewest_migrations
from optsched.rolling.simulator.engine import MIN_CHANGE_SHARE, Plan
from optsched.rolling.simulator.world import View, World
from optsched.selection.heuristics import sts as one_interval
from optsched.selection.heuristics.cluster_state import nodes_of
from optsched.selection.heuristics.sts import NODE, Jobs, Rules, select

MIN_PIECE_SHARE = 1000 * MIN_CHANGE_SHARE
"""Minimum length of a first piece with postprocessing, relative to H (1 s per hour); avoids
oscillation between GPU counts."""


class Sts:
    """STS over time; keeps the type and GPUs selected for each job."""

    wake = inf

    def __init__(self, world: World, name: str, settings: Settings) -> None:
        self.world, self.name = world, name
        is_on = world.selection_options.postprocessing == "on"
        postprocessing = is_on or name == "sts-postprocessing"
        self.kinds = one_interval.kinds_of(world.tables)
        self.nodes = nodes_of(world.instance, world.tables.kind_of)
        min_share = MIN_PIECE_SHARE if postprocessing else MIN_CHANGE_SHARE
        self.rules = Rules(
            try_fewer_gpus=world.selection_options.strict == "off",
            fraction_for_first_piece=True,
            use_idle_gpus=postprocessing,
            min_piece_seconds=min_share * world.instance.interval,
        )
        jobs = len(world.instance.jobs)
        self.kind, self.gpus = np.full(jobs, -1), np.zeros(jobs, dtype=np.int64)

    def decide(self, view: View) -> Plan:
        """Algorithm 2; once no GPU is free, jobs of lower pressure are skipped."""
        tables = view.tables
        order = np.argsort(-one_interval.pressure(tables), kind="stable")
        jobs = Jobs(
            tables.seconds,
            tables.works.curves,
            tables.due,
            tables.latest_on_time,
            self._min_speed_index(view),
        )
        placements, length = select(jobs, self.kinds, self.nodes, order, self.rules)
        chosen = order[placements[NODE, order] >= 0]
        node, first, placed, wanted, final, _ = np.ascontiguousarray(placements[:, chosen])
        kind = tables.kind_of[node]
        max_gpus = self.kinds.gpus[kind]
        self.kind[view.index[chosen]] = kind
        self.gpus[view.index[chosen]] = np.where(wanted < max_gpus, wanted + 1, 1)
        first_piece = length[chosen] * tables.seconds[chosen, kind, wanted]
        seconds_to_change = np.where(placed == wanted, first_piece, inf).tolist()
        delays = zip(chosen.tolist(), seconds_to_change, strict=True)
        changes = {j: seconds for j, seconds in delays if seconds < inf}
        final_placements = Placed(
            chosen, node, first, np.where(final < max_gpus, final + 1, 1), final
        )
        return Plan(with_fewest_migrations(tables, final_placements, view.running), changes)

    def _min_speed_index(self, view: View) -> Ints:
        """k_0 - 1 of each job on each type, where the profile's speeds start."""
        min_speed_index = np.zeros((len(view.jobs), len(self.kinds.gpus)), dtype=np.int64)
        previously_placed = np.flatnonzero(self.kind[view.index] >= 0)
        due_now = np.zeros(len(view.jobs), dtype=np.int64)
        due_now[list(view.due_for_change)] = 1
        kind = self.kind[view.index[previously_placed]]
        gpus = self.gpus[view.index[previously_placed]] + due_now[previously_placed]
        min_speed_index[previously_placed, kind] = np.minimum(gpus, self.kinds.gpus[kind]) - 1
        return min_speed_index
