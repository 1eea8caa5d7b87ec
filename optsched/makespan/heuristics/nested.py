"""Method ``nested``: simulated annealing of jobs on nested blocks of GPUs inside servers.

Applies when every size is a power of two and fits one server; nothing contends. A job occupies an
aligned block of its GPUs, or two half blocks at the same offset in both halves of a server
("paired"). Aligned blocks nest, and so do pairs: if each GPU runs its aligned jobs first, widest
first, and its paired jobs last, widest last, no GPU waits, and the makespan is the largest sum of
durations on a GPU. The cost is the sum over GPUs of max(0, load - target)^2; the target starts
above the bound and decreases each time it is reached.

Each cycle has one long annealing from a high temperature and short ones from the best loads of the
cycle. A short local search, which may span servers, runs first; the better schedule is returned.

Guarantee: never worse than longest-first, nor than blocks filled greedily widest first. Anytime;
equal (seed, iterations) give equal schedules. Complexity: O(width) a move, but the rare moves of
blocks scan all jobs. Beyond the paper. Where blocks do not nest, local-search runs instead.
"""

import itertools
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
from optsched.makespan.heuristics.list_scheduling import longest_first_schedule
from optsched.makespan.heuristics.local_search import local_search, search
from optsched.makespan.heuristics.random_numbers import RandomState, draw, random_state
from optsched.makespan.incumbent import SEARCH_TIME_SHARE, Incumbent, SearchResult
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.options import MakespanOptions
from optsched.progress import Progress
from optsched.result import Outcome, Settings


class Cycle(NamedTuple):
    """One long annealing from scratch and several short ones from the best of the cycle."""

    long_multiple: (
        int  # moves of the long annealing, in short ones; 0: short, from greedy positions
    )
    restarts: int
    pairs: bool  # whether jobs may occupy pairs of half blocks


@dataclass(frozen=True)
class AnnealingParameters:
    """Parameters of the annealing, tuned on 160 jobs on 20 servers for 60 s (docs/benchmarks.md).

    Temperatures are given by their square roots, as shares of the bound.
    """

    # Moves without limits of time and iterations; moves of a short annealing.
    moves: int = 20_000_000
    moves_per_job: int = 10_000
    min_moves: int = 200_000
    # One round, repeated until a limit.
    cycles: tuple[Cycle, ...] = (
        Cycle(0, 6, False), Cycle(1, 6, True), Cycle(4, 3, True), Cycle(4, 3, False),
    )  # fmt: skip
    # First and last temperature: from scratch, and from a state whose widest jobs mostly stay.
    sqrt_temperatures: tuple[float, float] = (2e-2, 1e-3)
    warm_sqrt_temperatures: tuple[float, float] = (8e-3, 4e-4)
    moves_per_temperature: int = 20_000
    min_temperatures: int = 200
    # With integral slots, temperatures are no lower than for a bound of this many.
    min_scale: float = 200.0
    # First target as a multiple of the bound; range of a short annealing's first target, as a share
    # between the bound and the best load of the cycle.
    initial_target: float = 1.004
    restart_target: tuple[float, float] = (0.1, 0.7)
    # Cumulative probabilities of relocations, swaps of two jobs of one width, and exchanges of two
    # blocks; the rest swaps a job with two of half its width. Without exchanges two instances ended
    # at 0.9 and 3.9% above the bound, with them at 0.7 and 1.4%, after 60 million moves.
    relocate: float = 0.35
    swap: float = 0.95
    exchange: float = 0.953
    # Of a swap with a job of similar duration: late in a run, others are refused.
    similar_duration: float = 0.9
    # The last two moves scan all jobs: for more jobs than this, they are made less often.
    scan_limit: float = 800.0
    # Local search beforehand: its share of the time limit, and its moves times jobs.
    initial_search_time_share: float = 0.03
    initial_search_moves_times_jobs: int = 400_000


