"""Method ``nested``: annealing of jobs on blocks of GPUs inside servers, so nothing contends.

Applies when every size is a power of two and fits one server. A job stands on an aligned block of
its GPUs, or on a pair of half blocks at one place of its server's two halves. Aligned blocks nest,
and so do pairs: if each GPU runs its aligned jobs first, widest first, and its paired jobs last,
widest last, no GPU waits, and the makespan is the largest sum of durations on a GPU. The cost is
the sum over GPUs of max(0, load - target)^2; the target falls from above the bound as it is met.

Each cycle has one long annealing from a high temperature and short ones from the best loads that
the cycle reached. After a round of cycles, parallel tempering (Swendsen and Wang, Physical Review
Letters 57, 1986) continues from the best schedule: copies at fixed temperatures exchange their
positions. Where few servers hold the widest jobs it pays to span, so a short local search comes
first and the better of the two schedules is kept.

Guarantee: never worse than longest-first, nor than blocks filled greedily widest first. Anytime;
equal (seed, iterations) give equal schedules. Complexity: O(width) a move, but the rare moves of
blocks scan all jobs. Beyond the paper. Where blocks do not nest, local-search runs instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.deadline import Deadline, OutOfTimeError
from optsched.kernels import kernel
from optsched.makespan.bounds.durations import Durations, durations_of
from optsched.makespan.contention import Floats, Ints, Schedule
from optsched.makespan.heuristics.list_scheduling import by_longest
from optsched.makespan.heuristics.local_search import local_search, search
from optsched.makespan.heuristics.random_numbers import RandomState, draw, random_state
from optsched.makespan.incumbent import SEARCH_SHARE, Incumbent, SearchResult
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.options import MakespanOptions
from optsched.progress import Progress
from optsched.result import Outcome, Settings


@dataclass(frozen=True)
class AnnealingParameters:
    """Parameters of the annealing, tuned on 160 jobs on 20 servers for 60 s (docs/benchmarks.md).

    Temperatures are given by their square roots, as shares of the bound.
    """

    moves: int = 20_000_000
    """Moves when neither time nor iterations are limited."""
    moves_per_job: int = 10_000
    fewest_moves: int = 200_000
    """Moves of a short annealing, for each job and at least."""
    cycles: tuple[tuple[int, int, bool], ...] = (
        (0, 6, False), (1, 6, True), (4, 3, True), (4, 3, False),
    )  # fmt: skip
    """One round of (moves of the first annealing, in short ones, 0 for a short one from the greedy
    positions; number of short annealings; whether jobs may stand in pairs)."""
    tempering: int = 14
    """Moves of the tempering after a round, in short annealings: half of the round's moves."""
    hot: tuple[float, float] = (2e-2, 1e-3)
    warm: tuple[float, float] = (8e-3, 4e-4)
    """First and last temperature from scratch, and from a start whose widest jobs mostly stay."""
    copies: int = 12
    coldest: float = 4e-3
    hottest: float = 2e-2
    """Number and range of the tempering's temperatures, a geometric sequence."""
    fewest_slots: float = 200.0
    """Slots are whole, so temperatures are no lower than for a bound of so many."""
    first_target: float = 1.004
    """First target as a multiple of the bound."""
    restart: tuple[float, float] = (0.1, 0.7)
    """Range of a short annealing's target, as a share between the bound and the load reached."""
    relocate: float = 0.35
    swap: float = 0.95
    exchange: float = 0.953
    """Cumulative shares of relocations, swaps of two jobs of one width and exchanges of two blocks;
    the rest swaps a job with two of half its width. Without exchanges two instances ended at 0.9
    and 3.9% above the bound, with them at 0.7 and 1.4%, after 60 million moves."""
    near: float = 0.9
    """Share of the swaps with a job of similar duration: late in a run, others are refused."""
    most_scanned: float = 800.0
    """The last two moves scan all jobs; with more than so many, fewer are made in proportion."""
    moves_per_temperature: int = 20_000
    fewest_temperatures: int = 200
    start_share: float = 0.03
    start_effort: int = 400_000
    """Local search beforehand: most of the time limit, and moves times jobs."""


PARAMETERS = AnnealingParameters()
RELOCATE, SWAP, EXCHANGE = PARAMETERS.relocate, PARAMETERS.swap, PARAMETERS.exchange
NEAR, MOST_SCANNED = PARAMETERS.near, PARAMETERS.most_scanned
REJECTED = math.inf
LARGEST_DRAW = 37.0
"""Above -log(1 - u) for every u < 1 of 53 bits: no rise of more such temperatures is accepted."""
ROUNDING = 1.001  # margin over the rounding errors that the cost sums up


