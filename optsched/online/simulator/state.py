"""What the compiled loop reads and changes, as tuples of arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from optsched.online.simulator.iteration_cache import IterationCache, empty_cache
from optsched.online.simulator.offers import FIRST_FIT
from optsched.online.simulator.server_sets import FreeServers, all_free
from optsched.online.simulator.sure_ends import Ends, no_ends
from optsched.online.simulator.virtual_machine import Machine, idle_machine

STOP_AT_MISFIT, SCAN_ON, BACKFILL, RESERVE = 0, 1, 2, 3
BETTER, GOOD_IN_WINDOW, GOOD = 0, 1, 2
HOLDS = {"none": BETTER, "window": GOOD_IN_WINDOW, "inf": GOOD}
NEXT, RUNNING, PIECES, HEAD, RELEASED, QUEUED, STARTED = range(7)
SEEN_RELEASED, SEEN_RUNNING, SEEN_STARTED, DUE, OVERDUE, LISTED = range(7, 13)
COUNTERS = 13


class Rules(NamedTuple):
    """A policy and its settings as numbers; see `optsched.online.policies.by_name`."""

    virtual: bool
    fifo: bool
    scan: int
    delays: bool
    hold: int
    offer: int
    tau: float
    comm_heavy: float
    slot: float


class Rows(NamedTuple):
    """The jobs in row order.

    Attributes
    ----------
    submit, iterations, predicted, work : (n,) float
        r (first submission at 0), n, n~, and L in seconds of the virtual machine.
    gpus, configuration, rank, bucket : (n,) int
        g; the configuration; the place in the order of the queue's key; the queue's bucket.
    heavy : (C,) bool
        alpha^max/alpha~ >= comm_heavy, by configuration.
    walltime : (n,) float
        The user's estimate, seconds; NaN without one.
    """

    submit: Any
    iterations: Any
    predicted: Any
    work: Any
    gpus: Any
    configuration: Any
    rank: Any
    bucket: Any
    heavy: Any
    walltime: Any


class Queue(NamedTuple):
    """Jobs that may start, in buckets that fit or fail together.

    Attributes
    ----------
    row_at : (n,) int
        The row of each rank.
    heap : (n,) int
        Ranks: bucket b from begin[b] on. A binary heap, or with backfilling a sorted list.
    begin, size, gpus, configuration : (B + 1,), (B,), (B,), (B,) int
        configuration: of buckets of heavy jobs, with backfilling; else -1.
    skip : (n,) int
        With backfilling: the next entry of the bucket that has not started, with shortcuts.
    newest : (B,) int
        With backfilling: the last entry's rank, or -1.
    front : (B,) int
        With backfilling: no entry of the bucket before this one is left. In a pass that scans on:
        1 for the buckets listed in `fitting`.
    waiting : (B,) int
        With backfilling: how many of its entries have not started.
    some : (B / 32,) int
        With backfilling: a bit for each bucket with such entries.
    size_of : (B,) int
        With backfilling: which of the numbers of GPUs, in ascending order, the bucket's is.
    offered : (sizes, gpus a server + 1) int
        With backfilling: the last offer to heavy jobs of each size, pieces by size; how many
        different ones there were before comes first.
    refused : (B,) int
        With backfilling: which offer was too bad for a bucket's heavy jobs last; none, -1.
    fitting, upcoming : (B,) int
        Around a reservation: buckets that fit, and the next rank of each. Where passes scan on:
        buckets with jobs.
    failed : (B,) int
        Where passes scan on: how many changes of what is free there had been when a bucket last
        failed.
    """

    row_at: Any
    heap: Any
    begin: Any
    size: Any
    gpus: Any
    configuration: Any
    skip: Any
    newest: Any
    front: Any
    waiting: Any
    some: Any
    size_of: Any
    offered: Any
    refused: Any
    fitting: Any
    upcoming: Any
    failed: Any


class State(NamedTuple):
    """Everything a run changes; a run can be left and taken up again between any two events.

    Attributes
    ----------
    index : (COUNTERS,) int
        Next arrival, running jobs, pieces written, head, releases, queued, started; three of
        these as the last pass found them; entries of `due_time`, and GPUs held past theirs;
        buckets listed in `fitting` where passes scan on.
    now : (1,) float
        The clock, in seconds.
    ends
        Of the running jobs.
    due_time, due_gpus, overdue_at
        Where the head has a reservation: ends predicted after `overdue_at`, the next one last, and
        the GPUs of the jobs.
    start, end, alpha : (n,) float
        Per job; NaN until it starts.
    first_piece, pieces : (n,) int
        Where its pieces lie in the next.
    piece : (room,) int
        Server and GPUs of every piece so far (`records.SERVER`); `with_more_room` makes it longer.
    kappa, window : (n,) float
        Of delayed jobs: the first offer's alpha and the window's end.
    aside : (n,) int
        Of a pass that scans on: ranks of jobs that it had passed over before a start that leaves
        GPUs which suit them.
    """

    index: Any
    now: Any
    ends: Ends
    due_time: Any
    due_gpus: Any
    overdue_at: Any
    start: Any
    end: Any
    alpha: Any
    first_piece: Any
    pieces: Any
    piece: Any
    kappa: Any
    window: Any
    taken: Any
    scratch: Any
    aside: Any
    servers: FreeServers
    machine: Machine
    cache: IterationCache


def new_state(rows: int, servers: int, gpus_per_server: int, rules: Rules) -> State:
    """A run before its first event."""
    room = servers * gpus_per_server + 4 * rows + 1024  # no page of it is taken before it is met
    running = min(rows, servers * gpus_per_server)
    delayed = rows if rules.delays else 0
    reserving = rules.scan == RESERVE
    return State(
        index=np.zeros(COUNTERS, dtype=np.int64),
        now=np.full(1, -np.inf),
        ends=no_ends(running),
        due_time=np.empty(running if reserving else 0),
        due_gpus=np.empty(running if reserving else 0, dtype=np.int32),
        overdue_at=np.full(1, -np.inf),
        start=np.full(rows, np.nan),
        end=np.full(rows, np.nan),
        alpha=np.full(rows, np.nan),
        first_piece=np.zeros(rows, dtype=np.int64),
        pieces=np.zeros(rows, dtype=np.int32),
        piece=np.empty(room, dtype=np.int32),
        kappa=np.full(delayed, np.nan),
        window=np.full(delayed, np.inf),
        taken=np.zeros(gpus_per_server + 1, dtype=np.int64),
        scratch=np.zeros(servers, dtype=np.int32),
        aside=np.empty(rows if rules.scan == SCAN_ON else 0, dtype=np.int32),
        servers=all_free(servers, gpus_per_server, rules.offer == FIRST_FIT),
        machine=idle_machine(rows if rules.virtual else 0),
        cache=empty_cache(gpus_per_server),
    )


def with_more_room(state: State) -> State:
    """The same run with room for half as many pieces again, and for those of one pass at least."""
    gpus = len(state.servers.free) * (len(state.servers.histogram) - 1)
    more = np.empty(len(state.piece) // 2 + gpus, dtype=np.int32)
    return state._replace(piece=np.concatenate((state.piece, more)))
