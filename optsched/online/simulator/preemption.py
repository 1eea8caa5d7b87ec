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
    """The jobs in row order: r, n, alpha~, g, configuration, and which bucket of sizes each is in.

    `heavy` is by configuration; `sizes` are the distinct g in ascending order.
    """

    submit: Any
    iterations: Any
    estimate: Any
    gpus: Any
    configuration: Any
    bucket: Any
    heavy: Any
    sizes: Any


class State(NamedTuple):
    """Everything a run changes; a run can be left and taken up again between any two events.

    Attributes
    ----------
    index : (COUNTERS,) int
        Next arrival, running jobs, segments, pieces, queued, ended, entries of `end_time`.
    now : (1,) float
        The clock, in seconds.
    left, known, worked : (n,) float
        Iterations to go, those predicted to go, and seconds worked, as of the last stop.
    work_from, end, alpha, segment : (n,)
        Of running jobs: when iterations begin and end, seconds each takes, and which segment this
        is; `segment` of the others is NONE.
    begun : (n,) int
        Segments begun.
    running, place : (R,), (n,) int
        Rows, and where each is among them.
    end_time, end_row
        Heap of the ends of the running jobs, and of some that were stopped: the first is no such.
    key, row, begin, size
        The jobs that wait: a heap by (key, row) for each bucket b, from begin[b] on.
    present : (B,) int
        Jobs of each bucket that have arrived and not ended.
    ahead : (B,) int
        At most the GPUs of the running jobs that come before the first that waits in a bucket.
    running_key, running_gpus, order_key, order_row, aside, aside_key
        Of a pass: keys and GPUs of the running jobs, heap of those, and room for rows laid aside.
    segment_row, segment_start, segment_end, segment_alpha, segment_piece, piece_server, piece_gpus
        What is recorded, in order of starts; `with_more_room` makes them longer.
    """

    index: Any
    now: Any
    left: Any
    known: Any
    worked: Any
    work_from: Any
    end: Any
    alpha: Any
    segment: Any
    begun: Any
    running: Any
    place: Any
    end_time: Any
    end_row: Any
    key: Any
    row: Any
    begin: Any
    size: Any
    present: Any
    ahead: Any
    running_key: Any
    running_gpus: Any
    order_key: Any
    order_row: Any
    aside: Any
    aside_key: Any
    segment_row: Any
    segment_start: Any
    segment_end: Any
    segment_alpha: Any
    segment_piece: Any
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
        sizes, bucket = np.unique(jobs.gpus, return_inverse=True)
        self.rows = Rows(
            submit=jobs.submit,
            iterations=jobs.iterations,
            estimate=jobs.estimate,
            gpus=jobs.gpus,
            configuration=jobs.configuration,
            bucket=bucket.reshape(-1).astype(np.int64),
            heavy=made.worst / made.estimate >= options.comm_heavy,
            sizes=sizes,
        )
        by_index = self.rules.offer == FIRST_FIT
        self.state = _new_state(jobs, self.rows, predicted, by_index)

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
                    self.state = _with_more_room(self.state)
        except KeyboardInterrupt:
            return False

    def records(self, complete: bool) -> Records:
        """What ran; of an interrupted run, without the jobs that wait."""
        state = self.state
        count, end = int(state.index[SEGMENTS]), int(state.index[PIECES])
        row = state.segment_row[:count].astype(np.int64)
        planned = np.full(len(self.jobs), NONE)
        planned[row] = np.arange(count)  # each row's last segment
        ran = (state.segment >= 0) | (state.left == 0)
        order = np.lexsort((np.arange(count), row))
        order = order[ran[row[order]]]
        kept = np.flatnonzero(ran & (planned >= 0)).astype(np.int64)
        first = np.append(state.segment_piece[:count], end)
        begin, server, taken = in_server_order(
            first[:-1], np.diff(first), state.piece_server[:end], state.piece_gpus[:end], order
        )
        segments = Segments(
            job=np.searchsorted(kept, row[order]),
            start=state.segment_start[order],
            end=state.segment_end[order],
            alpha=state.segment_alpha[order],
            first=begin,
            server=server,
            taken=taken,
        )
        return Records.of(
            self.jobs,
            kept,
            policy=self.policy.name,
            options=self.options,
            predicted=self.predicted[kept],
            segments=segments,
            complete=complete,
        )


def _new_state(jobs: Jobs, rows: Rows, predicted: Floats, by_index: bool) -> State:
    cluster, many = jobs.cluster, len(jobs)
    room = cluster.gpus + 2 * many + 1024
    running = min(many, cluster.gpus)
    sizes = np.bincount(rows.bucket, minlength=len(rows.sizes))
    return State(
        index=np.zeros(COUNTERS, dtype=np.int64),
        now=np.full(1, -np.inf),
        left=jobs.iterations.copy(),
        known=np.array(predicted, dtype=np.float64),
        worked=np.zeros(many),
        work_from=np.zeros(many),
        end=np.zeros(many),
        alpha=np.zeros(many),
        segment=np.full(many, NONE, dtype=np.int64),
        begun=np.zeros(many, dtype=np.int32),
        running=np.empty(running, dtype=np.int64),
        place=np.empty(many, dtype=np.int32),
        end_time=np.empty(2 * running),
        end_row=np.empty(2 * running, dtype=np.int64),
        key=np.empty(many),
        row=np.empty(many, dtype=np.int64),
        begin=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        size=np.zeros(len(sizes), dtype=np.int64),
        present=np.zeros(len(sizes), dtype=np.int64),
        ahead=np.zeros(len(sizes), dtype=np.int64),
        running_key=np.empty(running),
        running_gpus=np.empty(running, dtype=np.int64),
        order_key=np.empty(running),
        order_row=np.empty(running, dtype=np.int64),
        aside=np.empty(many, dtype=np.int64),
        aside_key=np.empty(many),
        segment_row=np.empty(room, dtype=np.int64),
        segment_start=np.empty(room),
        segment_end=np.empty(room),
        segment_alpha=np.empty(room),
        segment_piece=np.empty(room, dtype=np.int64),
        piece_server=np.empty(room, dtype=np.int32),
        piece_gpus=np.empty(room, dtype=np.int32),
        taken=np.zeros(cluster.gpus_per_server + 1, dtype=np.int64),
        scratch=np.zeros(cluster.servers, dtype=np.int32),
        servers=all_free(cluster.servers, cluster.gpus_per_server, by_index),
        cache=empty_cache(cluster.gpus_per_server),
    )


def _with_more_room(state: State) -> State:
    """The same run with room for half as many segments again, and for those of one pass."""
    gpus = len(state.servers.free) * (len(state.servers.histogram) - 1)
    grown = ("segment_row", "segment_start", "segment_end", "segment_alpha", "segment_piece")
    longer: dict[str, Any] = {
        name: np.concatenate((column, np.empty(len(column) // 2 + gpus, dtype=column.dtype)))
        for name in (*grown, "piece_server", "piece_gpus")
        for column in [getattr(state, name)]
    }
    return state._replace(**longer)