class Blocks(NamedTuple):
    """Jobs, and the blocks they may stand on.

    ``kind[j]`` is the index of job j's width in ``widths``. From ``first_block[k]`` on stand the
    blocks of kind k: first GPU, and ``gap`` between the halves (0 for aligned ones); from
    ``first_job[k]`` on its jobs, shortest first. ``job[rank[j]]`` is j. ``base`` and ``end`` give
    each GPU its server's first GPU and the one after its last.
    """

    width: Ints
    duration: Floats
    kind: Ints
    widths: Ints
    first_block: Ints
    block: Ints
    gap: Ints
    first_job: Ints
    job: Ints
    rank: Ints
    base: Ints
    end: Ints


class Positions(NamedTuple):
    """Present positions: first GPU and gap of each job's block (n, 2), and the load of each GPU."""

    position: Ints
    load: Floats
    random: RandomState


@register_jitable
def _cost(load: float, target: float) -> float:
    return (load - target) * (load - target) if load > target else 0.0


@register_jitable
def _add(load: Floats, first: int, width: int, by: float) -> None:
    for g in range(first, first + width):
        load[g] += by


@register_jitable
def _rise(load: Floats, first: int, width: int, by: float, target: float) -> float:
    """Change of cost if `width` GPUs from `first` on get `by` more."""
    change = 0.0
    for g in range(first, first + width):
        change += _cost(load[g] + by, target) - _cost(load[g], target)
    return change


@register_jitable
def _add_to_block(load: Floats, first: int, gap: int, width: int, by: float) -> None:
    half = width // 2 if gap > 0 else width
    _add(load, first, half, by)
    _add(load, first + half + gap, width - half, by)


@register_jitable
def _rise_of_block(
    load: Floats, first: int, gap: int, width: int, by: float, target: float
) -> float:
    half = width // 2 if gap > 0 else width
    change = _rise(load, first, half, by, target)
    return change + _rise(load, first + half + gap, width - half, by, target)


@register_jitable
def _partner(first: int, end: int, rank: int, uniform: float) -> int:
    """Rank of another job among those of one width, mostly one of similar duration, or -1.

    It is drawn as often for a job as that job is for it, as the Metropolis rule requires.
    """
    count = end - first
    if uniform < NEAR:
        side = 2.0 * uniform / NEAR - 1.0
        steps = 1 + int(side * side * count)
        at = rank + (steps if side > 0.0 else -steps)
        return at if first <= at < end else -1
    return first + min(int((uniform - NEAR) / (1.0 - NEAR) * count), count - 1)


@register_jitable
def _exchange(blocks: Blocks, now: Positions, target: float, allowed: float) -> float:
    """Swap the aligned jobs that two aligned blocks of one width hold."""
    position, load, random = now.position, now.load, now.random
    k = int(draw(random) * len(blocks.widths))
    w = blocks.widths[k]
    count = blocks.first_block[k + 1] - blocks.first_block[k]
    one = blocks.first_block[k] + int(draw(random) * count)
    two = blocks.first_block[k] + int(draw(random) * count)
    if one == two or blocks.gap[one] > 0 or blocks.gap[two] > 0:
        return REJECTED
    a, b = blocks.block[one], blocks.block[two]
    # What GPU i of block a gains, and GPU i of block b loses.
    gain, shift = np.zeros(w), np.zeros(len(position), np.int64)
    for j in range(len(position)):
        if blocks.width[j] <= w and position[j, 1] == 0:
            if a <= position[j, 0] < a + w:
                _add(gain, position[j, 0] - a, blocks.width[j], -blocks.duration[j])
                shift[j] = b - a
            elif b <= position[j, 0] < b + w:
                _add(gain, position[j, 0] - b, blocks.width[j], blocks.duration[j])
                shift[j] = a - b
    change = 0.0
    for i in range(w):
        change += _rise(load, a + i, 1, gain[i], target)
        change += _rise(load, b + i, 1, -gain[i], target)
    if change > allowed:
        return REJECTED
    load[a : a + w] += gain
    load[b : b + w] -= gain
    position[:, 0] += shift
    return change


