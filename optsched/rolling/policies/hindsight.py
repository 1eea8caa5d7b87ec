"""The cheapest run that a search finds when it knows every arrival and every length beforehand.

No policy: it sees what no policy sees. Its cost is one that the clairvoyant optimum is at most, as
the clairvoyant bound is one that it is at least; between the two lies what is not known. An epoch
of each job is given a worth, at every arrival and completion GPUs go to whom they gain most, and
simulated annealing changes the worths: at the optimum of the bound's linear programme a job chooses
its GPUs by one such number too. Whole GPUs; moving jobs is taken to be free. Guarantee: none; what
it finds is a run like any other, for the simulator to make and the audit to check. Complexity:
steps x events x GPUs x jobs present.
"""

from __future__ import annotations

import math

import numpy as np

from optsched.rolling.policies._hindsight_kernel import Known, anneal, hand_out, no_seats
from optsched.rolling.policies.price import LEAST_WORTH
from optsched.rolling.policies.same_gpus import keep_same_gpus
from optsched.rolling.records import Records
from optsched.rolling.simulator.engine import Plan, simulate_rolling
from optsched.rolling.simulator.world import Floats, View, World
from optsched.selection.assignment import Seat
from optsched.selection.heuristics._best_fit_kernel import nodes_of

STEPS, STARTS = 600_000, 2
"""Runs tried in all, and annealings among which they are shared: few long ones find cheaper runs of
saturated worlds than many short ones, and one annealing after the other decides otherwise."""
HEAT = (0.1, 1e-4)
"""First and last temperature, as shares of the cost of a run that is known."""


def hindsight_run(
    world: World, epochs: tuple[float, ...], known_cost: float, *, seed: int = 0, steps: int = STEPS
) -> Records:
    """Search, and make the run that was found."""
    known = known_jobs(world, epochs)
    nodes = nodes_of(world.instance, world.all.kind_of)
    generator, heat = np.random.default_rng(seed), (known_cost or 1.0) * np.array(HEAT)
    best, least = np.empty(0), math.inf
    for _ in range(STARTS):
        worth = known.floor + known.weight * known.quickest
        cost = anneal(worth, known, nodes, generator, max(steps // STARTS, 1), heat)
        if cost < least or not len(best):
            best, least = worth, cost
    return simulate_rolling(world, ByWorth(world, known, best), epochs=epochs)


def known_jobs(world: World, epochs: tuple[float, ...]) -> Known:
    """The jobs in order of arrival, and what no policy sees of them; whole GPUs only."""
    jobs, nodes = world.instance.jobs, nodes_of(world.instance, world.all.kind_of)
    sizes = np.arange(1, nodes.rates.shape[1] + 1)
    speed = np.zeros((len(jobs), len(world.all.kinds), len(sizes)))
    alone, cheapest = np.full((2, len(jobs)), np.inf)
    for t, kind in enumerate(world.all.kinds):
        rates = nodes.rates[nodes.kind == t]
        seconds = world.all.seconds[:, t, : kind.gpus]
        speed[:, t, : kind.gpus] = 1 / seconds
        alone = np.minimum(alone, _dollars(rates[:, 0].min(), seconds[:, 0]))
        each = _dollars((rates / sizes).min() * sizes[: kind.gpus], seconds)
        cheapest = np.minimum(cheapest, each.min(axis=1))
    release = np.array([float(job.submit_time) for job in jobs])
    done = np.array([float(job.completed_epochs) for job in jobs])
    found = Known(
        release,
        np.array(epochs) - done,
        world.due_dates,
        world.weights,
        speed,
        cheapest,
        1 / speed.max(axis=(1, 2)),
        np.maximum(alone * (1 + 1e-6), LEAST_WORTH),
    )
    order = np.argsort(release, kind="stable")
    return Known(*(each[order] for each in found))


def _dollars(rate: Floats, seconds: Floats) -> Floats:
    """Of an epoch; infinite where it takes for ever, also at no cost."""
    return np.where(seconds < math.inf, rate, 1.0) * seconds


class ByWorth:
    """GPUs go to whom they gain most at the jobs' worths."""

    name, wake = "hindsight", math.inf

    def __init__(self, world: World, known: Known, worth: Floats) -> None:
        self.known, self.worth = known, worth
        self.nodes = nodes_of(world.instance, world.all.kind_of)
        times = [job.submit_time for job in world.instance.jobs]
        self.rank = np.argsort(np.argsort(times, kind="stable"))

    def decide(self, view: View) -> Plan:
        """Seat all jobs anew."""
        ranks, jobs = self.rank[view.index], len(self.rank)
        local = np.argsort(ranks)
        seats = no_seats(jobs, self.nodes)
        hand_out(self.worth, ranks[local], self.known.speed, self.nodes, seats)
        found: dict[int, Seat] = {}
        taken = [0] * len(self.nodes.gpus)
        for i in local.tolist():
            n, size = int(seats.node[ranks[i]]), int(seats.size[ranks[i]])
            if n >= 0:
                found[i] = Seat(n, tuple(range(taken[n], taken[n] + size)), size - 1)
                taken[n] += size
        return Plan(keep_same_gpus(view.tables, found, view.running))
