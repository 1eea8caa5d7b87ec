"""The state of a run that stops jobs: arrays that its compiled loop edits.

Memory: about 150 bytes a job and 20 a segment.
"""

from __future__ import annotations

import mmap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from optsched.online.data.jobs import Jobs
from optsched.online.simulator.iteration_cache import IterationCache, empty_cache
from optsched.online.simulator.offers import FIRST_FIT
from optsched.online.simulator.server_sets import FreeServers, all_free

Floats = NDArray[np.float64]
NONE = -1
NEXT, RUNNING, SEGMENTS, PIECES, QUEUED, ENDED, ENDS, STOPS, RESTARTS, INSTANTS, ALPHAS = range(11)
LAST, LIMIT_ROW, MOST_ENDS, MOST_LAST = range(11, 15)
COUNTERS = 15
NOW, HORIZON, FETCHED, REACHED, LIMIT = range(5)
LEFT, KNOWN, WORKED, FROM, END, ALPHA = range(6)
SUBMITTED = KNOWN
"""By shares, for which nothing need be known."""
TIMES, PIECE, PLACE, KIND = range(12, 16)
COLUMNS = 8
"""Of a job: 64 bytes, which a processor fetches together; four whole numbers are the last two."""
GONE = -1.0
"""What is left of a job that has ended."""
LONGEST_FRONT = 2**9
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
    """The jobs in row order: r, n, n~ and configuration; of these g, alpha~, bucket, and if heavy.

    `sizes` are the distinct g in ascending order.
    """

    submit: Any
    iterations: Any
    predicted: Any
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
        Next arrival, running jobs, segments, pieces, queued, ended, entries of `end_key`; stops,
        restarts, entries of `instant`, entries of `alpha`; running jobs in `last_row`, the row that
        goes with LIMIT, and of how many entries `end_key` and `last_key` are shortened.
    clock : (5,) float
        Now; until when all ends are in `end_key`; what nobody looks at; by shares, the key of the
        last job that was chosen in a round; and by remaining work, after which key running jobs
        are in `last_row`, not in `running`.
    job : (n, COLUMNS) float
        As of the last stop: iterations to go, those predicted to go (by shares, when it was
        submitted), and seconds worked. Of running jobs: when iterations begin and end, and seconds
        each takes.
    number : (n, 2 COLUMNS) int
        The same memory. Of running jobs: the how manieth segment this is (below 0 once it is
        stopped), where its pieces begin, and where it is in `running`, or NONE; of all: its
        configuration.
    start : (n,) float
        Of jobs that have begun.
    running, running_gpus, running_key : (R,)
        Rows, their GPUs and keys as last seen.
    last_key, last_row
        By remaining work, the running jobs that come last, in order by (key, row) as last seen.
    end_key, end_row
        Minus the ends of the running jobs that end soon, in order, and of some that were stopped:
        the last is no such.
    key, row, served, since, begin, size
        Jobs that wait behind the front, of each bucket b size[b] from begin[b] on; by shares, with
        seconds worked and submission.
    chosen_key, chosen, at, until, limit, longest
        In order by (key, row), from at[b] to until[b], those that wait with keys up to limit[b]: as
        of when these were chosen, and of those that came since who comes soon. With those of the
        heap at most longest[b] or so.
    front_key, front_row, front
        From begin[b] on, a heap by (key, row) of the front[b] others with such keys.
    head_key, head, gone : (B,)
        The first of both, NONE where nobody waits; how many have left, by shares in this round.
    present : (B,) int
        Jobs of each bucket that have arrived and not ended.
    mark_key, mark_row, ahead : (B,)
        By remaining work, a place in line, and no more than the GPUs of the running jobs that come
        before it.
    forward : (B + 1,) int
        Of a pass: buckets whose first may come before jobs that run.
    order_key, order_row, order_gpus, parts, aside, aside_key
        Of a pass: running jobs that may be stopped, ends and GPUs of parts of these that are yet to
        be gone through, and room for rows laid aside.
    line, line_key, ends
        By shares, the candidates of a round by bins, and where those of each bin end.
    spare, spare_key, bins
        Room to put lists in order.
    segment_row, stopped_row, alpha, piece, instant, restarts, stops
        What is recorded; `make_room` makes them longer. Jobs in order of starts, and of stops;
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
    last_key: Any
    last_row: Any
    end_key: Any
    end_row: Any
    key: Any
    row: Any
    served: Any
    since: Any
    begin: Any
    size: Any
    chosen_key: Any
    chosen: Any
    at: Any
    until: Any
    limit: Any
    longest: Any
    front_key: Any
    front_row: Any
    front: Any
    head_key: Any
    head: Any
    gone: Any
    present: Any
    mark_key: Any
    mark_row: Any
    ahead: Any
    forward: Any
    order_key: Any
    order_row: Any
    order_gpus: Any
    parts: Any
    aside: Any
    aside_key: Any
    line: Any
    line_key: Any
    ends: Any
    spare: Any
    spare_key: Any
    bins: Any
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