@register_jitable
def _split(blocks: Blocks, now: Positions, j: int, target: float, allowed: float) -> float:
    """Swap a job twice as wide as j with j and, if there is one, a job in the sibling block."""
    position, load, random = now.position, now.load, now.random
    half, k = blocks.width[j], blocks.kind[j]
    if k + 1 >= len(blocks.widths) or blocks.widths[k + 1] != 2 * half or position[j, 1] > 0:
        return REJECTED
    own = position[j, 0]
    base = blocks.base[own]
    b = base + ((own - base) & -(2 * half))  # the wide block around j
    if b + 2 * half > blocks.end[own]:
        return REJECTED
    first, end = blocks.first_job[k + 1], blocks.first_job[k + 2]
    wide = blocks.job[first + int(draw(random) * (end - first))]
    a = position[wide, 0]
    if a == b or position[wide, 1] > 0:
        return REJECTED
    sibling = b if own != b else b + half
    other = _job_at(blocks, position, k, sibling, random)
    here = blocks.duration[wide] - blocks.duration[j]
    there = blocks.duration[wide] - (0.0 if other < 0 else blocks.duration[other])
    halves = ((own, here), (sibling, there), (a + own - b, -here), (a + sibling - b, -there))
    change = 0.0
    for at, by in halves:
        change += _rise(load, at, half, by, target)
    if change > allowed:
        return REJECTED
    for at, by in halves:
        _add(load, at, half, by)
    position[wide, 0], position[j, 0] = b, a + own - b
    if other >= 0:
        position[other, 0] = a + sibling - b
    return change


@register_jitable
def _job_at(blocks: Blocks, position: Ints, kind: int, first: int, random: RandomState) -> int:
    """Draw a job of a kind from an aligned block, or -1; sometimes -1 though there is one."""
    job, seen = -1, 1 if draw(random) < 0.3 else 0
    for i in range(blocks.first_job[kind], blocks.first_job[kind + 1]):
        j = blocks.job[i]
        if position[j, 0] == first and position[j, 1] == 0:
            seen += 1
            if draw(random) * seen < 1.0:
                job = j
    return job


@kernel
def anneal(blocks: Blocks, now: Positions, target: float, temperature: float, moves: int) -> int:
    """Make up to `moves` moves at one temperature until no load exceeds the target.

    A move that raises the cost by at most -temperature log(1 - u) is made: Metropolis's rule. The
    cost is in slots squared, and so is the temperature. Returns the number of moves.
    """
    # Relocation and swap are not in helpers: at a call, numba counts references to every array of
    # `blocks` and `now`, which takes three times as long as the move.
    position, load, random = now.position, now.load, now.random
    width, duration, kind, rank = blocks.width, blocks.duration, blocks.kind, blocks.rank
    first_block, block, gap = blocks.first_block, blocks.block, blocks.gap
    first_job, job, base = blocks.first_job, blocks.job, blocks.base
    n = len(position)
    cost = 0.0
    for g in range(len(load)):
        cost += _cost(load[g], target)
    count = 0
    while count < moves and cost > 0.0:
        count += 1
        drawn, move, j = draw(random), draw(random), int(draw(random) * n)
        if move >= SWAP:
            if draw(random) * n <= MOST_SCANNED:
                allowed = -temperature * math.log(1.0 - drawn)
                if move < EXCHANGE:
                    change = _exchange(blocks, now, target, allowed)
                else:
                    change = _split(blocks, now, j, target, allowed)
                if change < REJECTED:
                    cost += change
            continue
        # Propose: job `giver` leaves block b for block a; in a swap, the shorter job of a leaves it
        # for b, and the GPUs of a gain the difference of the durations.
        k, shorter = kind[j], -1
        if move < RELOCATE:
            at = first_block[k] + int(draw(random) * (first_block[k + 1] - first_block[k]))
            giver, a, gap_a, by = j, block[at], gap[at], duration[j]
        else:
            at = _partner(first_job[k], first_job[k + 1], rank[j], draw(random))
            if at < 0:
                continue
            giver, shorter = job[at], j
            if duration[giver] < duration[shorter]:
                giver, shorter = shorter, giver
            a, gap_a = position[shorter, 0], position[shorter, 1]
            by = duration[giver] - duration[shorter]
        b, gap_b, w = position[giver, 0], position[giver, 1], width[giver]
        if (a == b and gap_a == gap_b) or by == 0.0:
            continue
        overlap = gap_a != gap_b and base[a] == base[b]
        # Reject early: the rise on one GPU is above the whole cost, which is the most that b can
        # save, and any rise that the temperature allows. Late in an annealing, most moves end here.
        rise = _cost(load[a] + by, target) - _cost(load[a], target)
        if not overlap and rise > ROUNDING * (cost + LARGEST_DRAW * temperature):
            continue
        allowed = -temperature * math.log(1.0 - drawn)
        change = _rise_of_block(load, b, gap_b, w, -by, target)
        if overlap:
            _add_to_block(load, b, gap_b, w, -by)
            rise = _cost(load[a] + by, target) - _cost(load[a], target)
        accepted = change + rise <= allowed
        if accepted:
            change += _rise_of_block(load, a, gap_a, w, by, target)
            accepted = change <= allowed
        if overlap != accepted:  # b has yet to lose its load, or gets it back
            _add_to_block(load, b, gap_b, w, -by if accepted else by)
        if accepted:
            _add_to_block(load, a, gap_a, w, by)
            position[giver, 0], position[giver, 1] = a, gap_a
            if shorter >= 0:
                position[shorter, 0], position[shorter, 1] = b, gap_b
            cost += change
    return count


