"""Method ``local-search``: local search on the job order and on which jobs may span.

Moves are reinsertions, swaps and changes of a job's rules, on the order of longest-first. Where
most of the work must span and sharing a link costs, moves also change with how many jobs a job
shares its links (`SpanningRules.link_limit`), starting from the limits that take fewest GPU-slots.

Guarantee: never worse than longest-first. Accepts moves within a decreasing threshold of the best
makespan (threshold accepting). Anytime; the time limit includes the bound, and the search stops at
the bound. Equal (seed, iterations) give equal schedules. Complexity: one list schedule a move.
Beyond the paper.
"""

import copy
from collections.abc import Iterator
from itertools import chain, takewhile
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.deadline import Deadline, OutOfTimeError
from optsched.kernels import kernel
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.contention import Floats, Ints, Jobs, ScheduleArrays
from optsched.makespan.heuristics.list_scheduling import (
    NUM_LINK_LIMITS,
    Candidate,
    ListScheduler,
    SpanningRules,
    longest_first_schedule,
    longest_order,
    schedule_list,
)
from optsched.makespan.heuristics.random_numbers import RandomState, draw, random_state
from optsched.makespan.incumbent import SEARCH_TIME_SHARE, Incumbent, SearchResult
from optsched.makespan.instance import MakespanInstance, duration
from optsched.makespan.options import MakespanOptions
from optsched.result import ARITHMETIC_RTOL, Outcome, Settings

MOVES_TIMES_JOBS = 3_200_000
"""Moves times jobs without limits of time and iterations: 20,000 moves for 160 jobs."""
INITIAL_THRESHOLD = 0.02
"""Threshold at the beginning, as a share of the makespan; it falls to 0 linearly."""
THRESHOLD_STEPS = 20
MIN_SPANNING_SHARE, MIN_SLOWDOWN = 0.5, 1.05
"""Link limits are searched if jobs larger than every server hold more than this share of the work
and one more job per link slows them by more than this factor."""
SHARING_PENALTIES = (1.0, 1.1, 0.9, 1.25, 0.8, 1.5, 10.0)
"""Factors per additional job on a link, used to choose the initial link limits."""
STEPS_BETWEEN_CLOCK_CHECKS = 2_000_000
"""Innermost steps, about 0.1 s; the compiled loop cannot be interrupted."""
# Cumulative probabilities of reinsertions and swaps; other moves change a job's rules.
REINSERT, REINSERT_OR_SWAP = 0.55, 0.92
LIMITED_REINSERT, LIMITED_REINSERT_OR_SWAP = 0.45, 0.75  # where link limits are searched
LAST_JOB_PROBABILITY = 0.4  # of a reinsertion that moves the last job to end to an earlier place
LINK_RULE_PROBABILITY = 0.9  # of a change of rules about links
SHARED_SERVER_PROBABILITY = 0.3  # of such a change of `prefers_shared_server`, else of the limit


class Search(NamedTuple):
    """Current and best solution of a search, edited by every move; makespans in slots (1,)."""

    order: Ints
    rules: SpanningRules
    value: Floats
    best_order: Ints
    best_rules: SpanningRules
    best: Floats
    last: Ints  # (1,) last job to end
    random: RandomState
    limited: bool  # whether moves also change link limits


@register_jitable
def _reinsert(order: Ints, a: int, b: int) -> None:
    """Move the entry at a to b; the entries between shift by one."""
    moved = order[a]
    step = 1 if b > a else -1
    i = a
    while i != b:
        order[i] = order[i + step]
        i += step
    order[b] = moved


@register_jitable
def _change_rule(search: Search, j: int) -> None:
    """Change whether job j may span or, where links are limited, with whom it shares them."""
    rules = search.rules
    if search.limited and draw(search.random) < LINK_RULE_PROBABILITY:
        if draw(search.random) < SHARED_SERVER_PROBABILITY:
            rules.prefers_shared_server[j] = not rules.prefers_shared_server[j]
        else:
            rules.link_limit[j] = int(draw(search.random) * NUM_LINK_LIMITS)
    else:
        rules.spans[j] = not rules.spans[j]


