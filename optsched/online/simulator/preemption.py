"""Running a policy that stops jobs: event driven, deterministic, compiled.

Semantics: models/online/README.md, "Preemption".
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from optsched.online.data.jobs import Jobs
from optsched.online.policies.by_name import Policy, PolicyOptions
from optsched.online.records import Records, Segments
from optsched.online.simulator.offers import RULES
from optsched.online.simulator.preemption_state import (
    ALPHA,
    ALPHAS,
    END,
    ENDED,
    FROM,
    INSTANTS,
    ORDERS,
    PIECE,
    PIECES,
    SEGMENTS,
    STOPS,
    TIMES,
    WORKED,
    Floats,
    Rows,
    Rules,
    State,
    make_room,
    new_state,
)
from optsched.online.simulator.segments import (
    Columns,
    Last,
    Log,
    count,
    lay_out,
    lay_out_ends,
    lay_out_last,
)


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
            iterations=jobs.iterations,
            predicted=predicted,
            configuration=jobs.configuration,
            gpus=made.gpus,
            estimate=made.estimate,
            bucket=bucket.reshape(-1).astype(np.int64),
            heavy=made.worst / made.estimate >= options.comm_heavy,
            sizes=sizes,
        )
        self.state = new_state(jobs, self.rows, self.rules)

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
                    make_room(self.state)
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
        self.jobs, self.heap = jobs, np.empty(len(state.servers.free), dtype=np.int64)
        is_whole = state.index[ENDED] == len(jobs.submit)
        self.is_kept = (
            np.ones(len(jobs.submit), dtype=np.bool_) if is_whole else state.number[:, TIMES] > 0
        )
        self.rows = slice(None) if is_whole else np.flatnonzero(self.is_kept)

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