def loads_of(blocks: Blocks, position: Ints, load: Floats) -> None:
    """Write the load of every GPU, in slots."""
    load[:] = 0.0
    for j, (first, gap) in enumerate(position.tolist()):
        _add_to_block(load, first, gap, int(blocks.width[j]), blocks.duration[j])


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
        incumbent.cut, bound = False, incumbent.bound.value
        if not (incumbent.met or incumbent.impossible):
            settings.deadline.check()
            annealing = Annealing(instance, bound, settings.seed, settings.progress)
            result = annealing.result(settings.iterations, settings.deadline, settings.gap)
            details = result.details
            incumbent.take(result, "annealing")
    return incumbent.outcome({**details, "kept": incumbent.name}, proves=True)


def applies(instance: MakespanInstance) -> bool:
    """Whether every size is a power of two, fits one server and makes progress there."""
    largest = max(instance.servers)
    sizes_nest = all(job.gpus.bit_count() == 1 and job.gpus <= largest for job in instance.jobs)
    return sizes_nest and bool(np.isfinite(durations_of(instance).inside).all())


def _first_search(instance: MakespanInstance, settings: Settings, bound: float) -> SearchResult:
    """A short local search, which may span servers."""
    moves = max(200, PARAMETERS.start_effort // len(instance.jobs))
    moves = moves if settings.iterations is None else min(moves, settings.iterations)
    stop = settings.deadline.share(PARAMETERS.start_share)
    return search(instance, replace(settings, iterations=moves), bound, stop)


class Annealing:
    """Positions of an instance's jobs, annealed towards a bound in slots."""

    def __init__(
        self,
        instance: MakespanInstance,
        bound: float,
        seed: int,
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
        self.deadline = Deadline()
        # Temperatures are shares of this many slots.
        self.scale = max(bound, PARAMETERS.fewest_slots) if instance.slotted else bound

    def result(self, max_moves: float | None, deadline: Deadline, gap: float) -> SearchResult:
        """Anneal until the moves or the time are spent, or the bound is met to the gap."""
        if max_moves is None:
            max_moves = PARAMETERS.moves if deadline.limit is None else math.inf
        self.deadline, cut = deadline, False
        try:
            for start, length, pairs in self._steps():
                is_met = self.best - self.bound <= max(gap, 1e-9) * self.best
                if is_met or self.moves >= max_moves:
                    break
                moves = int(min(length, max_moves - self.moves))
                if start == "tempering":
                    self._temper(moves)
                else:
                    self._anneal(start, moves, self.paired if pairs else self.aligned)
        except OutOfTimeError:
            cut = True
        return SearchResult(self.schedule(), cut, {"moves": self.moves, "restarts": self.restarts})

    def _steps(self) -> Iterator[tuple[str, int, bool]]:
        """Yield start, moves and whether jobs may stand in pairs, without end."""
        jobs = len(self.best_position)
        short = max(PARAMETERS.fewest_moves, PARAMETERS.moves_per_job * jobs)
        while True:
            for multiple, count, pairs in PARAMETERS.cycles:
                yield "hot" if multiple else "greedy", (multiple or 1) * short, pairs
                yield from [("reached", short, pairs)] * count
            yield "tempering", PARAMETERS.tempering * short, True

    def _anneal(self, start: str, total: int, blocks: Blocks) -> None:
        """One annealing towards a target that falls as it is met."""
        first_target = PARAMETERS.first_target * self.bound
        if start == "reached":
            share = self.targets.uniform(*PARAMETERS.restart)
            first_target = self.bound + (self.reached - self.bound) * share
            self.now.position[:] = self.reached_position
        else:
            self.reached = np.inf
            if start == "greedy":
                self.now.position[:] = self.greedy
        target = min(first_target, self.reached - self._least_step())
        hot, cold = PARAMETERS.hot if start == "hot" else PARAMETERS.warm
        loads_of(blocks, self.now.position, self.now.load)
        at_least = -(-total // PARAMETERS.fewest_temperatures)
        per_temperature = min(PARAMETERS.moves_per_temperature, at_least)
        begin = self.moves
        while (done := self.moves - begin) < total:
            temperature = (hot * self.scale * (cold / hot) ** (done / total)) ** 2
            moves = min(per_temperature, total - done)
            if self._move(self.now, blocks, target, temperature, moves) < moves:  # target met
                if self.best <= self.bound:
                    break
                target = max(self.bound, min(target, self.reached) - self._least_step())
        self.restarts += 1

    def _temper(self, total: int) -> None:
        """Continue the tempering, at first from the best positions."""
        if self.tempering is None:
            self.tempering = Tempering(self.paired, self.best_position, self.scale, self.seed)
        tempering, end = self.tempering, self.moves + total
        first_target = PARAMETERS.first_target * self.bound
        while self.moves < end and self.best > self.bound:
            target = max(self.bound, min(first_target, self.best - self._least_step()))
            moves = max(1, (end - self.moves) // PARAMETERS.copies)
            moves = min(PARAMETERS.moves_per_temperature, moves)
            for now, temperature in zip(tempering.copies, tempering.temperatures, strict=True):
                if self.moves < end:
                    self._move(now, self.paired, target, temperature, moves)
            tempering.exchange(target)

    def _move(
        self, now: Positions, blocks: Blocks, target: float, temperature: float, moves: int
    ) -> int:
        """Make moves at one temperature; return their number, smaller if the target is met."""
        self.deadline.check()
        count = int(anneal.for_size(16 * moves)(blocks, now, target, temperature, moves))
        self.moves += max(count, 1)
        highest = float(now.load.max())
        if highest < self.reached:
            self.reached = highest
            self.reached_position[:] = now.position
        if highest < self.best:
            self.best = highest
            self.best_position[:] = now.position
            if highest <= self.instance.latest_end:
                self.progress.report(highest)
        return count

    def _least_step(self) -> float:
        return 1.0 if self.instance.slotted else 1e-6 * self.best

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

    def exchange(self, target: float) -> None:
        """Exchange neighbouring copies, even and odd pairs by turns, with Metropolis's probability.

        Where the sum of cost / temperature rises by d it is exp(-d): each keeps its distribution.
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
        first = position[j, 0] = blocks[fullest.argmin()]
        load[first : first + w] += aligned.duration[j]
    return position


def _blocks(durations: Durations, *, pairs: bool) -> Blocks:
    gpus, servers = durations.gpus, durations.instance.servers
    widths = np.unique(gpus)
    kind = np.searchsorted(widths, gpus)
    job = np.lexsort((durations.inside, kind)).astype(np.int64)
    ends = np.cumsum(servers)
    blocks = [
        (k, first, gap)
        for k, width in enumerate(widths.tolist())
        for first, gap in _blocks_of_width(width, servers)
        if pairs or gap == 0
    ]
    of_kind, block, gap = np.array(blocks, dtype=np.int64).T.copy()
    kinds = np.arange(len(widths) + 1)
    return Blocks(
        width=gpus,
        duration=durations.inside,
        kind=kind.astype(np.int64),
        widths=widths,
        first_block=np.searchsorted(of_kind, kinds).astype(np.int64),
        block=block,
        gap=gap,
        first_job=np.searchsorted(kind[job], kinds).astype(np.int64),
        job=job,
        rank=np.argsort(job).astype(np.int64),
        base=np.repeat(ends - servers, servers).astype(np.int64),
        end=np.repeat(ends, servers).astype(np.int64),
    )


def _blocks_of_width(width: int, servers: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """First GPU and gap of the blocks of a width: aligned ones, and pairs of half blocks."""
    half, base = width // 2, 0
    for size in servers:
        yield from ((base + at, 0) for at in range(0, size - width + 1, width))
        gap = size // 2 - half
        if half > 0 and gap > 0:
            yield from ((base + at, gap) for at in range(0, size // 2 - half + 1, half))
        base += size