PARAMETERS = AnnealingParameters()
RELOCATE, SWAP, EXCHANGE = PARAMETERS.relocate, PARAMETERS.swap, PARAMETERS.exchange
SIMILAR_DURATION, SCAN_LIMIT = PARAMETERS.similar_duration, PARAMETERS.scan_limit
REJECTED = math.inf
MAX_NEG_LOG_UNIFORM = 37.0
"""Above -log(1 - u) for every u < 1 of 53 bits: no rise of more such temperatures is accepted."""
RELATIVE_STEP = 1e-6
"""By which targets fall at least with continuous progress, else by a slot."""
ROUNDING = 1.001  # margin over the rounding errors that the cost sums up


class Blocks(NamedTuple):
    """Jobs by width, and the blocks that they may occupy.

    Blocks of width index k are ``first_block[k]`` to ``first_block[k + 1]``, its jobs, shortest
    first, ``job[first_job[k]:first_job[k + 1]]``.
    """

    width: Ints  # by job, like duration, width_index and rank
    duration: Floats
    width_index: Ints
    widths: Ints
    first_block: Ints
    block: Ints  # first GPU of each block
    gap: Ints  # GPUs between its halves; 0: aligned
    first_job: Ints
    job: Ints
    rank: Ints  # job[rank[j]] is j
    server_start: Ints  # of each GPU's server: the first GPU
    server_stop: Ints


class AnnealingState(NamedTuple):
    """First GPU and gap of each job's block (n, 2), and the load of each GPU in slots."""

    position: Ints
    load: Floats
    random: RandomState


@register_jitable
def _cost(load: float, target: float) -> float:
    return (load - target) * (load - target) if load > target else 0.0


@register_jitable
def _add(load: Floats, first: int, width: int, amount: float) -> None:
    for g in range(first, first + width):
        load[g] += amount


@register_jitable
def _cost_change(load: Floats, first: int, width: int, amount: float, target: float) -> float:
    """Change of cost if `width` GPUs from `first` on get `amount` more."""
    change = 0.0
    for g in range(first, first + width):
        change += _cost(load[g] + amount, target) - _cost(load[g], target)
    return change


@register_jitable
def _add_to_block(load: Floats, first: int, gap: int, width: int, amount: float) -> None:
    half = width // 2 if gap > 0 else width
    _add(load, first, half, amount)
    _add(load, first + half + gap, width - half, amount)


@register_jitable
def _block_cost_change(
    load: Floats, first: int, gap: int, width: int, amount: float, target: float
) -> float:
    half = width // 2 if gap > 0 else width
    change = _cost_change(load, first, half, amount, target)
    return change + _cost_change(load, first + half + gap, width - half, amount, target)


@register_jitable
def _partner(first: int, end: int, rank: int, uniform: float) -> int:
    """Swap partner of the same width, usually of similar duration, or -1.

    The proposal is symmetric, as the Metropolis rule requires.
    """
    count = end - first
    if uniform < SIMILAR_DURATION:
        side = 2.0 * uniform / SIMILAR_DURATION - 1.0
        steps = 1 + int(side * side * count)
        partner = rank + (steps if side > 0.0 else -steps)
        return partner if first <= partner < end else -1
    share = (uniform - SIMILAR_DURATION) / (1.0 - SIMILAR_DURATION)
    return first + min(int(share * count), count - 1)


@register_jitable
def _exchange(blocks: Blocks, state: AnnealingState, target: float, allowed: float) -> float:
    """Swap all aligned jobs on two aligned blocks of one width."""
    position, load, random = state.position, state.load, state.random
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
        change += _cost_change(load, a + i, 1, gain[i], target)
        change += _cost_change(load, b + i, 1, -gain[i], target)
    if change > allowed:
        return REJECTED
    load[a : a + w] += gain
    load[b : b + w] -= gain
    position[:, 0] += shift
    return change


