"""Running a policy that stops jobs: event driven, deterministic, compiled.

Semantics: models/online/README.md, "Preemption". Memory: about 200 bytes a job and 60 a segment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from optsched.online.data.jobs import Jobs
from optsched.online.policies.by_name import Policy, PolicyOptions
from optsched.online.records import Records, Segments, in_server_order
from optsched.online.simulator.iteration_cache import IterationCache, empty_cache
from optsched.online.simulator.offers import FIRST_FIT, RULES
from optsched.online.simulator.server_sets import FreeServers, all_free

Floats = NDArray[np.float64]
NONE = -1
NEXT, RUNNING, SEGMENTS, PIECES, QUEUED, ENDED, ENDS = range(7)
COUNTERS = 7
NOW, HORIZON, CUT = range(3)
TIMES = 3
LEFT, KNOWN, WORKED, FROM, END, ALPHA, SEGMENT, PIECE = range(8)
COLUMNS = 8
"""Of a job: 64 bytes, which a processor fetches together."""
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
        Next arrival, running jobs, segments, pieces, queued, ended, entries of `end_time`.
    clock : (TIMES,) float
        Now; until when all ends are in `end_time`; and up to which share the line's fronts reach at
        the beginning of a round.
    job : (n, COLUMNS) float
        As of the last stop: iterations to go, those predicted to go, and seconds worked. Of running
        jobs: when iterations begin and end, seconds each takes, which segment this is and where its
        pieces begin. Segment s of a job that does not run is NONE - 1 - s, and NONE at first.
    first_segment : (n,) int
        Of jobs that have begun.
    running, running_gpus, running_key, place : (R,) and (n,)
        Rows, their GPUs and keys as last seen, and where each is among them.
    end_time, end_row
        Heap of ends of running jobs, and of some that were stopped: the first is no such.
    key, row, served, since, begin, size, front, limit, longest
        The jobs that wait, of each bucket b from begin[b] on: a heap by (key, row) of front[b], at
        most longest[b] or so, then those with keys above limit[b]; by shares, with seconds worked
        and submission.
    present : (B,) int
        Jobs of each bucket that have arrived and not ended.
    mark_key, mark_row, ahead : (B,)
        By remaining work, a place in line, and the GPUs of the running jobs that come before it by
        their keys as last seen.
    order_key, order_row, aside, aside_key
        Of a pass: heap of running jobs, and room for rows laid aside.
    segment_row, segment_start, segment_end, segment_alpha, segment_pieces, piece_server, piece_gpus
        What is recorded, in order of starts; `_make_room` makes them longer.
    """

    index: Any
    clock: Any
    job: Any
    first_segment: Any
    running: Any
    running_gpus: Any
    running_key: Any
    place: Any
    end_time: Any
    end_row: Any
    key: Any
    row: Any
    served: Any
    since: Any
    begin: Any
    size: Any
    front: Any
    limit: Any
    longest: Any
    present: Any
    mark_key: Any
    mark_row: Any
    ahead: Any
    order_key: Any
    order_row: Any
    aside: Any
    aside_key: Any
    segment_row: Any
    segment_start: Any
    segment_end: Any
    segment_alpha: Any
    segment_pieces: Any
    piece_server: Any
    piece_gpus: Any
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
            configuration=jobs.configuration.astype(np.int32),
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
        """What ran; of an interrupted run, without the jobs that wait."""
        state, job = self.state, self.state.job
        runs, many = job[:, SEGMENT] >= 0, len(job)
        kept = np.flatnonzero((state.first_segment != NONE) & (runs | (job[:, LEFT] == 0)))
        rows = kept if len(kept) < many else slice(None)
        first, job = state.first_segment[rows], job[rows]
        last = np.where(runs[rows], job[:, SEGMENT], NONE - 1 - job[:, SEGMENT]).astype(np.int64)
        begin, server, taken = in_server_order(
            job[:, PIECE].astype(np.int64),
            state.segment_pieces[last],
            state.piece_server,
            state.piece_gpus,
            np.arange(len(kept)),
        )
        ran = _Ran(state, kept, many)
        worked = job[:, WORKED] + np.maximum(0.0, job[:, END] - job[:, FROM])
        return Records.of(
            self.jobs,
            rows,
            policy=self.policy.name,
            options=self.options,
            start=state.segment_start[first],
            end=job[:, END].copy(),
            alpha=np.where(first == last, job[:, ALPHA], worked / self.jobs.iterations[rows]),
            predicted=self.predicted[rows],
            first=begin,
            server=server,
            taken=taken,
            parts=Segments.later(ran.by_job) if len(ran) > len(kept) else None,
            complete=complete,
        )


