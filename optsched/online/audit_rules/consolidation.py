"""The audit's replay of a job's turns where a pass goes on past jobs that wait for near GPUs.

At every arrival and end the pass comes to each job that waits, in the order of the keys. What is
free at a job's turn is what the records leave: jobs that started earlier, or in the same pass with
a lesser key, hold theirs. So the first turn whose offer is good enough is known for any one job,
and with it when the job has to start, and where. Source: models/online/README.md,
"spwf-consolidated".
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
AS_ESTIMATED = 1 + 1e-9
"""An offer up to so many times alpha~ is as good as alpha~."""
ARITHMETIC = 1e-10
"""Relative rounding of a recomputed alpha."""
MOST_TURNS = 2_000
"""Turns replayed in an audit; checks end there."""


def consolidation_violations(
    records: Records,
    asked: tuple[Ints, NDArray[np.bool_]],
    times: IterationTimes,
    place: Ints,
    arrivals: Floats,
    chosen: Ints,
) -> list[Violation]:
    """Replay the turns of chosen jobs up to their starts."""
    replay = _Replay(records, *asked, times, place, arrivals)
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
        if expected == np.inf:  # no turn up to its start is good enough
            violations.append(Violation("consolidation", "", where, start - submit, allowed))
        elif not off <= allowed:
            violations.append(Violation("consolidation", "", where, off, allowed))
        elif offer != dict(records[i].servers):
            gpus = float(records.gpus[i])
            violations.append(Violation("offer", f"offer {records.options.offer}", where, gpus))
    return violations[:20]


@dataclass
class _Replay:
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
        """When and where a job starts; inf and nowhere if no turn up to its start is good enough.

        None where an offer is good enough but for the last digits, or where a job of no length has
        two passes fall together.
        """
        records = self.records
        kind, gpus = int(self.configuration[i]), int(records.gpus[i])
        rule = rule_of(records.options.offer or "best-fit-last", bool(self.heavy[i]))
        most = max(records.options.comm_heavy, AS_ESTIMATED) * self.times.estimate(kind)
        here = (records.end >= records.submit[i]) & (records.start <= records.start[i])
        here[i] = False
        if (records.end[here] <= records.start[here]).any():
            return None
        pieces = np.flatnonzero(here[self.owner])
        for now in self._turns(here, i):
            self.turns += 1
            if self.turns > MOST_TURNS:
                return None
            offer = expected_offer(self._free(pieces, i, now), rule, gpus)
            alpha = self.times.of(kind, tuple(offer.values()))
            if abs(alpha - most) <= ARITHMETIC * most:
                return None
            if alpha < most:
                return now, offer
        return np.inf, {}

    def _turns(self, here: NDArray[np.bool_], i: int) -> list[float]:
        """Arrivals and ends up to a job's start with GPUs enough, others than the time before."""
        records = self.records
        first, last = float(records.submit[i]), float(records.start[i])
        begin, end = np.searchsorted(self.arrivals, (first, np.nextafter(last, np.inf)))
        ends = records.end[here & (records.end <= last)]
        now = np.unique(np.concatenate((self.arrivals[begin:end], ends[ends >= first])))
        sooner = self.place < self.place[i]
        held, changes = np.zeros(len(now)), np.zeros(len(now), dtype=np.int64)
        for which, of, side, sign in (
            (here & sooner, records.start, "right", 1),
            (here & ~sooner, records.start, "left", 1),
            (here, records.end, "right", -1),
        ):
            order = np.argsort(of[which])
            count = np.searchsorted(of[which][order], now, side)  # type: ignore[call-overload]
            held += sign * np.append(0, np.cumsum(records.gpus[which][order]))[count]
            changes += count
        fits = records.servers * records.gpus_per_server - held >= records.gpus[i]
        return now[fits & np.append(True, np.diff(changes) > 0)].tolist()

    def _free(self, pieces: Ints, i: int, now: float) -> list[int]:
        """Free GPUs by server at a job's turn in the pass of that moment."""
        records, owner = self.records, self.owner[pieces]
        before = self.place[owner] < self.place[i]
        begun = (records.start[owner] < now) | ((records.start[owner] == now) & before)
        held = pieces[begun & (records.end[owner] > now)]
        return free_beside(records, records.server[held], records.taken[held])