@register_jitable
def _swap_with_wider(
    blocks: Blocks, state: AnnealingState, j: int, target: float, allowed: float
) -> float:
    """Swap a job twice as wide as j with j and, if there is one, a job in the sibling block."""
    position, load, random = state.position, state.load, state.random
    half, k = blocks.width[j], blocks.width_index[j]
    if k + 1 >= len(blocks.widths) or blocks.widths[k + 1] != 2 * half or position[j, 1] > 0:
        return REJECTED
    gpu_j = position[j, 0]
    start = blocks.server_start[gpu_j]
    b = start + ((gpu_j - start) & -(2 * half))  # the wide block around j
    if b + 2 * half > blocks.server_stop[gpu_j]:
        return REJECTED
    first, end = blocks.first_job[k + 1], blocks.first_job[k + 2]
    wide = blocks.job[first + int(draw(random) * (end - first))]
    a = position[wide, 0]
    if a == b or position[wide, 1] > 0:
        return REJECTED
    sibling = b if gpu_j != b else b + half
    other = _draw_job_on(blocks, position, k, sibling, random)
    at_j = blocks.duration[wide] - blocks.duration[j]
    at_sibling = blocks.duration[wide] - (0.0 if other < 0 else blocks.duration[other])
    changes = (
        (gpu_j, at_j), (sibling, at_sibling),
        (a + gpu_j - b, -at_j), (a + sibling - b, -at_sibling),
    )  # fmt: skip
    change = 0.0
    for gpu, amount in changes:
        change += _cost_change(load, gpu, half, amount, target)
    if change > allowed:
        return REJECTED
    for gpu, amount in changes:
        _add(load, gpu, half, amount)
    position[wide, 0], position[j, 0] = b, a + gpu_j - b
    if other >= 0:
        position[other, 0] = a + sibling - b
    return change


@register_jitable
def _draw_job_on(blocks: Blocks, position: Ints, k: int, first: int, random: RandomState) -> int:
    """Draw a job of width index k on an aligned block; -1 with some probability, or without one."""
    # Reservoir sampling; in 3 of 10 draws "none" is one of the choices.
    job, seen = -1, 1 if draw(random) < 0.3 else 0
    for i in range(blocks.first_job[k], blocks.first_job[k + 1]):
        j = blocks.job[i]
        if position[j, 0] == first and position[j, 1] == 0:
            seen += 1
            if draw(random) * seen < 1.0:
                job = j
    return job