class _Ran:
    """The segments of a run, in order of starts: those of the jobs that are kept."""

    def __init__(self, state: State, kept: NDArray[np.int64], jobs: int) -> None:
        count, end = int(state.index[SEGMENTS]), int(state.index[PIECES])
        self.row, self.start = state.segment_row[:count], state.segment_start[:count]
        self.end, self.alpha = state.segment_end[:count], state.segment_alpha[:count]
        self.pieces = state.segment_pieces[:count]
        self.server, self.taken = state.piece_server[:end], state.piece_gpus[:end]
        self.kept, self.jobs = kept, jobs

    def __len__(self) -> int:
        if len(self.kept) == self.jobs:
            return len(self.row)
        return int(self._is_kept[self.row].sum())

    @property
    def _is_kept(self) -> NDArray[np.bool_]:
        return np.isin(np.arange(self.jobs), self.kept, assume_unique=True)

    def by_job(self) -> Segments:
        """Laid out by job, and then time."""
        low, high = self.row.astype(np.uint16), (self.row >> 16).astype(np.uint16)
        order = np.argsort(low, kind="stable")  # of 16 bits numpy counts instead of comparing
        order = order[np.argsort(high[order], kind="stable")]
        if len(self.kept) < self.jobs:
            order = order[self._is_kept[self.row[order]]]
        row = self.row[order]
        begin = np.cumsum(self.pieces, dtype=np.int64) - self.pieces
        first, server, taken = in_server_order(begin, self.pieces, self.server, self.taken, order)
        return Segments(
            job=np.cumsum(np.diff(row, prepend=row[:1]) > 0),
            start=self.start[order],
            end=self.end[order],
            alpha=self.alpha[order],
            first=first,
            server=server,
            taken=taken,
        )


def _new_state(jobs: Jobs, rows: Rows, rules: Rules, predicted: Floats) -> State:
    cluster, many = jobs.cluster, len(jobs)
    room = cluster.gpus + many + many // 4 + 1024
    running = min(many, cluster.gpus)
    sizes = np.bincount(rows.bucket[rows.configuration], minlength=len(rows.sizes))
    by_shares = many if rules.order == SHARE else 0
    table = np.zeros((many + 1) * COLUMNS)
    skipped = -table.ctypes.data // table.itemsize % COLUMNS  # up to where a line of cache begins
    job = table[skipped : skipped + many * COLUMNS].reshape(many, COLUMNS)
    job[:, LEFT], job[:, KNOWN], job[:, SEGMENT] = jobs.iterations, predicted, NONE
    return State(
        index=np.zeros(COUNTERS, dtype=np.int64),
        clock=np.array([-np.inf, np.inf, np.inf]),
        job=job,
        first_segment=np.full(many, NONE),
        running=np.empty(running, dtype=np.int64),
        running_gpus=np.empty(running, dtype=np.int64),
        running_key=np.empty(running),
        place=np.empty(many, dtype=np.int32),
        end_time=np.empty(2 * running),
        end_row=np.empty(2 * running, dtype=np.int64),
        key=np.empty(many),
        row=np.empty(many, dtype=np.int64),
        served=np.empty(by_shares),
        since=np.empty(by_shares),
        begin=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        size=np.zeros(len(sizes), dtype=np.int64),
        front=np.zeros(len(sizes), dtype=np.int64),
        limit=np.full(len(sizes), np.inf),
        longest=np.full(len(sizes), LONGEST_FRONT),
        present=np.zeros(len(sizes), dtype=np.int64),
        mark_key=np.full(len(sizes), np.inf),
        mark_row=np.zeros(len(sizes), dtype=np.int64),
        ahead=np.zeros(len(sizes), dtype=np.int64),
        order_key=np.empty(running),
        order_row=np.empty(running, dtype=np.int64),
        aside=np.empty(many, dtype=np.int64),
        aside_key=np.empty(many),
        segment_row=np.empty(room, dtype=np.int32),
        segment_start=np.empty(room),
        segment_end=np.empty(room),
        segment_alpha=np.empty(room),
        segment_pieces=np.empty(room, dtype=np.int32),
        piece_server=np.empty(room, dtype=np.int32),
        piece_gpus=np.empty(room, dtype=np.int16),
        taken=np.zeros(cluster.gpus_per_server + 1, dtype=np.int64),
        scratch=np.zeros(cluster.servers, dtype=np.int32),
        servers=all_free(cluster.servers, cluster.gpus_per_server, rules.offer == FIRST_FIT),
        cache=empty_cache(cluster.gpus_per_server),
    )


def _make_room(state: State) -> None:
    """Room for a quarter as many segments or pieces again, and for those of one pass.

    In place: where the system can, memory is moved by address, and nothing is held twice.
    """
    gpus = len(state.servers.free) * (len(state.servers.histogram) - 1)
    segments = [column for name, column in state._asdict().items() if name.startswith("segment_")]
    pieces = [state.piece_server, state.piece_gpus]
    for used, columns in ((SEGMENTS, segments), (PIECES, pieces)):
        room = len(columns[0])
        if room - state.index[used] < gpus:
            for column in columns:
                column.resize(room + room // 4 + gpus, refcheck=False)
