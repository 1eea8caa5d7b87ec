"""Method ``nested``: annealing of jobs on blocks of GPUs inside servers, so nothing contends.

Applies when every size is a power of two and fits one server. A job stands on an aligned block of
its GPUs, or on a pair of half blocks at one place of its server's two halves. Aligned blocks nest,
and so do pairs: if each GPU runs its aligned jobs first, widest first, and its paired jobs last,
widest last, no GPU waits. The makespan is then the largest sum of durations on a GPU, and there is
nothing to sequence. The annealed cost is the sum over GPUs of max(0, load - target)^2; the target
starts just above the certified bound and falls as it is met.

Each cycle has one long annealing from a high temperature and short ones from the best loads that
the cycle reached. After a round of cycles, parallel tempering (Swendsen and Wang, Physical Review
Letters 57, 1986) continues from the best schedule: copies at fixed temperatures exchange their
positions. Where few servers hold the widest jobs it pays to span, so a short local search comes
first and the better of the two schedules is kept.

Guarantee: never worse than longest-first, nor than blocks filled greedily widest first. A makespan
that meets the bound is optimal. Anytime; equal (seed, iterations) give equal schedules. Complexity:
O(width) a move, millions of moves a second; the exchange of blocks and the swap of a job with two
halves scan all jobs, and are rare. Beyond the paper. Where blocks do not nest, the method runs
local-search, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

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
    """Moves of a short annealing, for each job."""
    fewest_moves: int = 200_000
    """Least moves of a short annealing."""
    cycles: tuple[tuple[int, int, bool], ...] = (
        (0, 6, False), (1, 6, True), (4, 3, True), (4, 3, False),
    )  # fmt: skip
    """One round: the moves of a cycle's first annealing as a multiple of a short one's (0: a short
    one from the greedy positions), the number of short annealings, and whether jobs may stand on
    pairs of half blocks."""
    tempering: int = 14
    """Moves of the tempering after a round, in short annealings: half of the round's moves."""
    hot: tuple[float, float] = (2e-2, 1e-3)
    """First and last temperature of an annealing from scratch."""
    warm: tuple[float, float] = (8e-3, 4e-4)
    """The same of the other annealings: the widest jobs mostly stay."""
    copies: int = 12
    """Temperatures of the tempering, in geometric sequence."""
    coldest: float = 4e-3
    hottest: float = 2e-2
    fewest_slots: float = 200.0
    """Slots are whole, so temperatures are no lower than for a bound of so many."""
    first_target: float = 1.004
    """First target as a multiple of the bound."""
    restart: tuple[float, float] = (0.1, 0.7)
    """The target of a short annealing lies between the bound and the load reached, at a share drawn
    from this range."""
    relocate: float = 0.35
    """Cumulative share of the moves up to relocations."""
    swap: float = 0.95
    """Up to swaps of two jobs of one width."""
    exchange: float = 0.953
    """Up to exchanges of two blocks' jobs; the rest swaps a job with two of half its width."""
    near: float = 0.9
    """Share of the swaps with a job of similar duration: others are refused late in a run."""
    most_scanned: float = 800.0
    """The last two moves scan all jobs; with more than so many, fewer are made in proportion."""
    moves_per_temperature: int = 20_000
    fewest_temperatures: int = 200
    start_share: float = 0.03
    """Share of the time limit for the local search beforehand."""
    start_effort: int = 400_000
    """Moves times jobs of that search without a time limit."""


PARAMETERS = AnnealingParameters()
RELOCATE, SWAP, EXCHANGE = PARAMETERS.relocate, PARAMETERS.swap, PARAMETERS.exchange
NEAR, MOST_SCANNED = PARAMETERS.near, PARAMETERS.most_scanned
REJECTED = math.inf
LARGEST_DRAW = 37.0
"""Above -log(1 - u) for every u < 1 of 53 bits: no rise of more such temperatures is accepted."""
ROUNDING = 1.001
"""Margin over the rounding errors that the cost sums up."""


class Blocks(NamedTuple):
    """Jobs, and the blocks they may stand on.

    ``kind[j]`` is the index of job j's width in ``widths``. The blocks of kind k are entries
    ``first_block[k]`` to ``first_block[k + 1]`` of ``block``, their first GPUs, and ``gap``, the
    GPUs between their halves (0 for aligned ones). The jobs of kind k are entries ``first_job[k]``
    to ``first_job[k + 1]`` of ``job``, shortest first, and ``job[rank[j]]`` is j. ``base`` and
    ``end`` give each GPU its server's first GPU and the one after its last.
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
    gain = np.zeros(w)
    for j in range(len(position)):
        if blocks.width[j] <= w and position[j, 1] == 0:
            if a <= position[j, 0] < a + w:
                _add(gain, position[j, 0] - a, blocks.width[j], -blocks.duration[j])
            elif b <= position[j, 0] < b + w:
                _add(gain, position[j, 0] - b, blocks.width[j], blocks.duration[j])
    change = 0.0
    for i in range(w):
        change += _rise(load, a + i, 1, gain[i], target)
        change += _rise(load, b + i, 1, -gain[i], target)
    if change > allowed:
        return REJECTED
    for i in range(w):
        load[a + i] += gain[i]
        load[b + i] -= gain[i]
    for j in range(len(position)):
        if blocks.width[j] <= w and position[j, 1] == 0:
            if a <= position[j, 0] < a + w:
                position[j, 0] += b - a
            elif b <= position[j, 0] < b + w:
                position[j, 0] += a - b
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
    change = _rise(load, own, half, here, target) + _rise(load, sibling, half, there, target)
    change += _rise(load, a + own - b, half, -here, target)
    change += _rise(load, a + sibling - b, half, -there, target)
    if change > allowed:
        return REJECTED
    _add(load, own, half, here)
    _add(load, sibling, half, there)
    _add(load, a + own - b, half, -here)
    _add(load, a + sibling - b, half, -there)
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
    # Relocation and swap stand here and not in helpers: at a call, numba counts references to every
    # array of `blocks` and `now`, which takes three times as long as the move.
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
        met = incumbent.met or incumbent.impossible
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

    def result(self, max_moves: int | None, deadline: Deadline, gap: float) -> SearchResult:
        """Anneal until the moves or the time are spent, or the bound is met at the gap."""
        if max_moves is None and deadline.limit is None:
            max_moves = PARAMETERS.moves
        try:
            cut = not self._run(max_moves, deadline, gap)
        except OutOfTimeError:
            cut = True
        return SearchResult(self.schedule(), cut, {"moves": self.moves, "restarts": self.restarts})

    def _run(self, max_moves: int | None, deadline: Deadline, gap: float) -> bool:
        """Make one step after the other; False if the time was up."""
        target = PARAMETERS.first_target * self.bound
        for step in self._steps():
            is_met = self.best - self.bound <= max(gap, 1e-9) * self.best
            if is_met or (max_moves is not None and self.moves >= max_moves):
                return True
            moves = step.moves if max_moves is None else min(step.moves, max_moves - self.moves)
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

    def _steps(self) -> Iterator[Step]:
        """Yield the steps of the search without end."""
        per_job = PARAMETERS.moves_per_job * len(self.best_position)
        short = max(PARAMETERS.fewest_moves, per_job)
        while True:
            for multiple, count, pairs in PARAMETERS.cycles:
                yield Step("hot" if multiple else "greedy", (multiple or 1) * short, pairs)
                yield from [Step("reached", short, pairs)] * count
            yield Step("tempering", PARAMETERS.tempering * short, pairs=True)

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