@kernel
def _improve(
    jobs: Jobs, search: Search, target: float, moves: int, slack: float, schedule: ScheduleArrays
) -> int:
    """Make up to `moves` moves within `slack` of the best until `target`; return their number."""
    order, rules, random = search.order, search.rules, search.random
    n = len(order)
    reinsert, reinsert_or_swap = REINSERT, REINSERT_OR_SWAP
    if search.limited:
        reinsert, reinsert_or_swap = LIMITED_REINSERT, LIMITED_REINSERT_OR_SWAP
    done = 0
    while done < moves and search.best[0] > target:
        done += 1
        # Propose: change the order, or one job's rules.
        move = draw(random)
        a, b = int(draw(random) * n), int(draw(random) * n)
        j = order[a]
        old_limit, old_spans = rules.link_limit[j], rules.spans[j]
        old_prefers_shared = rules.prefers_shared_server[j]
        if move < reinsert:
            if draw(random) < LAST_JOB_PROBABILITY:
                for i in range(n):
                    if order[i] == search.last[0]:
                        a = i
                b = int(draw(random) * (a + 1))
            _reinsert(order, a, b)
        elif move < reinsert_or_swap:
            order[a], order[b] = order[b], order[a]
        else:
            _change_rule(search, j)
        # Evaluate: simulate, up to the largest makespan that is accepted.
        cutoff = max(search.value[0], search.best[0] + slack)
        makespan = schedule_list(jobs, order, rules, np.nextafter(cutoff, np.inf), schedule)
        # Accept, or undo.
        if makespan < np.inf:
            search.value[0] = makespan
            search.last[0] = np.argmax(schedule.finish)
            if makespan < search.best[0]:
                search.best[0] = makespan
                search.best_order[:] = order
                search.best_rules.spans[:] = rules.spans
                search.best_rules.link_limit[:] = rules.link_limit
                search.best_rules.prefers_shared_server[:] = rules.prefers_shared_server
        elif move < reinsert:
            _reinsert(order, b, a)
        elif move < reinsert_or_swap:
            order[a], order[b] = order[b], order[a]
        else:
            rules.link_limit[j], rules.spans[j] = old_limit, old_spans
            rules.prefers_shared_server[j] = old_prefers_shared
    return done


def local_search(
    instance: MakespanInstance, options: MakespanOptions, settings: Settings
) -> Outcome:
    """Schedule by local search; ``iterations`` counts moves."""
    incumbent, moves = Incumbent(instance, settings), 0
    with incumbent.until_deadline():
        incumbent.update_result(longest_first_schedule(instance))
        incumbent.compute_bound(settings.deadline.share(SEARCH_TIME_SHARE))
        if not incumbent.is_infeasible:
            result = search(instance, settings, incumbent.bound.value)
            moves = result.details["moves"]
            incumbent.update_result(result)
    return incumbent.outcome({"moves": moves})


