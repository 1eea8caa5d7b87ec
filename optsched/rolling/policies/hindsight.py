"""The cheapest run that a search finds when it knows every arrival and every length beforehand.

No policy: it sees what no policy sees. Its cost is one that the clairvoyant optimum is at most, as
the clairvoyant bound is one that it is at least; between the two lies what is not known. Jobs have
an order and a configuration each, and are seated anew in that order at every arrival and
completion, with fewer GPUs of the type where those wanted are not free; simulated annealing changes
orders and configurations. Whole GPUs; moving jobs is taken to be free. Guarantee: none; what it
finds is a run like any other, for the simulator to make and the audit to check. Complexity: steps x
events x jobs x nodes.
"""

from __future__ import annotations

import math

import numpy as np

from optsched.rolling.policies._hindsight_kernel import Known, Wanted, anneal
from optsched.rolling.policies.same_gpus import keep_same_gpus
from optsched.rolling.records import Records
from optsched.rolling.simulator.engine import Plan, simulate_rolling
from optsched.rolling.simulator.free_gpus import IndexedCluster
from optsched.rolling.simulator.world import View, World
from optsched.selection.heuristics._best_fit_kernel import nodes_of

STEPS = 400_000
HEAT = (0.1, 1e-4)
"""First and last temperature, as shares of the cost of a run that is known."""


def hindsight_run(
    world: World, epochs: tuple[float, ...], known_cost: float, *, seed: int = 0, steps: int = STEPS
) -> Records:
    """Search, and make the run that was found.

    Parameters
    ----------
    world : World
    epochs : tuple of float
        The true epochs.
    known_cost : float
        Of some run, dollars; sets the temperatures.
    seed : int
        Of the search.
    steps : int
        Runs tried.

    Returns
    -------
    Records
        Of policy ``hindsight``.
    """
    known = known_jobs(world, epochs)
    _, _, width = known.seconds.shape
    flat = known.seconds.reshape(len(epochs), -1)
    options = np.where(np.isfinite(flat), np.arange(flat.shape[1]), -1)
    wanted = Wanted(np.argsort(world.due_dates, kind="stable"), flat.argmin(axis=1))
    nodes = nodes_of(world.instance, world.all.kind_of)
    heat = known_cost * np.array(HEAT)
    anneal(wanted, options, known, nodes, np.random.default_rng(seed), steps, heat)
    return simulate_rolling(world, InOrder(world, wanted, width), epochs=epochs)


def known_jobs(world: World, epochs: tuple[float, ...]) -> Known:
    """The jobs, and what no policy sees of them; whole GPUs only."""
    jobs, width = world.instance.jobs, max(kind.gpus for kind in world.all.kinds)
    seconds = world.all.seconds[:, :, :width].copy()
    for t, kind in enumerate(world.all.kinds):
        seconds[:, t, kind.gpus :] = np.inf
    done = np.array([float(job.completed_epochs) for job in jobs])
    release = np.array([float(job.submit_time) for job in jobs])
    return Known(release, np.array(epochs) - done, world.due_dates, world.weights, seconds)


class InOrder:
    """Jobs in a given order take the configurations given, or fewer GPUs of the same type."""

    name, wake = "hindsight", math.inf

    def __init__(self, world: World, wanted: Wanted, width: int) -> None:
        self.world, self.choice, self.width = world, wanted.choice.tolist(), width
        self.rank = np.argsort(wanted.order).tolist()

    def decide(self, view: View) -> Plan:
        """Seat all jobs anew."""
        state, seats = IndexedCluster(view.tables), {}
        for i in sorted(range(len(view.jobs)), key=lambda i: self.rank[view.jobs[i]]):
            kind, configuration = divmod(self.choice[view.jobs[i]], self.width)
            most = state.most_free(kind)
            seat = state.seat(kind, min(configuration, most - 1)) if most else None
            if seat is not None:
                seats[i] = seat
        return Plan(keep_same_gpus(view.tables, seats, view.running))
