"""Method ``nested``: annealing of jobs on blocks of GPUs inside servers, so nothing contends.

Applies when every size is a power of two and fits one server. A job stands on an aligned block of
its GPUs, or on a pair of half blocks at one place of its server's two halves. Aligned blocks nest,
and so do pairs: if each GPU runs its aligned jobs first, widest first, and its paired jobs last,
widest last, no GPU waits. The makespan is then the largest sum of durations on a GPU, and there is
nothing to sequence. Annealed is the cost, the sum over GPUs of max(0, load - target)^2; the target
starts just above the certified bound and falls as it is met.

Cycles, each independent of the one before, have one long annealing from a high temperature and
short ones from the best loads that the cycle reached. After a round of cycles, parallel tempering
(Swendsen and Wang, Physical Review Letters 57, 1986) continues from the best schedule: copies at
fixed temperatures exchange their positions. With many jobs there is no tempering, and each long
annealing has more moves than the one before. Where few servers hold the widest jobs it pays to
span, so a short local search comes first and the better of the two schedules is kept.

Guarantee: never worse than longest-first, nor than blocks filled greedily widest first. A makespan
that meets the bound is optimal. Anytime; equal (seed, iterations) give equal schedules. Complexity:
O(width) a move, millions of moves a second. Beyond the paper. Where blocks do not nest, the method
runs local-search, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from optsched.deadline import Deadline, OutOfTimeError
from optsched.makespan.bounds.durations import Durations, durations_of
from optsched.makespan.contention import Ints, Schedule
from optsched.makespan.heuristics.list_scheduling import by_longest
from optsched.makespan.heuristics.local_search import local_search, search
from optsched.makespan.heuristics.nested_kernel import (
    PARAMETERS,
    Blocks,
    Positions,
    anneal,
    loads_of,
)
from optsched.makespan.heuristics.random_numbers import random_state
from optsched.makespan.incumbent import SEARCH_SHARE, Incumbent, SearchResult
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.options import MakespanOptions
from optsched.progress import Progress
from optsched.result import Outcome, Settings


def nested(instance: MakespanInstance, options: MakespanOptions, settings: Settings) -> Outcome:
    """Schedule by nested annealing, or by local-search where blocks do not nest."""
    if not applies(instance):
        return replace(local_search(instance, options, settings), chosen="local-search")
    incumbent = Incumbent(instance, settings)
    details: Mapping[str, Any] = {"moves": 0, "restarts": 0}
    with incumbent.working():
        incumbent.take(by_longest(instance), "local search")
        incumbent.bounded(settings.deadline.share(SEARCH_SHARE))
        incumbent.take(_first_search(instance, settings, incumbent.bound.value), "local search")
        met = incumbent.value <= incumbent.bound.value or incumbent.impossible
        incumbent.cut = not met and settings.deadline.is_over
        if not met and not incumbent.cut:
            annealing = Annealing(
                instance, incumbent.bound.value, settings.seed, progress=settings.progress
            )
            result = annealing.result(settings.iterations, settings.deadline, settings.gap)
            details = result.details
            incumbent.take(result, "annealing")
    return incumbent.outcome({**details, "kept": incumbent.name}, proves=True)


def applies(instance: MakespanInstance) -> bool:
    """Whether every size is a power of two, fits one server and makes progress there."""
    largest = max(instance.servers)
    sizes_nest = all(
        job.gpus & (job.gpus - 1) == 0 and job.gpus <= largest for job in instance.jobs
    )
    return sizes_nest and bool(np.isfinite(durations_of(instance).inside).all())


def _first_search(instance: MakespanInstance, settings: Settings, bound: float) -> SearchResult:
    """A short local search, which may span servers."""
    limit, moves = settings.time_limit, settings.iterations
    most = max(200, PARAMETERS.start_effort // len(instance.jobs))
    if moves is not None or limit is None:
        moves = most if moves is None else min(moves, most)
    if limit is not None:
        limit = min(PARAMETERS.start_share * limit, settings.deadline.left or 0.0)
    return search(instance, replace(settings, time_limit=limit, iterations=moves), bound)


class Step(NamedTuple):
    """One annealing or tempering: its start, its moves, and whether jobs may stand in pairs."""

    start: Literal["greedy", "hot", "reached", "tempering"]
    moves: int
    pairs: bool


class Annealing:
    """Positions of an instance's jobs, annealed towards a bound in slots."""

    def __init__(
        self,
        instance: MakespanInstance,
        bound: float,
        seed: int,
        *,
        progress: Progress | None = None,
    ) -> None:
        self.instance, self.bound, self.seed = instance, bound, seed
        self.progress = progress or Progress()
        durations = durations_of(instance)
        self.aligned, self.paired = (_blocks(durations, pairs=pairs) for pairs in (False, True))
        self.greedy = _greedy_positions(self.aligned, durations)
        self.now = Positions(self.greedy.copy(), np.zeros(instance.gpus), random_state(seed))
        loads_of(self.aligned, self.greedy, self.now.load)
        self.moves = self.restarts = 0
        self.best, self.best_position = float(self.now.load.max()), self.greedy.copy()
        self.reached, self.reached_position = np.inf, self.greedy.copy()
        self.targets = np.random.default_rng(seed)
        self.tempering: Tempering | None = None
        # Temperatures are shares of this many slots.
        self.scale = max(bound, PARAMETERS.fewest_slots) if instance.slotted else bound

    def result(self, most: int | None, deadline: Deadline, gap: float) -> SearchResult:
        """Anneal until the moves or the time are spent, or the bound is met at the gap."""
        if most is None and deadline.limit is None:
            most = PARAMETERS.moves
        try:
            cut = not self._run(most, deadline, gap)
        except OutOfTimeError:
            cut = True
        return SearchResult(self.schedule(), cut, {"moves": self.moves, "restarts": self.restarts})

    def _run(self, most: int | None, deadline: Deadline, gap: float) -> bool:
        """Make one step after the other; False if the time was up."""
        began, target = Deadline(), PARAMETERS.first_target * self.bound
        for step in self._steps(lambda: self._moves_left(most, deadline, began)):
            is_met = self.best - self.bound <= max(gap, 1e-9) * self.best
            if is_met or (most is not None and self.moves >= most):
                return True
            moves = step.moves if most is None else min(step.moves, most - self.moves)
            if step.start == "tempering":
                if not self._temper(moves, deadline):
                    return False
                continue
            if step.start == "reached":
                share = self.targets.uniform(*PARAMETERS.restart)
                target = self.bound + (self.reached - self.bound) * share
                self.now.position[:] = self.reached_position
            else:
                target, self.reached = PARAMETERS.first_target * self.bound, np.inf
                if step.start == "greedy":
                    self.now.position[:] = self.greedy
            target = min(target, self.reached - self._least_step())
            blocks = self.paired if step.pairs else self.aligned
            heat = PARAMETERS.hot if step.start == "hot" else PARAMETERS.warm
            if not self._anneal(blocks, target, moves, deadline, heat):
                return False
            self.restarts += 1
        return True

    def _steps(self, moves_left: Callable[[], int]) -> Iterator[Step]:
        """Yield the steps of the search without end."""
        jobs = len(self.best_position)
        short = length = max(PARAMETERS.fewest_moves, PARAMETERS.moves_per_job * jobs)
        while jobs < PARAMETERS.many_jobs:
            for multiple, count, pairs in PARAMETERS.cycles:
                yield Step("hot" if multiple else "greedy", (multiple or 1) * short, pairs)
                yield from [Step("reached", short, pairs)] * count
            yield Step("tempering", PARAMETERS.tempering * short, pairs=True)
        # Many jobs: a cycle takes too long to be repeated, and a longer annealing gains more.
        yield Step("greedy", short, pairs=False)
        while True:
            left = moves_left()
            last = left < PARAMETERS.growth * length
            length = max(int(PARAMETERS.last_share * left), short) if last else length
            yield Step("hot", length, self.restarts > 1)
            for count in range(1 + (left - length if last else length) // short):
                yield Step("reached", short, count % 2 == 1)
            length *= PARAMETERS.growth

    def _moves_left(self, most: int | None, deadline: Deadline, began: Deadline) -> int:
        """Moves left: by their limit, or by the time limit at the pace so far."""
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
        """One annealing towards a target that falls as it is met; False if the time was up."""
        hot, cold = heat
        loads_of(blocks, self.now.position, self.now.load)
        per_temperature = min(
            PARAMETERS.moves_per_temperature, -(-total // PARAMETERS.fewest_temperatures)
        )
        done = 0
        while done < total:
            if deadline.is_over:
                return False
            temperature = (hot * self.scale * (cold / hot) ** (done / total)) ** 2
            moves = min(per_temperature, total - done)
            count = anneal.for_size(16 * moves)(blocks, self.now, target, temperature, moves)
            self.moves += max(count, 1)
            done += max(count, 1)
            self._keep_best(self.now)
            if count < moves:  # the target is met
                if self.best <= self.bound:
                    return True
                target = max(self.bound, min(target, self.reached) - self._least_step())
        return True

    def _temper(self, total: int, deadline: Deadline) -> bool:
        """Continue the tempering, at first from the best positions; False if the time was up."""
        if self.tempering is None:
            self.tempering = Tempering(self.paired, self.best_position, self.scale, self.seed)
        end, first_target = self.moves + total, PARAMETERS.first_target * self.bound
        while self.moves < end and self.best > self.bound:
            target = max(self.bound, min(first_target, self.best - self._least_step()))
            for now, count in self.tempering.turns(target, end - self.moves):
                self.moves += count
                self._keep_best(now)
                if deadline.is_over:
                    return False
                if self.moves >= end:
                    break
            self.tempering.exchange(target)
        return True

    def _least_step(self) -> float:
        return 1.0 if self.instance.slotted else 1e-6 * self.best

    def _keep_best(self, now: Positions) -> None:
        highest = float(now.load.max())
        if highest < self.reached:
            self.reached = highest
            self.reached_position[:] = now.position
        if highest < self.best:
            self.best = highest
            self.best_position[:] = now.position
            if highest <= self.instance.latest_end:
                self.progress.report(highest)

    def schedule(self) -> Schedule:
        """Best positions as a schedule: aligned jobs first, widest first; paired ones last."""
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


class Tempering:
    """Copies of the positions, one for each temperature, that exchange their temperatures."""

    def __init__(self, blocks: Blocks, start: Ints, scale: float, seed: int) -> None:
        self.blocks, copies = blocks, PARAMETERS.copies
        shares = np.geomspace(PARAMETERS.coldest, PARAMETERS.hottest, copies)
        self.temperatures: list[float] = np.square(shares * scale).tolist()
        self.random = np.random.default_rng((seed, copies))
        load = np.zeros(len(blocks.base))
        loads_of(blocks, start, load)
        self.copies = [
            Positions(start.copy(), load.copy(), random_state(copy_seed))
            for copy_seed in self.random.integers(2**63, size=copies).tolist()
        ]
        self.odd = False

    def turns(self, target: float, most: int) -> Iterator[tuple[Positions, int]]:
        """Anneal each copy in turn; yield its positions and the number of its moves.

        All of them make at most `most` moves, but at least one each.
        """
        moves = min(PARAMETERS.moves_per_temperature, max(1, most // len(self.copies)))
        for now, temperature in zip(self.copies, self.temperatures, strict=True):
            count = anneal.for_size(16 * moves)(self.blocks, now, target, temperature, moves)
            yield now, max(1, count)

    def exchange(self, target: float) -> None:
        """Exchange the copies of neighbouring temperatures, even and odd pairs by turns.

        An exchange that raises the sum of cost / temperature by d is made with probability
        min(1, exp(-d)), so that each temperature keeps its distribution.
        """
        costs = [float(np.square(np.maximum(c.load - target, 0.0)).sum()) for c in self.copies]
        for k in range(int(self.odd), len(self.copies) - 1, 2):
            colder, hotter = self.temperatures[k : k + 2]
            gain = (costs[k] - costs[k + 1]) * (1.0 / colder - 1.0 / hotter)
            if gain >= 0.0 or self.random.random() < math.exp(gain):
                self.copies[k], self.copies[k + 1] = self.copies[k + 1], self.copies[k]
        self.odd = not self.odd


def _greedy_positions(aligned: Blocks, durations: Durations) -> Ints:
    """Jobs widest first, then longest first, each on the block whose fullest GPU is least full."""
    load = np.zeros(durations.instance.gpus)
    position = np.zeros((len(aligned.width), 2), dtype=np.int64)
    for j in np.lexsort((-durations.inside, -durations.gpus)).tolist():
        k, w = int(aligned.kind[j]), int(aligned.width[j])
        blocks = aligned.block[aligned.first_block[k] : aligned.first_block[k + 1]]
        fullest = load[blocks[:, None] + np.arange(w)].max(axis=1)
        first = int(blocks[fullest.argmin()])
        position[j] = first, 0
        load[first : first + w] += aligned.duration[j]
    return position


def _blocks(durations: Durations, *, pairs: bool) -> Blocks:
    gpus, servers = durations.gpus, durations.instance.servers
    widths = np.unique(gpus)
    kind = np.searchsorted(widths, gpus)
    job = np.lexsort((durations.inside, kind)).astype(np.int64)
    ends = np.cumsum(servers)
    by_width = [
        [(first, gap) for first, gap in _of_width(int(w), servers) if pairs or gap == 0]
        for w in widths
    ]
    return Blocks(
        width=gpus,
        duration=durations.inside,
        kind=kind.astype(np.int64),
        widths=widths,
        first_block=_offsets([len(blocks) for blocks in by_width]),
        block=np.array([first for blocks in by_width for first, _ in blocks], dtype=np.int64),
        gap=np.array([gap for blocks in by_width for _, gap in blocks], dtype=np.int64),
        first_job=_offsets(np.bincount(kind, minlength=len(widths)).tolist()),
        job=job,
        rank=np.argsort(job).astype(np.int64),
        base=np.repeat(ends - servers, servers).astype(np.int64),
        end=np.repeat(ends, servers).astype(np.int64),
    )


def _of_width(width: int, servers: tuple[int, ...]) -> list[tuple[int, int]]:
    """First GPU and gap of the blocks of a width: aligned ones, and pairs of half blocks."""
    half, base = width // 2, 0
    blocks: list[tuple[int, int]] = []
    for size in servers:
        blocks += [(base + at, 0) for at in range(0, size - width + 1, width)]
        gap = size // 2 - half
        if half > 0 and gap > 0:
            blocks += [(base + at, gap) for at in range(0, size // 2 - half + 1, half)]
        base += size
    return blocks


def _offsets(counts: list[int]) -> Ints:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
