"""Running a policy that stops jobs: event driven, deterministic, compiled.

Semantics: models/online/README.md, "Preemption". Memory: about 150 bytes a job and 20 a segment.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from optsched.online.data.jobs import Jobs
from optsched.online.policies.by_name import Policy, PolicyOptions
from optsched.online.records import Records, Segments
from optsched.online.simulator.iteration_cache import IterationCache, empty_cache
from optsched.online.simulator.offers import FIRST_FIT, RULES
from optsched.online.simulator.segments import (
    Columns,
    Last,
    Log,
    count,
    lay_out,
    lay_out_ends,
    lay_out_last,
)
from optsched.online.simulator.server_sets import FreeServers, all_free

Floats = NDArray[np.float64]
NONE = -1
NEXT, RUNNING, SEGMENTS, PIECES, QUEUED, ENDED, ENDS, STOPS, RESTARTS, INSTANTS, ALPHAS = range(11)
COUNTERS = 11
NOW, HORIZON, FETCHED = range(3)
LEFT, KNOWN, WORKED, FROM, END, ALPHA = range(6)
TIMES, PIECE, PLACE, KIND = range(12, 16)
COLUMNS = 8
"""Of a job: 64 bytes, which a processor fetches together; four whole numbers are the last two."""
GONE = -1.0
"""What is left of a job that has ended."""
LONGEST_FRONT = 2**13
"""Jobs of one size that are kept in order while they wait: they fit into a processor's cache."""
ATTAINED, REMAINING, SHARE = 0, 1, 2
ORDERS = {"attained": ATTAINED, "remaining": REMAINING, "share": SHARE}


class Rules(NamedTuple):
    """A policy and its settings as numbers; `round` is 0 where every event preempts."""

    order: int
    offer: int
    checkpoint: float
    round: float
    slot: float


class Rows(NamedTuple):
    """The jobs in row order: r and configuration; and of these g, alpha~, bucket of sizes, heavy.

    `sizes` are the distinct g in ascending order.
    """

    submit: Any
    configuration: Any
    gpus: Any
    estimate: Any
    bucket: Any
    heavy: Any
    sizes: Any


class State(NamedTuple):
    """Everything a run changes; a run can be left and taken up again between any two events.

    Attributes
    ----------
    index : (COUNTERS,) int
        Next arrival, running jobs, segments, pieces, queued, ended, entries of `end_time`; stops,
        restarts, entries of `instant`, entries of `alpha`.
    clock : (3,) float
        Now; until when all ends are in `end_time`; and what nobody looks at.
    job : (n, COLUMNS) float
        As of the last stop: iterations to go, those predicted to go, and seconds worked. Of running
        jobs: when iterations begin and end, and seconds each takes.
    number : (n, 2 COLUMNS) int
        The same memory. Of running jobs: the how manieth segment this is (below 0 once it is
        stopped), where its pieces begin, and where it is in `running`; of all: its configuration.
    start : (n,) float
        Of jobs that have begun.
    running, running_gpus, running_key : (R,)
        Rows, their GPUs and keys as last seen. By remaining work a heap by (key, row), the last
        first.
    end_time, end_row
        Heap of ends of running jobs, and of some that were stopped: the first is no such.
    key, row, served, since, begin, size
        Jobs that wait behind the front, of each bucket b size[b] from begin[b] on; by shares, with
        seconds worked and submission.
    front_key, front_row, front, limit, longest, gone
        From begin[b] on, a heap by (key, row) of the front[b] that wait with keys up to limit[b]:
        at most longest[b] or so. By shares, how many have left since keys were computed.
    present : (B,) int
        Jobs of each bucket that have arrived and not ended.
    mark_key, mark_row, ahead : (B,)
        By remaining work, a place in line, and no more than the GPUs of the running jobs that come
        before it.
    order_key, order_row, order_gpus, parts, aside, aside_key
        Of a pass: running jobs that may be stopped, ends and GPUs of parts of these that are yet to
        be gone through, and room for rows laid aside.
    segment_row, stopped_row, alpha, piece, instant, restarts, stops
        What is recorded; `_make_room` makes them longer. Jobs in order of starts, and of stops;
        where a segment has several pieces, its alpha; pieces (`records.SERVER`), the last of each
        segment marked; and when how many were stopped, or ran again.
    """

    index: Any
    clock: Any
    job: Any
    number: Any
    start: Any
    running: Any
    running_gpus: Any
    running_key: Any
    end_time: Any
    end_row: Any
    key: Any
    row: Any
    served: Any
    since: Any
    begin: Any
    size: Any
    front_key: Any
    front_row: Any
    front: Any
    limit: Any
    longest: Any
    gone: Any
    present: Any
    mark_key: Any
    mark_row: Any
    ahead: Any
    order_key: Any
    order_row: Any
    order_gpus: Any
    parts: Any
    aside: Any
    aside_key: Any
    segment_row: Any
    stopped_row: Any
    alpha: Any
    piece: Any
    instant: Any
    restarts: Any
    stops: Any
    taken: Any
    scratch: Any
    servers: FreeServers
    cache: IterationCache


