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

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from optsched.deadline import Deadline, OutOfTimeError
from optsched.makespan.bounds.durations import Durations, durations_of
from optsched.makespan.contention import Ints, Schedule
from optsched.makespan.heuristics._nested_kernel import (
    Blocks,
    Cooling,
    Positions,
    anneal,
    loads_of,
    place_greedily,
)
from optsched.makespan.heuristics._random_kernel import random_state
from optsched.makespan.heuristics.list_scheduling import by_longest
from optsched.makespan.heuristics.local_search import local_search, search
from optsched.makespan.incumbent import SEARCH_SHARE, Incumbent, SearchResult
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.options import MakespanOptions
from optsched.progress import Progress
from optsched.result import Outcome, Settings

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
    if not applies(instance):
        return replace(local_search(instance, options, settings), chosen="local-search")
    found = Incumbent(instance, settings)
    details: Mapping[str, Any] = {"moves": 0, "restarts": 0}
    with found.working():
        found.take(by_longest(instance), "local search")
        found.bounded(settings.deadline.share(SEARCH_SHARE))
        found.take(_start(instance, settings, found.bound.value), "local search")
        met = found.value <= found.bound.value or found.impossible
        found.cut = not met and settings.deadline.is_over
        if not met and not found.cut:
            annealing = Annealing(
                instance, found.bound.value, settings.seed, progress=settings.progress
            )
            annealed = annealing.found(settings.iterations, settings.deadline, settings.gap)
            details = annealed.details
            found.take(annealed, "annealing")
    return found.outcome(details={**details, "kept": found.name})


def applies(instance: MakespanInstance) -> bool:
    """Whether every size is a power of two, fits one server and makes progress there."""
    largest = max(instance.servers)
    sizes_nest = all(
        job.gpus & (job.gpus - 1) == 0 and job.gpus <= largest for job in instance.jobs
    )
    return sizes_nest and bool(np.isfinite(durations_of(instance).inside).all())


def _start(instance: MakespanInstance, settings: Settings, bound: float) -> SearchResult:
    """A short local search, which may span servers."""
    limit, moves = settings.time_limit, settings.iterations
    most = max(200, START_EFFORT // len(instance.jobs))
    if moves is not None or limit is None:
        moves = most if moves is None else min(moves, most)
    shorter = None if limit is None else min(START_SHARE * limit, settings.deadline.left or 0.0)
    return search(instance, replace(settings, time_limit=shorter, iterations=moves), bound)


@dataclass
class Annealing:
    """An annealing run."""

    instance: MakespanInstance
    bound: float
    seed: int
    moves: int = 0
    restarts: int = 0
    progress: Progress = field(default_factory=Progress)

    def __post_init__(self) -> None:
        durations = durations_of(self.instance)
        self.blocks = _blocks(durations)
        n = len(durations.gpus)
        position, load = np.zeros(n, dtype=np.int64), np.zeros(self.instance.gpus)
        order = np.lexsort((-durations.inside, -durations.gpus)).astype(np.int64)
        place_greedily(self.blocks, order, position, load)
        self.now = Positions(
            position, load, position.copy(), np.array([load.max()]), random_state(self.seed)
        )
        self.targets = np.random.default_rng(self.seed)

    def run(self, most: int | None, deadline: Deadline, gap: float) -> bool:
        """Anneal until the moves or the time are spent or the bound is met; whether time cut it."""
        most = MOVES if most is None and deadline.limit is None else most
        target = (MANY_FIRST_TARGET if self.many else FIRST_TARGET) * self.bound
        while not self.done(gap):
            if most is not None and self.moves >= most:
                return False
            if not self._anneal(min(target, self.best - self._least_step()), most, deadline):
                return True
            self.restarts += 1
            low, high = RESTART
            target = self.bound + (self.best - self.bound) * self.targets.uniform(low, high)
            self.now.position[:] = self.now.best_position
        return False

    def found(self, most: int | None, deadline: Deadline, gap: float) -> SearchResult:
        """Anneal as `run` does, and say what came of it."""
        try:
            cut = self.run(most, deadline, gap)
        except OutOfTimeError:
            cut = True
        return SearchResult(self.schedule(), cut, {"moves": self.moves, "restarts": self.restarts})

    @property
    def best(self) -> float:
        """The least makespan seen, in slots."""
        return float(self.now.best[0])

    @property
    def many(self) -> bool:
        """Whether one annealing is a long one."""
        return len(self.now.position) >= MANY_JOBS

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
            at, gpus = int(self.now.best_position[j]), int(durations.gpus[j])
            starts[j] = float(free[at])
            placed[j] = {int(server_of[at]): gpus}
            free[at : at + gpus] = starts[j] + durations.inside[j]
        return Schedule(tuple(starts), tuple(placed))

    def _least_step(self) -> float:
        return 1.0 if self.instance.slotted else 1e-6 * self.best

    def _anneal(self, target: float, most: int | None, deadline: Deadline) -> bool:
        """One annealing towards a target; false when the time was up."""
        a_job = MANY_MOVES_A_JOB if self.many else MOVES_A_JOB
        total = int(np.clip(a_job * len(self.now.position), FEWEST_MOVES, MOST_MOVES))
        total = total if most is None else min(total, most - self.moves)
        loads_of(self.blocks, self.now.position, self.now.load)
        cooling = Cooling((HOT * self.bound) ** 2, (COLD * self.bound) ** 2, total)
        done = 0
        while done < total:
            if deadline.is_over:
                return False
            made = anneal(self.blocks, self.now, target, cooling, done, min(CHUNK, total - done))
            self.moves += made
            done += made
            if self.best <= self.instance.horizon:
                self.progress.report(self.best)
            if made == 0 or self.now.load.max() <= target:  # met: ask for more
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
