"""Method ``longest-first``: list scheduling with backfilling, longest job first.

Jobs wait in one list; at every completion each is tried in turn on the fitting server with the
fewest free GPUs (best fit). If no server fits, the job waits, or spans the fewest servers that fit;
both variants are run and the better schedule is returned (a job larger than every server always
spans). Guarantee: none under contention. Complexity: O(n) events, each O(waiting + running jobs + S
a start). Beyond the paper.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.kernels import kernel
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.contention import (
    Bools,
    Ints,
    Jobs,
    Running,
    Schedule,
    ScheduleArrays,
    empty_schedule,
    job_arrays,
    next_end,
    none_running,
    refresh,
    remove_ended,
    schedule_from_arrays,
    start,
)
from optsched.makespan.incumbent import Incumbent, SearchResult
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.options import MakespanOptions
from optsched.result import Outcome, Settings

UNLIMITED = np.iinfo(np.int64).max
NUM_LINK_LIMITS = 4
"""Link limits 0 (none) to 3."""


class SpanningRules(NamedTuple):
    spans: Bools  # whether it may span servers though one could hold it
    link_limit: Ints  # maximum spanning jobs on each of its links, with itself; 0: no limit
    prefers_shared_server: Bools  # whether, with a limit, it first fills a server others span
    min_servers: Ints  # smallest number of servers that hold it, at least two


@register_jitable
def _best_fit(free: Ints, size: int) -> int:
    """Server with the fewest free GPUs among those with at least `size`, or -1."""
    best = -1
    for s in range(len(free)):
        if size <= free[s] and (best < 0 or free[s] < free[best]):
            best = s
    return best


@register_jitable
def _spread(jobs: Jobs, j: int, free: Ints, schedule: ScheduleArrays, first: int) -> bool:
    """Place job j on `first` (unless -1), then the fewest servers, largest first; edits `free`."""
    left = jobs.gpus[j]
    base = jobs.offset[j]
    schedule.num_servers[j] = 0
    while left > 0:
        s = _best_fit(free, left) if first < 0 else first
        first = -1
        if s < 0:
            s = np.argmax(free)
        taken = min(left, free[s])
        if taken == 0:
            return False
        if schedule.num_servers[j] == 0 and taken == left:
            taken -= 1  # the job cannot run on one server: leave one worker for a second server
        schedule.server[base + schedule.num_servers[j]] = s
        schedule.gpus_on_server[base + schedule.num_servers[j]] = taken
        schedule.num_servers[j] += 1
        free[s] = 0
        left -= taken
    return True


@register_jitable
def _place_within_limit(
    jobs: Jobs,
    rules: SpanningRules,
    j: int,
    capacity_left: Ints,
    link_limits: Ints,
    running: Running,
    schedule: ScheduleArrays,
) -> bool:
    """Place a spanning job within its own and its servers' link limits; False if it must wait."""
    limit, min_servers = rules.link_limit[j], rules.min_servers[j]
    free = capacity_left.copy()
    for s in range(len(free)):
        spanning = running.spanning_jobs[s]
        if spanning >= link_limits[s] or (limit > 0 and spanning >= limit):
            free[s] = 0
    if limit == 0:
        return _spread(jobs, j, free, schedule, -1)
    if rules.prefers_shared_server[j]:
        # The fullest shared server, with enough GPUs that one server fewer holds the rest.
        fill_server, min_share = -1, jobs.gpus[j] - (min_servers - 1) * free.max()
        for s in range(len(free)):
            is_shared = running.spanning_jobs[s] > 0
            fits = max(1, min_share) <= free[s] < jobs.gpus[j]
            if is_shared and fits and (fill_server < 0 or free[s] > free[fill_server]):
                fill_server = s
        placed = fill_server >= 0 and _spread(jobs, j, free.copy(), schedule, fill_server)
        if placed and schedule.num_servers[j] <= min_servers:
            return True
    return _spread(jobs, j, free, schedule, -1) and schedule.num_servers[j] <= min_servers


@register_jitable
def _limit_links(
    jobs: Jobs, rules: SpanningRules, j: int, link_limits: Ints, schedule: ScheduleArrays
) -> None:
    """Apply the limit of a running job that spans to its servers' links."""
    if schedule.num_servers[j] > 1 and rules.link_limit[j] > 0:
        for k in range(jobs.offset[j], jobs.offset[j] + schedule.num_servers[j]):
            s = schedule.server[k]
            link_limits[s] = min(link_limits[s], rules.link_limit[j])