def search(
    instance: MakespanInstance, settings: Settings, target: float, stop: Deadline | None = None
) -> SearchResult:
    """Search until the moves or the time are spent, or the target (a bound) is met."""
    target *= 1 + ARITHMETIC_RTOL  # bounds are rounded down
    deadline, stop = settings.deadline.share(1.0), stop or Deadline()
    n = len(instance.jobs)
    if settings.iterations is not None:
        moves = settings.iterations
    else:
        moves = max(200, MOVES_TIMES_JOBS // n) if deadline.limit is None else 2**62
    # Start from the better variant of longest-first or, if they matter, from link limits.
    scheduler, limited = ListScheduler(instance), link_limits_matter(instance)
    candidates = scheduler.spanning_variants(longest_order(instance))
    if limited:
        more = _limited_candidates(scheduler, instance)
        in_time = takewhile(lambda _: not (deadline.is_over or stop.is_over), more)
        candidates = chain(candidates, in_time)
    first = scheduler.best(candidates)
    if first.schedule is None or first.makespan <= target:
        return SearchResult(first.schedule, details={"moves": 0})
    current = Search(
        first.order.copy(),
        first.rules,
        np.array([first.makespan]),
        first.order.copy(),
        copy.deepcopy(first.rules),
        np.array([first.makespan]),
        np.zeros(1, dtype=np.int64),
        random_state(settings.seed),
        limited,
    )
    done, left_at_threshold, threshold, timed_out = 0, 0, 0.0, False
    moves_per_check = max(1, STEPS_BETWEEN_CLOCK_CHECKS // scheduler.steps)
    moves_per_threshold = moves_per_check if deadline.limit else -(-moves // THRESHOLD_STEPS)
    try:
        while done < moves and current.best[0] > target:
            if deadline.is_over or stop.is_over:
                timed_out = True
                break
            # Lower the threshold by the share of the moves or of the time that is spent.
            if left_at_threshold == 0:
                spent = deadline.spent / deadline.limit if deadline.limit else 0.0
                step = int(max(done / moves, spent) * THRESHOLD_STEPS) + 1
                share_left = max(0.0, 1 - step / THRESHOLD_STEPS)
                threshold = INITIAL_THRESHOLD * float(current.value[0]) * share_left
                left_at_threshold = min(moves_per_threshold, moves - done)
                current.last[0] = current.order[-1]
            # Make as many moves as fit between two looks at the clock.
            count = min(moves_per_check, left_at_threshold)
            improve = _improve.for_size(scheduler.steps * count)
            moves_done = improve(
                scheduler.jobs, current, float(target), count, threshold, scheduler.arrays
            )
            done, left_at_threshold = done + moves_done, left_at_threshold - moves_done
            if current.best[0] <= instance.latest_end:
                settings.progress.report(float(current.best[0]))
    except OutOfTimeError:
        timed_out = True
    scheduler.run(current.best_order, current.best_rules)
    return SearchResult(scheduler.schedule(), timed_out, {"moves": done})


def link_limits_matter(instance: MakespanInstance) -> bool:
    """Whether jobs larger than every server are most of the work, and sharing a link slows them."""
    durations = durations_of(instance)
    work = durations.minimum * durations.gpus
    larger = np.flatnonzero(durations.gpus > max(instance.servers))
    if work[larger].sum() <= MIN_SPANNING_SHARE * work.sum():
        return False
    alone, shared = (
        sum(
            duration(instance, instance.jobs[j], max(2, int(durations.min_servers[j])), level)
            for j in larger
        )
        for level in (1, 2)
    )
    return bool(shared > MIN_SLOWDOWN * alone)


def _limited_candidates(
    scheduler: ListScheduler, instance: MakespanInstance
) -> Iterator[Candidate]:
    """Candidates whose link limits minimise GPU-slots, including GPUs left idle by the limit."""
    gpus, servers = scheduler.jobs.gpus, scheduler.min_servers
    limits = np.arange(1, NUM_LINK_LIMITS)
    slots = np.array(
        [
            [duration(instance, job, int(k), q) for q in limits.tolist()]
            for job, k in zip(instance.jobs, servers, strict=True)
        ]
    )
    occupied = np.maximum(gpus[:, None], servers[:, None] * max(instance.servers) / limits)
    for penalty in SHARING_PENALTIES:
        limit = 1 + np.argmin(slots * occupied * penalty ** (limits - 1), axis=1)
        longest = slots[np.arange(len(limit)), limit - 1]
        for key in (longest, longest * gpus):
            by_length = np.lexsort((-gpus, -key)).astype(np.int64)
            by_limit = np.lexsort((-key, -gpus, limit)).astype(np.int64)
            for order in (by_length, by_limit):
                for shares in (False, True):
                    yield Candidate(order, scheduler.rules(link_limit=limit, shares=shares))