class PreemptiveRun:
    """A run of one policy."""

    def __init__(
        self, jobs: Jobs, policy: Policy, options: PolicyOptions, predicted: Floats
    ) -> None:
        self.jobs, self.policy, self.options, self.predicted = jobs, policy, options, predicted
        self.rules = Rules(
            order=ORDERS[policy.order],
            offer=RULES[options.offer or policy.offer],
            checkpoint=float(options.restore),
            round=float(options.round or 0.0),
            slot=float(options.slot),
        )
        made = jobs.configurations
        sizes, bucket = np.unique(made.gpus, return_inverse=True)
        self.rows = Rows(
            submit=jobs.submit,
            configuration=jobs.configuration,
            gpus=made.gpus,
            estimate=made.estimate,
            bucket=bucket.reshape(-1).astype(np.int64),
            heavy=made.worst / made.estimate >= options.comm_heavy,
            sizes=sizes,
        )
        self.state = _new_state(jobs, self.rows, self.rules, predicted)

    def until_done(self, steps: int, progress: Callable[[int, int], None] | None) -> bool:
        """Run to the end, looking up every so many instants; False if interrupted."""
        from optsched.online.simulator._preemption_kernel import DONE, NEEDS_ROOM, advance

        packed = self.jobs.configurations.packed
        try:
            while True:
                status = advance(self.rows, packed, self.rules, self.state, steps)
                if progress is not None:
                    progress(int(self.state.index[ENDED]), len(self.jobs))
                if status == DONE:
                    return True
                if status == NEEDS_ROOM:
                    _make_room(self.state)
        except KeyboardInterrupt:
            return False

    def records(self, complete: bool) -> Records:
        """What ran; of an interrupted run, without the jobs that wait. Uses the run up."""
        state = vars(self).pop("state")
        ran = _Ran(state, self.rows)
        job, start, rows = state.job, state.start, ran.rows
        del state  # what comes is as large
        if not isinstance(rows, slice):
            job, start = job[rows], start[rows]
        number = job.view(np.int32)
        last = Last(
            begin=job[:, FROM],
            end=job[:, END],
            alpha=job[:, ALPHA],
            worked=job[:, WORKED],
            times=number[:, TIMES],
            piece=number[:, PIECE],
        )
        end, alpha = np.empty(len(job)), np.empty(len(job))
        first = np.empty(len(job) + 1, dtype=np.int64)
        server = np.empty(len(ran.log.piece), dtype=np.int32)
        taken = np.empty(len(ran.log.piece), dtype=np.int32)
        columns = end, alpha, first, server, taken
        several = lay_out_last(ran.log, last, self.jobs.iterations[rows], ran.heap, columns)
        del job, number, last
        for column in (server, taken):
            column.resize(first[-1], refcheck=False)
        ran.start, ran.end = start, end
        return Records.of(
            self.jobs,
            rows,
            policy=self.policy.name,
            options=self.options,
            start=start,
            end=end,
            alpha=alpha,
            predicted=self.predicted[rows],
            first=first,
            server=server,
            taken=taken,
            parts=Segments.later(ran.by_job) if several > 0 else None,
            complete=complete,
        )


class _Ran:
    """What a run recorded, and the jobs that are kept: those that run or have ended.

    `start` and `end` are theirs: of their first segment and of their last.
    """

    start: Floats
    end: Floats

    def __init__(self, state: State, jobs: Rows) -> None:
        instants = int(state.index[INSTANTS])
        self.log = Log(
            segment_row=state.segment_row[: int(state.index[SEGMENTS])],
            stopped_row=state.stopped_row[: int(state.index[STOPS])],
            alpha=state.alpha[: int(state.index[ALPHAS])],
            piece=state.piece[: int(state.index[PIECES])],
            instant=state.instant[:instants],
            restarts=state.restarts[:instants],
            stops=state.stops[:instants],
        )
        self.jobs, self.is_kept = jobs, state.number[:, TIMES] > 0
        self.heap = np.empty(len(state.servers.free), dtype=np.int64)
        self.rows = slice(None) if self.is_kept.all() else np.flatnonzero(self.is_kept)

    def by_job(self) -> Segments:
        """Laid out by job, and then time."""
        log, jobs = self.log, self.jobs
        counts = np.zeros((len(self.is_kept), 2), dtype=np.int64)
        count(log, counts)
        begin = _begins(counts, self.is_kept)
        kept, (segments, pieces) = counts[self.rows, 0], counts[self.rows].sum(axis=0)
        every = len(log.segment_row)
        columns = Columns(
            start=np.empty(every),
            end=np.empty(every),
            alpha=np.empty(every),
            first=np.empty(every + 1, dtype=np.int64),
            server=np.empty(len(log.piece), dtype=np.int32),
            taken=np.empty(len(log.piece), dtype=np.int32),
        )
        columns.alpha[:segments] = np.repeat(jobs.estimate[jobs.configuration[self.rows]], kept)
        lay_out(log, begin, begin.copy(), self.heap, columns)
        lay_out_ends(log, begin[:, 0].copy(), columns.end)
        first = begin[self.rows, 0]
        columns.start[first], columns.end[first + kept - 1] = self.start, self.end
        columns.first[segments] = pieces
        return Segments(
            job=np.repeat(np.arange(len(kept)), kept),
            start=columns.start[:segments],
            end=columns.end[:segments],
            alpha=columns.alpha[:segments],
            first=columns.first[: segments + 1],
            server=columns.server[:pieces],
            taken=columns.taken[:pieces],
        )