@register_jitable
def schedule_list(
    jobs: Jobs, order: Ints, rules: SpanningRules, cutoff: float, schedule: ScheduleArrays
) -> float:
    """Schedule jobs in `order` with backfilling; fills the schedule.

    Returns the makespan in slots, or infinity if it reaches `cutoff` or a job can never start.
    """
    free = jobs.capacity.copy()
    largest, total = free.max(), free.sum()
    limited = rules.link_limit.max() > 0
    link_limits = np.full(len(free), UNLIMITED)
    # By limit and size: last event at which a job of this limit and size could not be placed.
    failed = np.zeros((NUM_LINK_LIMITS, jobs.gpus.max() + 1 if limited else 1), np.int64)
    event = 0
    waiting, pending = order.copy(), len(order)
    running = none_running(jobs)
    now = 0.0
    schedule.finish[:] = np.inf
    while True:
        event += 1
        # Try the waiting jobs in turn; those that stay keep their order.
        remaining = 0
        max_free = free.max()
        for i in range(pending):
            j = waiting[i]
            size = jobs.gpus[j]
            placed = False
            if size <= max_free and jobs.runs_on_one_server[j]:
                base = jobs.offset[j]
                schedule.num_servers[j] = 1
                schedule.server[base] = _best_fit(free, size)
                schedule.gpus_on_server[base] = size
                placed = True
            elif size <= total and size > 1 and (size > largest or rules.spans[j]):
                if not limited:
                    placed = _spread(jobs, j, free.copy(), schedule, -1)
                elif failed[rules.link_limit[j], size] < event:
                    placed = _place_within_limit(
                        jobs, rules, j, free, link_limits, running, schedule
                    )
                    if not placed:  # fewer GPUs will be free later in this event
                        failed[rules.link_limit[j], size] = event
            if not placed or not start(jobs, running, schedule, j, now):
                waiting[remaining] = j
                remaining += 1
                continue
            total -= size
            for k in range(jobs.offset[j], jobs.offset[j] + schedule.num_servers[j]):
                free[schedule.server[k]] -= schedule.gpus_on_server[k]
            if limited:
                _limit_links(jobs, rules, j, link_limits, schedule)
            max_free = free.max()
        pending = remaining
        if running.num_running[0] == 0:
            return now if pending == 0 else np.inf
        # Move on to the next completion, and free what ends there.
        now = next_end(running, schedule, np.inf)
        if now >= cutoff:
            return np.inf
        ended = remove_ended(jobs, running, schedule, now)
        any_spanned = False
        for r in range(running.num_running[0], running.num_running[0] + ended):
            j = running.jobs[r]
            any_spanned |= schedule.num_servers[j] > 1
            total += jobs.gpus[j]
            for k in range(jobs.offset[j], jobs.offset[j] + schedule.num_servers[j]):
                free[schedule.server[k]] += schedule.gpus_on_server[k]
        # Rates and link limits of the others change only where a spanning job ended.
        if any_spanned:
            refresh(jobs, running, schedule, now)
            if limited:
                link_limits[:] = UNLIMITED
                for r in range(running.num_running[0]):
                    _limit_links(jobs, rules, running.jobs[r], link_limits, schedule)


_schedule_once = kernel(schedule_list)


@dataclass(frozen=True)
class Candidate:
    """Job order and rules, with the resulting schedule if there is one."""

    order: Ints
    rules: SpanningRules
    makespan: float = np.inf
    schedule: Schedule | None = None


class ListScheduler:
    """Arrays of an instance for list scheduling; every run overwrites those of the schedule."""

    def __init__(self, instance: MakespanInstance) -> None:
        self.jobs = job_arrays(instance)
        self.arrays = empty_schedule(self.jobs)
        self.min_servers = np.maximum(durations_of(instance).min_servers, 2)
        n = len(instance.jobs)
        self.steps = n * (n + 4 * len(instance.servers))  # estimated inner-loop steps of one run

    def rules(
        self, *, spans: bool = False, link_limit: Ints | None = None, shares: bool = False
    ) -> SpanningRules:
        """The same rules for all jobs, with individual link limits."""
        n = len(self.min_servers)
        limit = np.zeros(n, dtype=np.int64) if link_limit is None else link_limit
        return SpanningRules(np.full(n, spans), limit, np.full(n, shares), self.min_servers)

    def run(self, order: Ints, rules: SpanningRules, cutoff: float = np.inf) -> float:
        """Makespan of a list, or infinity; see `schedule_list`."""
        schedule = _schedule_once.for_size(self.steps)
        return float(schedule(self.jobs, order, rules, float(cutoff), self.arrays))

    def schedule(self) -> Schedule:
        return schedule_from_arrays(self.jobs, self.arrays)

    def best(self, candidates: Iterable[Candidate]) -> Candidate:
        """Best of the candidates; the first if none gives a schedule."""
        best: Candidate | None = None
        for candidate in candidates:
            best = best or candidate
            value = self.run(candidate.order, candidate.rules, best.makespan)
            if value < best.makespan:
                best = replace(candidate, makespan=value, schedule=self.schedule())
        assert best is not None
        return best

    def spanning_variants(self, order: Ints) -> Iterator[Candidate]:
        """Jobs wait for one server that holds them, or span servers at once."""
        for spans in (False, True):
            yield Candidate(order.copy(), self.rules(spans=spans))


def longest_order(instance: MakespanInstance) -> Ints:
    """Jobs by falling minimum duration, then by falling width, then in the file's order."""
    durations = durations_of(instance)
    return np.lexsort((-durations.gpus, -durations.minimum)).astype(np.int64)


def longest_first_schedule(instance: MakespanInstance) -> SearchResult:
    scheduler = ListScheduler(instance)
    variants = scheduler.spanning_variants(longest_order(instance))
    return SearchResult(scheduler.best(variants).schedule)


def longest_first(
    instance: MakespanInstance, options: MakespanOptions, settings: Settings
) -> Outcome:
    return Incumbent(instance, settings).heuristic(lambda _: longest_first_schedule(instance))