@kernel
def anneal(
    blocks: Blocks, state: AnnealingState, target: float, temperature: float, moves: int
) -> int:
    """Make up to `moves` moves at one temperature until no load exceeds the target.

    A move that raises the cost by at most -temperature log(1 - u) is made: Metropolis's rule. The
    cost is in slots squared, and so is the temperature. Returns the number of moves.
    """
    # Relocation and swap are not in helpers: at a call, numba counts references to every array of
    # `blocks` and `state`, which takes three times as long as the move.
    position, load, random = state.position, state.load, state.random
    width, duration, width_index, rank = (
        blocks.width, blocks.duration, blocks.width_index, blocks.rank,
    )  # fmt: skip
    first_block, block, gap = blocks.first_block, blocks.block, blocks.gap
    first_job, job, server_start = blocks.first_job, blocks.job, blocks.server_start
    n = len(position)
    cost = 0.0
    for g in range(len(load)):
        cost += _cost(load[g], target)
    count = 0
    while count < moves and cost > 0.0:
        count += 1
        drawn, move, j = draw(random), draw(random), int(draw(random) * n)
        # Rare moves of whole blocks.
        if move >= SWAP:
            if draw(random) * n <= SCAN_LIMIT:
                allowed = -temperature * math.log(1.0 - drawn)
                if move < EXCHANGE:
                    change = _exchange(blocks, state, target, allowed)
                else:
                    change = _swap_with_wider(blocks, state, j, target, allowed)
                if change < REJECTED:
                    cost += change
            continue
        # Propose: job `moved` leaves block b for block a; in a swap, the shorter job `swapped`
        # leaves a for b, and the GPUs of a gain the difference of the durations.
        k, swapped = width_index[j], -1
        if move < RELOCATE:
            i = first_block[k] + int(draw(random) * (first_block[k + 1] - first_block[k]))
            moved, a, gap_a, amount = j, block[i], gap[i], duration[j]
        else:
            i = _partner(first_job[k], first_job[k + 1], rank[j], draw(random))
            if i < 0:
                continue
            moved, swapped = job[i], j
            if duration[moved] < duration[swapped]:
                moved, swapped = swapped, moved
            a, gap_a = position[swapped, 0], position[swapped, 1]
            amount = duration[moved] - duration[swapped]
        b, gap_b, w = position[moved, 0], position[moved, 1], width[moved]
        if (a == b and gap_a == gap_b) or amount == 0.0:
            continue
        overlap = gap_a != gap_b and server_start[a] == server_start[b]
        # Reject early: the rise on one GPU is above the whole cost, which is the most that b can
        # save, and any rise that the temperature allows. Late in an annealing, most moves end here.
        rise = _cost(load[a] + amount, target) - _cost(load[a], target)
        if not overlap and rise > ROUNDING * (cost + MAX_NEG_LOG_UNIFORM * temperature):
            continue
        # Evaluate: first without b's load, where the blocks overlap, then with a's rise.
        allowed = -temperature * math.log(1.0 - drawn)
        change = _block_cost_change(load, b, gap_b, w, -amount, target)
        if overlap:
            _add_to_block(load, b, gap_b, w, -amount)
            rise = _cost(load[a] + amount, target) - _cost(load[a], target)
        accepted = change + rise <= allowed
        if accepted:
            change += _block_cost_change(load, a, gap_a, w, amount, target)
            accepted = change <= allowed
        # Update b on acceptance, or undo its removal.
        if overlap != accepted:
            _add_to_block(load, b, gap_b, w, -amount if accepted else amount)
        if accepted:
            _add_to_block(load, a, gap_a, w, amount)
            position[moved, 0], position[moved, 1] = a, gap_a
            if swapped >= 0:
                position[swapped, 0], position[swapped, 1] = b, gap_b
            cost += change
    return count


def compute_loads(blocks: Blocks, position: Ints, load: Floats) -> None:
    load[:] = 0.0
    for j, (first, gap) in enumerate(position.tolist()):
        _add_to_block(load, first, gap, int(blocks.width[j]), blocks.duration[j])


