"""The audit's replays of single jobs: when had this job to start, by what the records show?

The head of a-srpt's queue: jobs start in the order of their virtual completions and nothing
overtakes the head, so a job comes to the head when it is complete virtually and the one before it
has started; from then on only ends change what is free. The records give both, and with them the
first offer, kappa, the window's end and the first better offer.

Turns of spwf-consolidated: at every arrival and end a pass comes to each waiting job, in the order
of the keys. Jobs that started earlier, or in the same pass with a lesser key, hold their GPUs; the
job starts at its first turn with an offer that is good enough.
Source: models/online/README.md, "a-srpt" and "spwf-consolidated".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optsched.checking import Violation, slack
from optsched.online.audit_rules.placement import (
    IterationTimes,
    expected_offer,
    free_beside,
    rule_of,
)
from optsched.online.records import Records

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
INF = float("inf")
IMPROVEMENT = 1e-9
AS_ESTIMATED = 1 + 1e-9
"""An offer up to so many times alpha~ is as good as alpha~."""
ARITHMETIC, LAST_DIGITS = 1e-9, 1e-10
"""Relative rounding of a recomputed alpha: at the head, and at a turn."""
MOST_OFFERS, MOST_TURNS = 5_000, 20_000
"""Offers and turns replayed in an audit, about a second; checks end there."""


def delay_violations(
    records: Records,
    configuration: Ints,
    heavy: NDArray[np.bool_],
    times: IterationTimes,
    done: Floats,
    place: Ints,
    spot_checks: int,
) -> list[Violation]:
    """Replay the head of a-srpt for jobs spread evenly over the run, half of them heavy ones."""
    replay = _Head(records, configuration, heavy, times, done, place)
    violations = []
    for i in _chosen(replay.heavy, spot_checks):
        if replay.offers > MOST_OFFERS:
            break
        expected = replay.start_of(i)
        if expected is None:
            continue
        start = float(records.start[i])
        off, allowed = abs(start - expected), slack(start - float(records.submit[i]), start)
        if not off <= allowed:
            if expected == INF:  # no moment up to its start allows one
                off = start - replay.head_from(i)
            where = f"job {records.job_id[i]}"
            violations.append(Violation("delay", "Algorithm 1", where, off, allowed))
    return violations[:20]


def _chosen(heavy: NDArray[np.bool_], spot_checks: int) -> list[int]:
    chosen: set[int] = set()
    for kind in (np.flatnonzero(heavy), np.flatnonzero(~heavy)):
        if len(kind):
            spread = np.linspace(0, len(kind) - 1, min(len(kind), spot_checks // 2 + 1))
            chosen.update(kind[spread.astype(np.int64)].tolist())
    return sorted(chosen)


@dataclass
class _Head:
    records: Records
    configuration: Ints
    heavy: NDArray[np.bool_]
    times: IterationTimes
    done: Floats
    place: Ints
    offers: int = 0

    def __post_init__(self) -> None:
        self.order = np.argsort(self.place)
        self.position = np.argsort(self.order)
        self.owner = np.repeat(np.arange(len(self.records)), np.diff(self.records.first))

    def head_from(self, i: int) -> float:
        """When a job comes to the head of the queue."""
        at = self.position[i]
        before = self.records.start[self.order[at - 1]] if at else 0.0
        return max(float(self.done[i]), float(before))

    def start_of(self, i: int) -> float | None:
        """When a-srpt starts a job; inf if nothing up to its recorded start allows one.

        None where an offer is as good as it must be but for the last digits: they are not the same
        in another arithmetic.
        """
        records, options = self.records, self.records.options
        good = options.comm_heavy * self.times.estimate(int(self.configuration[i]))
        total = records.servers * records.gpus_per_server
        work = records.gpus[i] / total * records.predicted[i] * records.estimate[i]
        sliced = self.times.has_slices(int(self.configuration[i]))
        alpha = kappa = window = INF
        for now, free in self._moments(i):
            if alpha < INF and window < now:
                return window
            if sum(free) < records.gpus[i]:
                continue
            if not (self.heavy[i] or sliced):
                return now  # whatever the offer
            alpha = self._offered_time(i, free)
            if alpha == INF:
                continue
            if not self.heavy[i] or window <= now:
                return now
            if kappa < INF and options.hold == "none":
                accepted = alpha < kappa * (1 - IMPROVEMENT)
            elif alpha != good and abs(alpha - good) <= ARITHMETIC * good:
                return None
            else:
                accepted = alpha <= good
            if kappa == INF and not accepted:
                kappa = alpha
                if options.hold != "inf":
                    window = now + options.tau * float(work)
            if accepted:
                return now
        return window if alpha < INF else INF

    def _moments(self, i: int) -> list[tuple[float, list[int]]]:
        """When what is free changes while a job is at the head, and what is free from then on."""
        records, head = self.records, self.head_from(i)
        ahead = np.zeros(len(records), dtype=bool)
        ahead[self.order[: self.position[i]]] = True
        late = ahead & (records.end > head)
        ends = np.unique(records.end[late & (records.end <= records.start[i])])
        held = np.flatnonzero(late[self.owner])
        moments = []
        for now in (head, *ends.tolist()):
            holds = held[records.end[self.owner[held]] > now]
            free = free_beside(records, records.server[holds], records.taken[holds])
            moments.append((now, free))
        return moments

    def _offered_time(self, i: int, free: list[int]) -> float:
        self.offers += 1
        rule = rule_of(self.records.options.offer or "most", bool(self.heavy[i]))
        offer = expected_offer(free, rule, int(self.records.gpus[i]))
        return self.times.of(int(self.configuration[i]), tuple(offer.values()))


def consolidation_violations(
    records: Records,
    asked: tuple[Ints, NDArray[np.bool_]],
    times: IterationTimes,
    place: Ints,
    arrivals: Floats,
    chosen: Ints,
) -> list[Violation]:
    """Replay the turns of chosen jobs up to their starts."""
    replay = _Turns(records, *asked, times, place, arrivals)
    violations = []
    for i in chosen.tolist():
        said = replay.start_of(i)
        if replay.turns > MOST_TURNS:
            break
        if said is None:
            continue
        expected, offer = said
        start, submit = float(records.start[i]), float(records.submit[i])
        off, allowed = abs(start - expected), slack(start - submit, start)
        where = f"job {records.job_id[i]}"
        if expected == INF:  # no turn up to its start is good enough
            violations.append(Violation("consolidation", "", where, start - submit, allowed))
        elif not off <= allowed:
            violations.append(Violation("consolidation", "", where, off, allowed))
        elif offer != dict(records[i].servers):
            gpus = float(records.gpus[i])
            violations.append(Violation("offer", f"offer {records.options.offer}", where, gpus))
    return violations[:20]


@dataclass
class _Turns:
    records: Records
    configuration: Ints
    heavy: NDArray[np.bool_]
    times: IterationTimes
    place: Ints
    arrivals: Floats
    turns: int = 0

    def __post_init__(self) -> None:
        self.owner = np.repeat(np.arange(len(self.records)), np.diff(self.records.first))

    def start_of(self, i: int) -> tuple[float, dict[int, int]] | None:
        """When and where a job starts; inf and nowhere if no turn is good enough.

        None where an offer is good enough but for the last digits, or where a job of no length has
        two passes fall together.
        """
        records = self.records
        kind, gpus = int(self.configuration[i]), int(records.gpus[i])
        rule = rule_of(records.options.offer or "best-fit-last", bool(self.heavy[i]))
        good = max(records.options.comm_heavy, AS_ESTIMATED) * self.times.estimate(kind)
        here = (records.end >= records.submit[i]) & (records.start <= records.start[i])
        here[i] = False
        if (records.end[here] <= records.start[here]).any():
            return None
        pieces = np.flatnonzero(here[self.owner])
        first, last = float(records.submit[i]), float(records.start[i])
        events = np.concatenate((self.arrivals, records.end[here]))
        for now in np.unique(events[(events >= first) & (events <= last)]).tolist():
            self.turns += 1
            if self.turns > MOST_TURNS:
                return None
            free = self._free(pieces, i, now)
            if sum(free) < gpus:
                continue
            offer = expected_offer(free, rule, gpus)
            alpha = self.times.of(kind, tuple(offer.values()))
            if abs(alpha - good) <= LAST_DIGITS * good:
                return None
            if alpha < good:
                return now, offer
        return INF, {}

    def _free(self, pieces: Ints, i: int, now: float) -> list[int]:
        """Free GPUs by server at a job's turn in the pass of that moment."""
        records, owner = self.records, self.owner[pieces]
        before = self.place[owner] < self.place[i]
        begun = (records.start[owner] < now) | ((records.start[owner] == now) & before)
        held = pieces[begun & (records.end[owner] > now)]
        return free_beside(records, records.server[held], records.taken[held])
