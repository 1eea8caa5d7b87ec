"""Method ``nested``: annealing of jobs on blocks of GPUs inside servers, so nothing contends.

Applies when every size is a power of two and fits one server. A job stands on an aligned block of
its GPUs, or on a pair of half blocks at one place of its server's two halves. Aligned blocks nest,
and so do pairs: if each GPU runs its aligned jobs first, widest first, and its paired jobs last,
widest last, no GPU waits. The makespan is then the largest sum of durations on a GPU, and there is
nothing to sequence. Annealed is the cost, the sum over GPUs of max(0, load - target)^2; the target
starts just above the certified bound and falls as it is met.

Each round anneals once from a high temperature and several times from the best loads that it
reached; rounds grow. Where few servers hold the widest jobs it pays to span, so a short local
search comes first and the better of the two schedules is kept.

Guarantee: never worse than longest-first, nor than blocks filled greedily widest first. A makespan
that meets the bound is optimal. Anytime; equal (seed, iterations) give equal schedules. Complexity:
O(width) a move, millions of moves a second. Beyond the paper. Where blocks do not nest, the method
runs local-search, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
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
    """Parameters of the annealing.

    Attributes
    ----------
    moves : int
        Moves when neither time nor iterations are limited.
    moves_per_job, fewest_moves : int
        Moves of the first annealing, by job and at least.
    growth : float
        Factor from one round's moves to the next one's.
    reheats : int
        Annealings of a round that start from the best loads it has reached.
    hot, warm : (float, float)
        Square roots of the first and last temperature as shares of the bound: of the annealing
        that starts a round, and of the others, in which the widest jobs mostly stay.
    fewest_slots : float
        Slots are whole, so temperatures are no lower than for a bound of so many.
    first_target : float
        First target as a multiple of the bound.
    restart : (float, float)
        A reheat's target lies between the bound and the load reached, at a share drawn from here.
    relocate, swap : float
        Cumulative shares of the moves: relocation, swap of two jobs of one width; the rest
        exchanges what two blocks hold.
    near : float
        Share of the swaps with a job of similar duration.
    most_scanned : float
        Exchanges look through all jobs; with more than so many, fewer are made in proportion.
    moves_per_temperature, fewest_temperatures : int
        Most moves at one temperature, and fewest temperatures of an annealing.
    start_share, start_effort : float, int
        Local search beforehand: share of the time limit; without one, its moves times jobs.
    """

    moves: int = 20_000_000
    moves_per_job: int = 10_000
    fewest_moves: int = 200_000
    growth: float = 2.0
    reheats: int = 6
    hot: tuple[float, float] = (2e-2, 1e-3)
    warm: tuple[float, float] = (8e-3, 4e-4)
    fewest_slots: float = 200.0
    first_target: float = 1.004
    restart: tuple[float, float] = (0.1, 0.7)
    relocate: float = 0.35
    swap: float = 0.98
    near: float = 0.9
    most_scanned: float = 800.0
    moves_per_temperature: int = 20_000
    fewest_temperatures: int = 200
    start_share: float = 0.03
    start_effort: int = 400_000


PARAMETERS = AnnealingParameters()
RELOCATE, SWAP, NEAR = PARAMETERS.relocate, PARAMETERS.swap, PARAMETERS.near
MOST_SCANNED = PARAMETERS.most_scanned
REJECTED = math.inf


class Blocks(NamedTuple):
    """Jobs, and the blocks they may stand on.

    ``kind[j]`` is the index of job j's width in ``widths``. The blocks of kind k are entries
    ``first_block[k]`` to ``first_block[k + 1]`` of ``block``, their first GPUs, and ``gap``, the
    GPUs between their halves (0 for aligned ones). The jobs of kind k are entries ``first_job[k]``
    to ``first_job[k + 1]`` of ``job``, shortest first, and ``job[rank[j]]`` is j.
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


class Positions(NamedTuple):
    """Present positions: first GPU and gap of each job's block (n, 2), and the load of each GPU."""

    position: Ints
    load: Floats
    random: RandomState


@register_jitable
def _add(load: Floats, first: int, gap: int, width: int, by: float, target: float) -> float:
    """Add `by` to the loads of a block's GPUs; return the change of cost."""
    half = width // 2 if gap > 0 else width
    change = 0.0
    for i in range(width):
        g = first + i
        if i >= half:
            g += gap
        before = load[g] - target
        after = before + by
        if before > 0.0:
            change -= before * before
        if after > 0.0:
            change += after * after
        load[g] += by
    return change


