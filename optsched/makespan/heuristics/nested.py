"""Nested annealing: every job on a block of one server's GPUs, so nothing contends.

Applies when every size is a power of two and fits one server. A job stands on an aligned block of
its GPUs, or on a pair of half blocks at one place of its server's two halves. Aligned blocks nest,
and so do pairs: if each GPU runs its aligned jobs first, widest first, and its paired jobs last,
widest last, no GPU waits, so the makespan is the largest sum of durations on a GPU: there is
nothing to sequence. Anneals the sum over GPUs of max(0, load - T)^2, with T just above the
certified bound at first; T falls as it is met. Each annealing from scratch, hot, is followed by
short ones that go on from what it reached, towards a T between that and the bound; then it is
forgotten. Some make pairs, some do not. After a round of them copies at fixed temperatures take
turns, which exchange their places. Where few servers hold the widest jobs it pays to span: a
short local search comes first, and the better of the two schedules is kept.

Guarantee: never worse than longest-first, nor than blocks filled greedily widest first; the excess
over the certified bound comes with it, and a makespan that meets it is optimal. Anytime: bound,
start and annealing share the time limit; equal (seed, iterations) give equal schedules.
Complexity: O(width) a move, millions of moves a second. Beyond the paper. Elsewhere the method
falls back, by name, to local-search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from optsched.deadline import Deadline, OutOfTimeError
from optsched.makespan.bounds.durations import Durations, durations_of
from optsched.makespan.contention import Ints, Schedule
from optsched.makespan.heuristics._blocks_kernel import (
    Blocks,
    Positions,
    loads_of,
    place_greedily,
)
from optsched.makespan.heuristics._nested_kernel import anneal
from optsched.makespan.heuristics._random_kernel import random_state
from optsched.makespan.heuristics.list_scheduling import by_longest
from optsched.makespan.heuristics.local_search import local_search, search
from optsched.makespan.heuristics.tempering import Tempering
from optsched.makespan.incumbent import SEARCH_SHARE, Incumbent, SearchResult
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.options import MakespanOptions
from optsched.progress import Progress
from optsched.result import Outcome, Settings

MOVES = 20_000_000
"""Moves when neither time nor iterations are limited."""
MOVES_A_JOB, FEWEST_MOVES = 10_000, 200_000
"""Moves of a short annealing: by job, and at least."""
CYCLES = ((0, 6, False), (1, 6, True), (4, 3, True), (4, 3, False))
"""How many times a short one's moves the hot one makes, none for a short one from the greedy start
instead, how many short ones go on from what it reached, and whether they make pairs."""
MANY_JOBS, GROWTH, LAST = 500, 4, 0.7
"""From so many jobs on, each from scratch has so many times the moves of the one before; the last
takes that share of what is left."""
FIRST_TARGET = 1.004
RESTART = (0.1, 0.7)
"""Where between the bound and what was reached a short one's target is drawn."""
TEMPERED = sum((times or 1) + shorter for times, shorter, _ in CYCLES) // 2
"""How many times a short one's moves tempering makes after a round of cycles: half of its."""
HEATS = {True: (2e-2, 1e-3), False: (8e-3, 4e-4)}
"""Square roots of the first and the last temperature, as shares of the bound: from scratch, and
for short ones, where the widest jobs mostly stay."""
FEWEST_SLOTS = 200.0
"""Slots are whole: temperatures are no lower than where the bound is so many."""
START_SHARE, START_EFFORT = 0.03, 400_000
"""The local search before: share of the time limit; without one, its moves times jobs."""
CHUNK, FEWEST_STEPS = 20_000, 200
"""Most moves at one temperature, and fewest temperatures of an annealing."""


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
    return found.outcome({**details, "kept": found.name}, proves=True)


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