def _begins(counts: NDArray[np.int64], is_kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Where each row's entries begin: those that are kept come first."""
    order = np.argsort(~is_kept, kind="stable")
    begin = np.empty_like(counts)
    begin[order] = np.cumsum(counts[order], axis=0) - counts[order]
    return begin


def _new_state(jobs: Jobs, rows: Rows, rules: Rules, predicted: Floats) -> State:
    cluster, many = jobs.cluster, len(jobs)
    room = cluster.gpus + many + many // 4 + 1024
    running = min(many, cluster.gpus)
    sizes = np.bincount(rows.bucket[rows.configuration], minlength=len(rows.sizes))
    by_shares = many if rules.order == SHARE else 0
    table = np.zeros((many + 1) * COLUMNS)
    skipped = -table.ctypes.data // table.itemsize % COLUMNS  # up to where a line of cache begins
    job = table[skipped : skipped + many * COLUMNS].reshape(many, COLUMNS)
    job[:, LEFT], job[:, KNOWN] = jobs.iterations, predicted
    number = job.view(np.int32)
    number[:, KIND] = rows.configuration
    return State(
        index=np.zeros(COUNTERS, dtype=np.int64),
        clock=np.array([-np.inf, np.inf, 0.0]),
        job=job,
        number=number,
        start=np.empty(many),
        running=np.empty(running, dtype=np.int64),
        running_gpus=np.empty(running, dtype=np.int64),
        running_key=np.empty(running),
        end_time=np.empty(2 * running),
        end_row=np.empty(2 * running, dtype=np.int64),
        key=_by_page(many, np.float64),
        row=_by_page(many, np.int64),
        served=_by_page(by_shares, np.float64),
        since=_by_page(by_shares, np.float64),
        begin=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        size=np.zeros(len(sizes), dtype=np.int64),
        front_key=_by_page(many, np.float64),
        front_row=_by_page(many, np.int64),
        front=np.zeros(len(sizes), dtype=np.int64),
        limit=np.full(len(sizes), np.inf),
        longest=np.full(len(sizes), LONGEST_FRONT),
        gone=np.zeros(len(sizes), dtype=np.int64),
        present=np.zeros(len(sizes), dtype=np.int64),
        mark_key=np.full(len(sizes), np.inf),
        mark_row=np.zeros(len(sizes), dtype=np.int64),
        ahead=np.zeros(len(sizes), dtype=np.int64),
        order_key=np.empty(running),
        order_row=np.empty(running, dtype=np.int64),
        order_gpus=np.empty(running, dtype=np.int64),
        parts=np.empty((2 * running + 2, 2), dtype=np.int64),
        aside=_by_page(many, np.int64),
        aside_key=_by_page(many, np.float64),
        segment_row=np.empty(room, dtype=np.int32),
        stopped_row=np.empty(room, dtype=np.int32),
        alpha=np.empty(room),
        piece=np.empty(room, dtype=np.int32),
        instant=np.empty(room),
        restarts=np.empty(room, dtype=np.int32),
        stops=np.empty(room, dtype=np.int32),
        taken=np.zeros(cluster.gpus_per_server + 1, dtype=np.int64),
        scratch=np.zeros(cluster.servers, dtype=np.int32),
        servers=all_free(cluster.servers, cluster.gpus_per_server, rules.offer == FIRST_FIT),
        cache=empty_cache(cluster.gpus_per_server),
    )


def _by_page(count: int, kind: type[Any]) -> NDArray[Any]:
    """An array of which only what is met takes memory; numpy's own take 2 MiB wherever one is."""
    size = np.dtype(kind).itemsize
    return np.frombuffer(mmap.mmap(-1, max(count * size, 1)), kind, count)


def _make_room(state: State) -> None:
    """Room for an eighth as many entries again where it is short, and for those of one pass.

    In place: where the system can, memory is moved by address, and nothing is held twice.
    """
    gpus = len(state.servers.free) * (len(state.servers.histogram) - 1)
    for used, columns in (
        (SEGMENTS, (state.segment_row,)),
        (STOPS, (state.stopped_row,)),
        (ALPHAS, (state.alpha,)),
        (PIECES, (state.piece,)),
        (INSTANTS, (state.instant, state.restarts, state.stops)),
    ):
        room = len(columns[0])
        if room - state.index[used] < gpus:
            for column in columns:
                column.resize(room + room // 8 + gpus, refcheck=False)