def nested(instance: MakespanInstance, options: MakespanOptions, settings: Settings) -> Outcome:
    """Schedule by nested annealing, or by local-search where blocks do not nest."""
    if not is_applicable(instance):
        return replace(local_search(instance, options, settings), chosen="local-search")
    incumbent = Incumbent(instance, settings)
    details: Mapping[str, Any] = {"moves": 0, "restarts": 0}
    with incumbent.until_deadline():
        incumbent.update_result(longest_first_schedule(instance), "local search")
        incumbent.compute_bound(settings.deadline.share(SEARCH_TIME_SHARE))
        moves = max(200, PARAMETERS.initial_search_moves_times_jobs // len(instance.jobs))
        if settings.iterations is not None:
            moves = min(moves, settings.iterations)
        short = replace(settings, iterations=moves)
        stop = settings.deadline.share(PARAMETERS.initial_search_time_share)
        result = search(instance, short, incumbent.bound.value, stop)
        incumbent.update_result(result, "local search")
        incumbent.timed_out, bound = False, incumbent.bound.value
        if not incumbent.is_decided:
            settings.deadline.check()
            annealing = Annealing(instance, bound, settings.seed, settings.progress)
            result = annealing.result(settings.iterations, settings.deadline, settings.gap)
            details = result.details
            incumbent.update_result(result, "annealing")
    return incumbent.outcome({**details, "best_method": incumbent.name}, proves=True)


def is_applicable(instance: MakespanInstance) -> bool:
    """Whether every size is a power of two, fits one server and makes progress there."""
    largest = max(instance.servers)
    sizes_nest = all(job.gpus.bit_count() == 1 and job.gpus <= largest for job in instance.jobs)
    return sizes_nest and bool(np.isfinite(durations_of(instance).inside).all())


class Annealing:
    """Positions of an instance's jobs, annealed towards a bound in slots."""

    def __init__(
        self,
        instance: MakespanInstance,
        bound: float,
        seed: int,
        progress: Progress | None = None,
    ) -> None:
        self.instance, self.bound = instance, bound
        self.progress = progress or Progress()
        self.deadline = Deadline()
        durations = durations_of(instance)
        self.aligned, self.paired = (_blocks(durations, pairs=pairs) for pairs in (False, True))
        self.greedy = _greedy_positions(self.aligned, durations)
        self.state = AnnealingState(self.greedy.copy(), np.zeros(instance.gpus), random_state(seed))
        compute_loads(self.aligned, self.greedy, self.state.load)
        self.rng = np.random.default_rng(seed)
        self.moves = self.restarts = 0
        self.best, self.best_position = float(self.state.load.max()), self.greedy.copy()
        self.cycle_best, self.cycle_best_position = np.inf, self.greedy.copy()
        # Temperatures are shares of this many slots.
        self.temperature_scale = max(bound, PARAMETERS.min_scale) if instance.slotted else bound

    def result(self, max_moves: float | None, deadline: Deadline, gap: float) -> SearchResult:
        """Anneal until the moves or the time are spent, or the gap is closed."""
        if max_moves is None:
            max_moves = PARAMETERS.moves if deadline.limit is None else math.inf
        self.deadline, timed_out = deadline, False
        try:
            for start, length, blocks in self._phases():
                is_closed = self.best - self.bound <= max(gap, 1e-9) * self.best
                if is_closed or self.moves >= max_moves:
                    break
                self._anneal(start, int(min(length, max_moves - self.moves)), blocks)
        except OutOfTimeError:
            timed_out = True
        details = {"moves": self.moves, "restarts": self.restarts}
        return SearchResult(self.schedule(), timed_out, details)

    def _phases(self) -> Iterator[tuple[str, int, Blocks]]:
        """Yield start, moves and blocks of the annealings, without end."""
        short = max(PARAMETERS.min_moves, PARAMETERS.moves_per_job * len(self.best_position))
        for cycle in itertools.cycle(PARAMETERS.cycles):
            blocks = self.paired if cycle.pairs else self.aligned
            start = "scratch" if cycle.long_multiple else "greedy"
            yield start, (cycle.long_multiple or 1) * short, blocks
            yield from [("cycle best", short, blocks)] * cycle.restarts

    def _anneal(self, start: str, total: int, blocks: Blocks) -> None:
        """One annealing towards a target that decreases each time it is reached."""
        state = self.state
        # Where to start, and the first target.
        target = PARAMETERS.initial_target * self.bound
        if start == "cycle best":
            share = self.rng.uniform(*PARAMETERS.restart_target)
            target = self.bound + (self.cycle_best - self.bound) * share
            state.position[:] = self.cycle_best_position
        else:
            self.cycle_best = np.inf
            if start == "greedy":
                state.position[:] = self.greedy
        target = min(target, self.cycle_best - self._target_step)
        compute_loads(blocks, state.position, state.load)
        # A geometric sequence of temperatures, some moves at each.
        warm = start != "scratch"
        hot, cold = PARAMETERS.warm_sqrt_temperatures if warm else PARAMETERS.sqrt_temperatures
        max_moves = min(PARAMETERS.moves_per_temperature, -(-total // PARAMETERS.min_temperatures))
        begin = self.moves
        while (done := self.moves - begin) < total:
            self.deadline.check()
            temperature = (hot * self.temperature_scale * (cold / hot) ** (done / total)) ** 2
            moves = min(max_moves, total - done)
            count = int(anneal.for_size(16 * moves)(blocks, state, target, temperature, moves))
            self.moves += max(count, 1)
            # Keep the best, of the cycle and of all.
            makespan = float(state.load.max())
            if makespan < self.cycle_best:
                self.cycle_best = makespan
                self.cycle_best_position[:] = state.position
            if makespan < self.best:
                self.best = makespan
                self.best_position[:] = state.position
                if makespan <= self.instance.latest_end:
                    self.progress.report(makespan)
            # Lower the target once it is reached.
            if count < moves:
                if self.best <= self.bound:
                    break
                target = max(self.bound, min(target, self.cycle_best) - self._target_step)
        self.restarts += 1

    @property
    def _target_step(self) -> float:
        return 1.0 if self.instance.slotted else RELATIVE_STEP * self.best

    def schedule(self) -> Schedule:
        """Best positions as a schedule: aligned jobs first, widest first; paired ones last."""
        durations, instance = durations_of(self.instance), self.instance
        free_at = np.zeros(instance.gpus)
        server_of = np.repeat(np.arange(len(instance.servers)), instance.servers)
        starts: list[float] = [0.0] * len(instance.jobs)
        placed: list[dict[int, int]] = [{} for _ in instance.jobs]
        first, gap = self.best_position.T
        width_key = np.where(gap > 0, durations.gpus, -durations.gpus)
        for j in np.lexsort((width_key, gap > 0)).tolist():
            gpus = int(durations.gpus[j])
            block = first[j] + np.arange(gpus)
            block[gpus // 2 :] += gap[j]
            starts[j] = float(free_at[block].max())
            placed[j] = {int(server_of[first[j]]): gpus}
            free_at[block] = starts[j] + durations.inside[j]
        return Schedule(tuple(starts), tuple(placed))


def _greedy_positions(aligned: Blocks, durations: Durations) -> Ints:
    """Jobs widest first, then longest first, each on the block with the smallest maximum load."""
    load = np.zeros(durations.instance.gpus)
    position = np.zeros((len(aligned.width), 2), dtype=np.int64)
    for j in np.lexsort((-durations.inside, -durations.gpus)).tolist():
        k, w = int(aligned.width_index[j]), int(aligned.width[j])
        blocks = aligned.block[aligned.first_block[k] : aligned.first_block[k + 1]]
        max_load = load[blocks[:, None] + np.arange(w)].max(axis=1)
        first = position[j, 0] = blocks[max_load.argmin()]
        load[first : first + w] += aligned.duration[j]
    return position


def _blocks(durations: Durations, *, pairs: bool) -> Blocks:
    gpus, servers = durations.gpus, durations.instance.servers
    widths, width_index = np.unique(gpus, return_inverse=True)
    width_index = width_index.astype(np.int64)
    job = np.lexsort((durations.inside, width_index)).astype(np.int64)
    ends = np.cumsum(servers)
    blocks = [
        (k, first, gap)
        for k, width in enumerate(widths.tolist())
        for first, gap in _blocks_of_width(width, servers)
        if pairs or gap == 0
    ]
    block_index, block, gap = np.array(blocks, dtype=np.int64).T.copy()
    indices = np.arange(len(widths) + 1)
    return Blocks(
        width=gpus,
        duration=durations.inside,
        width_index=width_index,
        widths=widths,
        first_block=np.searchsorted(block_index, indices).astype(np.int64),
        block=block,
        gap=gap,
        first_job=np.searchsorted(width_index[job], indices).astype(np.int64),
        job=job,
        rank=np.argsort(job).astype(np.int64),
        server_start=np.repeat(ends - servers, servers).astype(np.int64),
        server_stop=np.repeat(ends, servers).astype(np.int64),
    )


def _blocks_of_width(width: int, servers: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """First GPU and gap of the blocks of a width: aligned ones, and pairs of half blocks."""
    half, start = width // 2, 0
    for size in servers:
        yield from ((start + at, 0) for at in range(0, size - width + 1, width))
        gap = size // 2 - half
        if half > 0 and gap > 0:
            yield from ((start + at, gap) for at in range(0, size // 2 - half + 1, half))
        start += size