@register_jitable
def _shift(
    now: Positions, a: Any, b: Any, width: int, by: float, target: float, most: float
) -> float:
    """Move a load from block b to block a unless the cost rises by more than `most`."""
    load = now.load
    change = _add(load, b[0], b[1], width, -by, target)
    change += _add(load, a[0], a[1], width, by, target)
    if change <= most:
        return change
    _add(load, a[0], a[1], width, -by, target)
    _add(load, b[0], b[1], width, by, target)
    return REJECTED


@register_jitable
def _relocate(blocks: Blocks, now: Positions, j: int, target: float, most: float) -> float:
    """Move job j to another block."""
    position, k = now.position, blocks.kind[j]
    count = blocks.first_block[k + 1] - blocks.first_block[k]
    at = blocks.first_block[k] + int(draw(now.random) * count)
    new, old = (blocks.block[at], blocks.gap[at]), (position[j, 0], position[j, 1])
    if new == old:
        return REJECTED
    change = _shift(now, new, old, blocks.width[j], blocks.duration[j], target, most)
    if change < REJECTED:
        position[j, 0], position[j, 1] = new
    return change


@register_jitable
def _partner(blocks: Blocks, j: int, uniform: float) -> int:
    """A job of j's width, mostly one of similar duration, or -1.

    It is drawn as often for j as j is for it, as the Metropolis rule requires.
    """
    first, end = blocks.first_job[blocks.kind[j]], blocks.first_job[blocks.kind[j] + 1]
    count = end - first
    if uniform < NEAR:
        side = 2.0 * uniform / NEAR - 1.0
        steps = 1 + int(side * side * count)
        at = blocks.rank[j] + (steps if side > 0.0 else -steps)
        return blocks.job[at] if first <= at < end else -1
    return blocks.job[first + min(int((uniform - NEAR) / (1.0 - NEAR) * count), count - 1)]


@register_jitable
def _swap(blocks: Blocks, now: Positions, j: int, target: float, most: float) -> float:
    """Swap job j with another of its width."""
    position, other = now.position, _partner(blocks, j, draw(now.random))
    if other < 0:
        return REJECTED
    a, b = (position[j, 0], position[j, 1]), (position[other, 0], position[other, 1])
    by = blocks.duration[other] - blocks.duration[j]
    if a == b or by == 0.0:
        return REJECTED
    change = _shift(now, a, b, blocks.width[j], by, target, most)
    if change < REJECTED:
        position[j, 0], position[j, 1] = b
        position[other, 0], position[other, 1] = a
    return change


@register_jitable
def _exchange(blocks: Blocks, now: Positions, target: float, most: float) -> float:
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
                for i in range(blocks.width[j]):
                    gain[position[j, 0] - a + i] -= blocks.duration[j]
            elif b <= position[j, 0] < b + w:
                for i in range(blocks.width[j]):
                    gain[position[j, 0] - b + i] += blocks.duration[j]
    change = 0.0
    for i in range(w):
        change += _add(load, a + i, 0, 1, gain[i], target)
        change += _add(load, b + i, 0, 1, -gain[i], target)
    if change > most:
        for i in range(w):
            load[a + i] -= gain[i]
            load[b + i] += gain[i]
        return REJECTED
    for j in range(len(position)):
        if blocks.width[j] <= w and position[j, 1] == 0:
            if a <= position[j, 0] < a + w:
                position[j, 0] += b - a
            elif b <= position[j, 0] < b + w:
                position[j, 0] += a - b
    return change


@kernel
def _anneal(blocks: Blocks, now: Positions, target: float, temperature: float, moves: int) -> int:
    """Make up to `moves` moves at one temperature until no load exceeds the target.

    A move that raises the cost by at most -temperature log(1 - u) is made: Metropolis's rule. The
    cost is in slots squared, and so is the temperature. Returns the number of moves.
    """
    load, random = now.load, now.random
    n = len(now.position)
    cost = 0.0
    for g in range(len(load)):
        excess = load[g] - target
        if excess > 0.0:
            cost += excess * excess
    made = 0
    while made < moves and cost > 0.0:
        made += 1
        most = -temperature * math.log(1.0 - draw(random))
        kind = draw(random)
        if kind < RELOCATE:
            change = _relocate(blocks, now, int(draw(random) * n), target, most)
        elif kind < SWAP:
            change = _swap(blocks, now, int(draw(random) * n), target, most)
        elif draw(random) * n > MOST_SCANNED:
            change = REJECTED
        else:
            change = _exchange(blocks, now, target, most)
        if change < REJECTED:
            cost += change
    return made


