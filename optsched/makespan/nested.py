"""Nested annealing: every job on an aligned block of one server's GPUs, so nothing contends.

Applies when every size is a power of two and fits one server. Running each GPU's jobs widest first
then leaves no gap, so the makespan is the largest sum of durations on a GPU: there is nothing to
sequence. Anneals the sum over GPUs of max(0, load - T)^2; T starts just above the certified bound,
falls as it is met, and each restart from the incumbent draws T between bound and incumbent. Where
few servers hold the widest jobs it pays to span: a short local search comes first, and the better
of the two schedules is kept.

Guarantee: never worse than longest-first, nor than blocks filled greedily widest first; the excess
over the certified bound comes with it. Anytime: bound, start and annealing share the time limit;
equal (seed, iterations) give equal schedules. Complexity: O(width) a move, millions of moves a
second. Beyond the paper. Elsewhere the method falls back, by name, to local-search.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from optsched.makespan.bounds import bound_within
from optsched.makespan.contention import Floats, Ints, Schedule
from optsched.makespan.durations import Durations, durations_of
from optsched.makespan.greedy import random_state
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.local_search import Found, local_search, search
from optsched.makespan.nested_kernel import Blocks, anneal, loads_of, place_greedily
from optsched.makespan.options import MakespanOptions
from optsched.makespan.outcome import outcome_of
from optsched.result import Outcome, Settings, Termination

MOVES = 20_000_000
"""Moves when neither time nor iterations are limited."""
MOVES_A_JOB = 10_000
"""Moves of one annealing for each job, between the two limits below."""
FEWEST_MOVES, MOST_MOVES = 200_000, 40_000_000
FIRST_TARGET = 1.005
MANY_JOBS, MANY_MOVES_A_JOB, MANY_FIRST_TARGET = 500, 20_000, 1.015
"""From so many jobs on there is time for few annealings: slower, towards what they can reach."""
RESTART = (0.1, 0.7)
"""Where between bound and incumbent a restart draws its target."""
HOT, COLD = 8e-3, 4e-4
"""Square roots of the first and the last temperature, as shares of the bound."""
START_SHARE, START_EFFORT = 0.1, 400_000
"""The local search before: share of the time limit; without one, its moves times jobs."""
CHUNK = 100_000


def nested(instance: MakespanInstance, options: MakespanOptions, settings: Settings) -> Outcome:
    """Schedule by nested annealing, or by local-search where blocks do not nest."""
    began = time.perf_counter()
    if not applies(instance):
        return replace(local_search(instance, options, settings), chosen="local-search")
    until = None if settings.time_limit is None else began + settings.time_limit
    bound = bound_within(instance, settings.time_limit)
    start = _start(instance, settings, bound.value)
    annealing = Annealing(instance, bound.value, settings.seed)
    met = start.value <= bound.value
    cut = not met and annealing.run(settings.iterations, until, settings.gap)
    kept = "annealing" if annealing.best < start.value else "local search"
    return outcome_of(
        instance,
        annealing.schedule() if kept == "annealing" else start.schedule,
        Termination.TIME_LIMIT if cut else Termination.FEASIBLE,
        details={"moves": annealing.moves, "restarts": annealing.restarts, "kept": kept},
        bound=bound.value,
        bound_source=bound.source,
        certificate=bound.certificate,
        solve_time=time.perf_counter() - began,
    )


def applies(instance: MakespanInstance) -> bool:
    """Whether every size is a power of two, fits one server and makes progress there."""
    largest = max(instance.servers)
    sizes_nest = all(
        job.gpus & (job.gpus - 1) == 0 and job.gpus <= largest for job in instance.jobs
    )
    return sizes_nest and bool(np.isfinite(durations_of(instance).inside).all())


def _start(instance: MakespanInstance, settings: Settings, bound: float) -> Found:
    """A short local search, which may span servers."""
    limit, moves = settings.time_limit, settings.iterations
    most = max(200, START_EFFORT // len(instance.jobs))
    if moves is not None or limit is None:
        moves = most if moves is None else min(moves, most)
    shorter = None if limit is None else START_SHARE * limit
    return search(instance, replace(settings, time_limit=shorter, iterations=moves), bound)


@dataclass
class Annealing:
    """An annealing run: positions by job, the best of them, and the generator's state."""

    instance: MakespanInstance
    bound: float
    seed: int
    moves: int = 0
    restarts: int = 0

    def __post_init__(self) -> None:
        durations = durations_of(self.instance)
        self.blocks = _blocks(durations)
        n = len(durations.gpus)
        self.position = np.zeros(n, dtype=np.int64)
        self.load: Floats = np.zeros(self.instance.gpus)
        order = np.lexsort((-durations.inside, -durations.gpus)).astype(np.int64)
        place_greedily(self.blocks, order, self.position, self.load)
        self.best = float(self.load.max())
        self.best_position = self.position.copy()
        self.state = random_state(self.seed)
        self.targets = np.random.default_rng(self.seed)

    def run(self, most: int | None, until: float | None, gap: float) -> bool:
        """Anneal until the moves or the time are spent or the bound is met; whether time cut it."""
        most = MOVES if most is None and until is None else most
        target = (MANY_FIRST_TARGET if self.many else FIRST_TARGET) * self.bound
        while not self.done(gap):
            if most is not None and self.moves >= most:
                return False
            if not self._anneal(min(target, self.best - self._least_step()), most, until):
                return True
            self.restarts += 1
            low, high = RESTART
            target = self.bound + (self.best - self.bound) * self.targets.uniform(low, high)
            self.position[:] = self.best_position
        return False

    @property
    def many(self) -> bool:
        """Whether one annealing is a long one."""
        return len(self.position) >= MANY_JOBS

    def done(self, gap: float) -> bool:
        """Whether the incumbent meets the bound."""
        return self.best - self.bound <= max(gap, 1e-9) * self.best

    def schedule(self) -> Schedule:
        """The best positions as a schedule: each GPU's jobs widest first, without a gap."""
        durations, instance = durations_of(self.instance), self.instance
        free = np.zeros(instance.gpus)
        server_of = np.repeat(np.arange(len(instance.servers)), instance.servers)
        starts: list[float] = [0.0] * len(instance.jobs)
        placed: list[dict[int, int]] = [{} for _ in instance.jobs]
        for j in np.lexsort((np.arange(len(starts)), -durations.gpus)).tolist():
            at, gpus = int(self.best_position[j]), int(durations.gpus[j])
            starts[j] = float(free[at])
            placed[j] = {int(server_of[at]): gpus}
            free[at : at + gpus] = starts[j] + durations.inside[j]
        return Schedule(tuple(starts), tuple(placed))

    def _least_step(self) -> float:
        return 1.0 if self.instance.slotted else 1e-6 * self.best

    def _anneal(self, target: float, most: int | None, until: float | None) -> bool:
        """One annealing towards a target; false when the time was up."""
        a_job = MANY_MOVES_A_JOB if self.many else MOVES_A_JOB
        total = int(np.clip(a_job * len(self.position), FEWEST_MOVES, MOST_MOVES))
        total = total if most is None else min(total, most - self.moves)
        loads_of(self.blocks, self.position, self.load)
        hot, cold = (HOT * self.bound) ** 2, (COLD * self.bound) ** 2
        done = 0
        while done < total:
            if until is not None and time.perf_counter() >= until:
                return False
            self.best, made = anneal(
                self.blocks, self.position, self.load, target, self.best, self.best_position,
                hot, cold, min(CHUNK, total - done), total, done, self.state,
            )  # fmt: skip
            self.moves += int(made)
            done += int(made)
            if made == 0 or self.load.max() <= target:  # met: ask for more
                if self.best <= self.bound:
                    return True
                target = max(self.bound, min(target, self.best) - self._least_step())
                if made == 0:
                    done += 1
        return True


def _blocks(durations: Durations) -> Blocks:
    gpus, servers = durations.gpus, durations.instance.servers
    widths = np.unique(gpus)
    kind = np.searchsorted(widths, gpus)
    bases = np.concatenate(([0], np.cumsum(servers)))
    by_width = [
        [int(base) + k * int(w) for base, size in zip(bases, servers, strict=False)
         for k in range(size // int(w))]
        for w in widths
    ]  # fmt: skip
    return Blocks(
        width=gpus,
        duration=durations.inside,
        kind=kind.astype(np.int64),
        widths=widths,
        first_block=_offsets([len(blocks) for blocks in by_width]),
        block=np.array([b for blocks in by_width for b in blocks], dtype=np.int64),
        first_job=_offsets(np.bincount(kind, minlength=len(widths)).tolist()),
        job=np.argsort(kind, kind="stable").astype(np.int64),
        base=np.repeat(bases[:-1], servers).astype(np.int64),
        end=np.repeat(bases[1:], servers).astype(np.int64),
    )


def _offsets(counts: list[int]) -> Ints:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
