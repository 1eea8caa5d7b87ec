"""Replays: recompute the start of single jobs from the records.

The head of a-srpt's queue: jobs start in the order of their virtual completions and nothing
overtakes the head, so a job becomes the head when it is virtually complete and its predecessor has
started; from then on only ends change which GPUs are free. The records give both, and with them the
first offer, kappa, the window's end and the first better offer.

Turns of spwf-consolidated: at every arrival and end a pass examines each waiting job in the order
of the keys. Jobs that started earlier, or in the same pass with a smaller key, hold their GPUs; the
job starts at its first turn with an acceptable offer.
Source: models/online/README.md, "a-srpt" and "spwf-consolidated".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optsched.arrays import Bools, Floats, Ints
from optsched.checking import Violation, slack
from optsched.online.audit_rules.placement import (
    MAX_LISTED,
    IterationTimes,
    evenly_spaced,
    expected_offer,
    free_gpus,
    rule_of,
)
from optsched.online.records import Records

INF = float("inf")
IMPROVEMENT_RTOL = 1e-9
ESTIMATE_RTOL = 1e-9
"""An offer with alpha up to (1 + 1e-9) alpha~ is as good as alpha~."""
HEAD_RTOL, TURN_RTOL = 1e-9, 1e-10
"""Relative rounding of a recomputed alpha: at the head, and at a turn."""
MAX_OFFERS, MAX_TURNS = 5_000, 20_000
"""Work limits of an audit (about 1 s)."""


def delay_violations(
    records: Records,
    configuration: Ints,
    heavy: Bools,
    times: IterationTimes,
    virtual_completion: Floats,
    rank: Ints,
    spot_checks: int,
) -> list[Violation]:
    """Replay the head of a-srpt for jobs spread evenly over the run, half of them heavy ones."""
    replay = _Head(records, configuration, heavy, times, rank, virtual_completion)
    half = spot_checks // 2 + 1
    chosen = (evenly_spaced(np.flatnonzero(mask), half) for mask in (heavy, ~heavy))
    violations = []
    for i in np.sort(np.concatenate([*chosen])).tolist():
        if replay.count > MAX_OFFERS:
            break
        expected = replay.start_of(i)
        if expected is None:
            continue
        start = float(records.start[i])
        difference, allowed = abs(start - expected), slack(start - float(records.submit[i]), start)
        if not difference <= allowed:
            if expected == INF:  # no time up to its start allows one
                difference = start - replay.head_from(i)
            where = f"job {records.job_id[i]}"
            violations.append(Violation("delay", "Algorithm 1", where, difference, allowed))
    return violations[:MAX_LISTED]


@dataclass
class _Replay:
    records: Records
    configuration: Ints
    heavy: Bools
    times: IterationTimes
    rank: Ints
    count = 0
    """Offers or turns replayed so far."""

    def __post_init__(self) -> None:
        self.owner = np.repeat(np.arange(len(self.records)), np.diff(self.records.first))

    def offer(self, i: int, free: list[int], default_rule: str) -> dict[int, int]:
        rule = rule_of(self.records.options.offer or default_rule, bool(self.heavy[i]))
        return expected_offer(free, rule, int(self.records.gpus[i]))

    def free_without(self, held: Ints) -> list[int]:
        """Free GPUs by server while these allocations are held."""
        return free_gpus(self.records, self.records.server[held], self.records.taken[held])


@dataclass
class _Head(_Replay):
    virtual_completion: Floats

    def __post_init__(self) -> None:
        super().__post_init__()
        self.order = np.argsort(self.rank)
        self.position = np.argsort(self.order)

    def head_from(self, i: int) -> float:
        """When a job becomes the head of the queue."""
        position = self.position[i]
        previous = self.records.start[self.order[position - 1]] if position else 0.0
        return max(float(self.virtual_completion[i]), float(previous))

    def start_of(self, i: int) -> float | None:
        """When a-srpt starts a job; inf if nothing up to its recorded start allows one.

        None if the decision depends on rounding.
        """
        records, options = self.records, self.records.options
        limit = options.comm_heavy * self.times.estimate(int(self.configuration[i]))
        total = records.servers * records.gpus_per_server
        work = records.gpus[i] / total * records.predicted[i] * records.estimate[i]
        sliced = self.times.has_slices(int(self.configuration[i]))
        alpha = kappa = window = INF
        for now, free in self._changes(i):
            if alpha < INF and window < now:
                return window
            if sum(free) < records.gpus[i]:
                continue
            if not (self.heavy[i] or sliced):
                return now  # every offer is accepted
            self.count += 1
            offer = self.offer(i, free, "most")
            alpha = self.times.of(int(self.configuration[i]), tuple(offer.values()))
            if alpha == INF:
                continue
            if not self.heavy[i] or window <= now:
                return now
            if kappa < INF and options.hold == "none":
                accepted = alpha < kappa * (1 - IMPROVEMENT_RTOL)
            elif alpha != limit and abs(alpha - limit) <= HEAD_RTOL * limit:
                return None
            else:
                accepted = alpha <= limit
            if kappa == INF and not accepted:
                kappa = alpha
                if options.hold != "inf":
                    window = now + options.tau * float(work)
            if accepted:
                return now
        return window if alpha < INF else INF

    def _changes(self, i: int) -> list[tuple[float, list[int]]]:
        """Times at which the free GPUs change while a job is the head, and the free GPUs then."""
        records, head = self.records, self.head_from(i)
        ahead = np.zeros(len(records), dtype=bool)
        ahead[self.order[: self.position[i]]] = True
        running = ahead & (records.end > head)
        ends = np.unique(records.end[running & (records.end <= records.start[i])])
        held = np.flatnonzero(running[self.owner])
        return [
            (now, self.free_without(held[records.end[self.owner[held]] > now]))
            for now in (head, *ends.tolist())
        ]


def consolidation_violations(
    records: Records,
    configuration: Ints,
    heavy: Bools,
    times: IterationTimes,
    rank: Ints,
    arrivals: Floats,
    chosen: Ints,
) -> list[Violation]:
    """Replay the turns of chosen jobs up to their starts."""
    replay = _Turns(records, configuration, heavy, times, rank, arrivals)
    violations = []
    for i in chosen.tolist():
        expected_start_and_offer = replay.start_of(i)
        if replay.count > MAX_TURNS:
            break
        if expected_start_and_offer is None:
            continue
        expected, offer = expected_start_and_offer
        start, submit = float(records.start[i]), float(records.submit[i])
        difference, allowed = abs(start - expected), slack(start - submit, start)
        where = f"job {records.job_id[i]}"
        if expected == INF:  # no turn up to its start has an acceptable offer
            difference = start - submit
        if expected == INF or not difference <= allowed:
            violations.append(Violation("consolidation", "", where, difference, allowed))
        elif offer != dict(records[i].servers):
            gpus = float(records.gpus[i])
            violations.append(Violation("offer", f"offer {records.options.offer}", where, gpus))
    return violations[:MAX_LISTED]


@dataclass
class _Turns(_Replay):
    arrivals: Floats

    def start_of(self, i: int) -> tuple[float, dict[int, int]] | None:
        """When and where a job starts; (inf, {}) if no turn has an acceptable offer.

        None if the decision depends on rounding, or if a zero-length job causes two passes at one
        time.
        """
        records, configuration = self.records, int(self.configuration[i])
        factor = max(records.options.comm_heavy, 1 + ESTIMATE_RTOL)
        limit = factor * self.times.estimate(configuration)
        relevant = (records.end >= records.submit[i]) & (records.start <= records.start[i])
        relevant[i] = False
        if (records.end[relevant] <= records.start[relevant]).any():
            return None
        allocations = np.flatnonzero(relevant[self.owner])
        first, last = float(records.submit[i]), float(records.start[i])
        events = np.concatenate((self.arrivals, records.end[relevant]))
        for now in np.unique(events[(events >= first) & (events <= last)]).tolist():
            self.count += 1
            if self.count > MAX_TURNS:
                return None
            free = self._free(allocations, i, now)
            if sum(free) < records.gpus[i]:
                continue
            offer = self.offer(i, free, "best-fit-last")
            alpha = self.times.of(configuration, tuple(offer.values()))
            if abs(alpha - limit) <= TURN_RTOL * limit:
                return None
            if alpha < limit:
                return now, offer
        return INF, {}

    def _free(self, allocations: Ints, i: int, now: float) -> list[int]:
        """Free GPUs by server at a job's turn in the pass of that time."""
        records, owner = self.records, self.owner[allocations]
        before = self.rank[owner] < self.rank[i]
        started = (records.start[owner] < now) | ((records.start[owner] == now) & before)
        return self.free_without(allocations[started & (records.end[owner] > now)])