def new_state(jobs: Jobs, rows: Rows, rules: Rules) -> State:
    """A run before its first event."""
    cluster, many = jobs.cluster, len(jobs)
    room = cluster.gpus + 8 * many + 1024  # no page of it is taken before it is met
    running = min(many, cluster.gpus)
    sizes = np.bincount(rows.bucket[rows.configuration], minlength=len(rows.sizes))
    by_shares = many if rules.order == SHARE else 0
    table = np.zeros((many + 1) * COLUMNS)
    skipped = -table.ctypes.data // table.itemsize % COLUMNS  # up to where a line of cache begins
    job = table[skipped : skipped + many * COLUMNS].reshape(many, COLUMNS)
    number = job.view(np.int32)
    return State(
        index=np.zeros(COUNTERS, dtype=np.int64),
        clock=np.array([-np.inf, np.inf, 0.0, 0.0, np.inf]),
        job=job,
        number=number,
        start=np.empty(many),
        running=np.empty(running, dtype=np.int64),
        running_gpus=np.empty(running, dtype=np.int64),
        running_key=np.empty(running),
        last_key=np.empty(running),
        last_row=np.empty(running, dtype=np.int64),
        end_key=np.empty(2 * running),
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
        chosen_key=_by_page(many, np.float64),
        chosen=_by_page(many, np.int64),
        at=np.zeros(len(sizes), dtype=np.int64),
        until=np.zeros(len(sizes), dtype=np.int64),
        head_key=np.zeros(len(sizes)),
        head=np.full(len(sizes), NONE),
        limit=np.full(len(sizes), np.inf),
        longest=np.full(len(sizes), LONGEST_FRONT),
        gone=np.zeros(len(sizes), dtype=np.int64),
        present=np.zeros(len(sizes), dtype=np.int64),
        mark_key=np.full(len(sizes), np.inf),
        mark_row=np.zeros(len(sizes), dtype=np.int64),
        ahead=np.zeros(len(sizes), dtype=np.int64),
        forward=np.zeros(len(sizes) + 1, dtype=np.int64),
        order_key=np.empty(running),
        order_row=np.empty(running, dtype=np.int64),
        order_gpus=np.empty(running, dtype=np.int64),
        parts=np.empty((2 * running + 2, 2), dtype=np.int64),
        aside=_by_page(many, np.int64),
        aside_key=_by_page(many, np.float64),
        line=_by_page(by_shares, np.int64),
        line_key=_by_page(by_shares, np.float64),
        ends=_by_page(by_shares + 1, np.int64),
        spare=_by_page(many + 1, np.int64),
        spare_key=_by_page(many, np.float64),
        bins=_by_page(many + 1, np.int64),
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


def make_room(state: State) -> None:
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