class Step(NamedTuple):
    """One annealing: what it goes on from, its moves, and whether it makes pairs."""

    start: Literal["greedy", "hot", "reached", "tempering"]
    moves: int
    pairs: bool


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
        self.aligned = _blocks(durations, pairs=False)
        self.blocks = _blocks(durations, pairs=True)
        n = len(durations.gpus)
        position, load = np.zeros((n, 2), dtype=np.int64), np.zeros(self.instance.gpus)
        order = np.lexsort((-durations.inside, -durations.gpus)).astype(np.int64)
        place_greedily(self.aligned, order, position, load)
        self.now = Positions(position, load, random_state(self.seed))
        self.best, self.best_position = float(load.max()), position.copy()
        self.reached, self.reached_position = np.inf, position.copy()
        self.greedy = position.copy()
        self.targets = np.random.default_rng(self.seed)
        self.tempering: Tempering | None = None

    def run(self, most: int | None, deadline: Deadline, gap: float) -> bool:
        """Anneal until the moves or the time are spent or the bound is met; whether time cut it."""
        most = MOVES if most is None and deadline.limit is None else most
        began, target = Deadline(), FIRST_TARGET * self.bound
        for step in self._steps(lambda: self._left(most, deadline, began)):
            if self.done(gap) or (most is not None and self.moves >= most):
                return False
            moves = step.moves if most is None else min(step.moves, most - self.moves)
            if step.start == "tempering":
                if not self._temper(moves, deadline):
                    return True
                continue
            if step.start != "reached":
                target, self.reached = FIRST_TARGET * self.bound, np.inf
                if step.start == "greedy":
                    self.now.position[:] = self.greedy
            else:
                low, high = RESTART
                share = self.targets.uniform(low, high)
                target = self.bound + (self.reached - self.bound) * share
                self.now.position[:] = self.reached_position
            blocks = self.blocks if step.pairs else self.aligned
            target = min(target, self.reached - self._least_step())
            before = self.moves
            if not self._anneal(blocks, target, moves, deadline, HEATS[step.start == "hot"]):
                return True
            self.moves = max(self.moves, before + 1)  # within its target already, it made none
            self.restarts += 1
        return False

    def _steps(self, left: Callable[[], int]) -> Iterator[Step]:
        """What to anneal next, for ever; `left` gives the moves that are left.

        Few jobs: cycles that each forget the one before, since a cycle keeps where its widest jobs
        stand, and in turn tempering that goes on from the best. Many: one from scratch after the
        other, each longer, the last as long as may be.
        """
        jobs = len(self.best_position)
        least = length = max(FEWEST_MOVES, MOVES_A_JOB * jobs)
        while jobs < MANY_JOBS:
            for times, shorter, pairs in CYCLES:
                yield Step("hot", times * least, pairs) if times else Step("greedy", least, pairs)
                yield from [Step("reached", least, pairs)] * shorter
            yield Step("tempering", TEMPERED * least, pairs=True)
        yield Step("greedy", least, False)
        while True:
            rest = left()
            last = rest < GROWTH * length
            length = max(int(LAST * rest), least) if last else length
            yield Step("hot", length, self.restarts > 1)
            for count in range(1 + (rest - length if last else length) // least):
                yield Step("reached", least, count % 2 == 1)
            length *= GROWTH

    def found(self, most: int | None, deadline: Deadline, gap: float) -> SearchResult:
        """Anneal as `run` does, and say what came of it."""
        try:
            cut = self.run(most, deadline, gap)
        except OutOfTimeError:
            cut = True
        return SearchResult(self.schedule(), cut, {"moves": self.moves, "restarts": self.restarts})

    def done(self, gap: float) -> bool:
        """Whether the incumbent meets the bound."""
        return self.best - self.bound <= max(gap, 1e-9) * self.best

    def schedule(self) -> Schedule:
        """The best positions as a schedule: aligned jobs first, widest first; paired ones last."""
        durations, instance = durations_of(self.instance), self.instance
        free = np.zeros(instance.gpus)
        server_of = np.repeat(np.arange(len(instance.servers)), instance.servers)
        starts: list[float] = [0.0] * len(instance.jobs)
        placed: list[dict[int, int]] = [{} for _ in instance.jobs]
        first, gap = self.best_position.T
        widest_outside = np.where(gap > 0, durations.gpus, -durations.gpus)
        for j in np.lexsort((np.arange(len(starts)), widest_outside, gap > 0)).tolist():
            gpus = int(durations.gpus[j])
            at = first[j] + np.arange(gpus)
            at[gpus // 2 :] += gap[j]
            starts[j] = float(free[at].max())
            placed[j] = {int(server_of[first[j]]): gpus}
            free[at] = starts[j] + durations.inside[j]
        return Schedule(tuple(starts), tuple(placed))

    def _least_step(self) -> float:
        return 1.0 if self.instance.slotted else 1e-6 * self.best

    def _left(self, most: int | None, deadline: Deadline, began: Deadline) -> int:
        """Moves that are left, by number or at the pace since they began."""
        if most is not None:
            return most - self.moves
        pace = self.moves / max(began.spent, 1e-3)
        return int(pace * (deadline.left or 0.0)) if self.moves else 2**62

    def _anneal(
        self,
        blocks: Blocks,
        target: float,
        total: int,
        deadline: Deadline,
        heat: tuple[float, float],
    ) -> bool:
        """One annealing towards a target; false when the time was up."""
        (hot, cold), scale = heat, self._scale()
        loads_of(blocks, self.now.position, self.now.load)
        chunk, done = min(CHUNK, -(-total // FEWEST_STEPS)), 0
        while done < total:
            if deadline.is_over:
                return False
            temperature = (hot * scale * (cold / hot) ** (done / total)) ** 2
            moves = min(chunk, total - done)
            made = anneal(blocks, self.now, target, temperature, moves)
            self.moves += made
            done += max(made, 1)
            self._keep(self.now)
            if made < moves:  # met: ask for more
                if self.best <= self.bound:
                    return True
                target = max(self.bound, min(target, self.reached) - self._least_step())
        return True

    def _temper(self, total: int, deadline: Deadline) -> bool:
        """Let the copies go on, at first from the best; false when the time was up."""
        if self.tempering is None:
            self.tempering = Tempering(self.blocks, self.best_position, self._scale(), self.seed)
        most = self.moves + total
        while self.moves < most and self.best > self.bound:
            goal = max(self.bound, min(FIRST_TARGET * self.bound, self.best - self._least_step()))
            for now, made in self.tempering.turns(goal, most - self.moves):
                if deadline.is_over:
                    return False
                self.moves += made
                self._keep(now)
                if self.moves >= most:
                    break
            self.tempering.exchange(goal)
        return True

    def _scale(self) -> float:
        """What temperatures are shares of, in slots."""
        return max(self.bound, FEWEST_SLOTS) if self.instance.slotted else self.bound

    def _keep(self, now: Positions) -> None:
        """Keep positions if they are the best so far."""
        highest = float(now.load.max())
        if highest < self.reached:
            self.reached = highest
            self.reached_position[:] = now.position
        if highest < self.best:
            self.best = highest
            self.best_position[:] = now.position
            if highest <= self.instance.latest_end:
                self.progress.report(highest)


def _blocks(durations: Durations, *, pairs: bool) -> Blocks:
    gpus, servers = durations.gpus, durations.instance.servers
    widths = np.unique(gpus)
    kind = np.searchsorted(widths, gpus)
    job = np.lexsort((durations.inside, kind)).astype(np.int64)
    bases = np.concatenate(([0], np.cumsum(servers)))
    by_width = [
        [(b, gap) for b, gap in _of_width(int(w), servers, bases.tolist()) if pairs or gap == 0]
        for w in widths
    ]
    return Blocks(
        width=gpus,
        duration=durations.inside,
        kind=kind.astype(np.int64),
        widths=widths,
        first_block=_offsets([len(blocks) for blocks in by_width]),
        block=np.array([b for blocks in by_width for b, _ in blocks], dtype=np.int64),
        gap=np.array([gap for blocks in by_width for _, gap in blocks], dtype=np.int64),
        first_job=_offsets(np.bincount(kind, minlength=len(widths)).tolist()),
        job=job,
        rank=np.argsort(job).astype(np.int64),
        base=np.repeat(bases[:-1], servers).astype(np.int64),
        end=np.repeat(bases[1:], servers).astype(np.int64),
    )


def _of_width(width: int, servers: tuple[int, ...], bases: list[int]) -> list[tuple[int, int]]:
    """First GPU and gap of the blocks of a width: aligned ones, and pairs of half blocks."""
    half, found = width // 2, []
    for base, size in zip(bases, servers, strict=False):
        found += [(base + at, 0) for at in range(0, size - width + 1, width)]
        gap = size // 2 - half
        if half > 0 and gap > 0:
            found += [(base + at, gap) for at in range(0, size // 2 - half + 1, half)]
    return found


def _offsets(counts: list[int]) -> Ints:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