def loads_of(blocks: Blocks, position: Ints, load: Floats) -> None:
    """Write the load of every GPU, in slots."""
    load[:] = 0.0
    for (first, gap), w, by in zip(
        position.tolist(), blocks.width.tolist(), blocks.duration.tolist(), strict=True
    ):
        half = w // 2 if gap else w
        load[first : first + half] += by
        load[first + half + gap : first + w + gap] += by


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
        self.instance, self.bound, self.progress = instance, bound, progress or Progress()
        durations = durations_of(instance)
        self.aligned, self.paired = (_blocks(durations, pairs=pairs) for pairs in (False, True))
        position = _greedy_positions(self.aligned, durations)
        self.now = Positions(position, np.zeros(instance.gpus), random_state(seed))
        loads_of(self.aligned, position, self.now.load)
        self.moves = self.restarts = 0
        self.best, self.best_position = float(self.now.load.max()), position.copy()
        self.reached, self.reached_position = np.inf, position.copy()
        self.targets = np.random.default_rng(seed)

    def result(self, most: int | None, deadline: Deadline, gap: float) -> SearchResult:
        """Anneal until the moves or the time are spent, or the bound is met at the gap."""
        if most is None and deadline.limit is None:
            most = PARAMETERS.moves
        try:
            cut = not self._rounds(most, deadline, gap)
        except OutOfTimeError:
            cut = True
        return SearchResult(self.schedule(), cut, {"moves": self.moves, "restarts": self.restarts})

    def _rounds(self, most: int | None, deadline: Deadline, gap: float) -> bool:
        """Anneal in rounds; False if the time was up."""
        jobs = len(self.best_position)
        length = max(PARAMETERS.fewest_moves, PARAMETERS.moves_per_job * jobs)
        for step in range(10**9):
            first, pairs = step % (1 + PARAMETERS.reheats) == 0, self.restarts % 2 == 1
            if self.best - self.bound <= max(gap, 1e-9) * self.best:
                return True
            if most is not None and self.moves >= most:
                return True
            if first:
                if step:
                    length = int(length * PARAMETERS.growth)
                    self.restarts += 1
                    pairs = self.restarts % 2 == 1
                target, self.reached = PARAMETERS.first_target * self.bound, np.inf
            else:
                share = self.targets.uniform(*PARAMETERS.restart)
                target = self.bound + (self.reached - self.bound) * share
                self.now.position[:] = self.reached_position
            moves = length if most is None else min(length, most - self.moves)
            target = min(target, self.reached - self._least_step())
            blocks = self.paired if pairs else self.aligned
            heat = PARAMETERS.hot if first else PARAMETERS.warm
            if not self._anneal(blocks, target, moves, deadline, heat):
                return False
        return True

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
        scale = self.bound
        if self.instance.slotted:
            scale = max(scale, PARAMETERS.fewest_slots)
        loads_of(blocks, self.now.position, self.now.load)
        per_temperature = min(
            PARAMETERS.moves_per_temperature, -(-total // PARAMETERS.fewest_temperatures)
        )
        done = 0
        while done < total:
            if deadline.is_over:
                return False
            temperature = (hot * scale * (cold / hot) ** (done / total)) ** 2
            moves = min(per_temperature, total - done)
            anneal = _anneal.for_size(16 * moves)
            made = anneal(blocks, self.now, float(target), temperature, moves)
            self.moves += max(made, 1)
            done += max(made, 1)
            self._keep_best()
            if made < moves:  # the target is met
                if self.best <= self.bound:
                    return True
                target = max(self.bound, min(target, self.reached) - self._least_step())
        return True

    def _least_step(self) -> float:
        return 1.0 if self.instance.slotted else 1e-6 * self.best

    def _keep_best(self) -> None:
        highest = float(self.now.load.max())
        if highest < self.reached:
            self.reached = highest
            self.reached_position[:] = self.now.position
        if highest < self.best:
            self.best = highest
            self.best_position[:] = self.now.position
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
