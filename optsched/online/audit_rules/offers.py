"""The audit's spot checks of offers: did a job get the GPUs that its rule gives it?

Looked at are jobs that start alone at their instant: then what was free is what the records leave
free. The expected pieces come from plain sorting.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from optsched.checking import Violation
from optsched.online.records import Records

Ints = NDArray[np.int64]


def offer_violations(
    records: Records, heavy: NDArray[np.bool_], spot_checks: int
) -> list[Violation]:
    """Check offers spread evenly over the run; slots and own policies are passed over."""
    rule = records.options.offer
    if rule is None or records.options.slot > 0:
        return []
    parts = records.segments
    _, place, count = np.unique(parts.start, return_inverse=True, return_counts=True)
    alone = np.flatnonzero(count[place] == 1)
    if not len(alone):
        return []
    chosen = alone[np.unique(np.linspace(0, len(alone) - 1, spot_checks).astype(np.int64))]
    owner = np.repeat(np.arange(len(parts)), np.diff(parts.first))
    found = []
    for at in chosen:
        i = parts.job[at]
        named = rule_of(rule, bool(heavy[i]))
        free = _free_before(records, owner, float(parts.start[at]))
        if expected_offer(free, named, int(records.gpus[i])) != dict(parts[int(at)].servers):
            where = f"job {records.job_id[i]}"
            found.append(Violation("offer", f"offer {named}", where, float(records.gpus[i])))
    return found[:20]


def rule_of(rule: str, heavy: bool) -> str:
    """The offer rule of a job, where adaptive says so by whether it communicates much."""
    if rule != "adaptive":
        return rule
    return "most" if heavy else "least"


def expected_offer(free: list[int], rule: str, gpus: int) -> dict[int, int]:
    """GPUs by server that a rule other than adaptive gives a job."""
    order = [m for m in range(len(free)) if free[m] > 0]
    if rule in ("most", "best-fit-last"):
        order.sort(key=lambda m: -free[m])
    elif rule == "least":
        order.sort(key=lambda m: free[m])
    pieces: dict[int, int] = {}
    for server in order:
        left = gpus - sum(pieces.values())
        if left == 0:
            break
        if rule == "best-fit-last" and free[server] >= left:
            server = min(
                (m for m in order if m not in pieces and free[m] >= left), key=lambda m: free[m]
            )
        pieces[server] = min(left, free[server])
    return pieces


def free_beside(records: Records, server: Ints, taken: Ints) -> list[int]:
    """Free GPUs by server while pieces, so many GPUs of a server each, are held."""
    used = np.bincount(server, weights=taken, minlength=records.servers)
    return (records.gpus_per_server - used).astype(int).tolist()


def _free_before(records: Records, owner: Ints, t: float) -> list[int]:
    """Free GPUs by server at an instant's starts: what ends at that instant has ended."""
    parts = records.segments
    holds = ((parts.start < t) & (parts.end > t))[owner]
    return free_beside(records, parts.server[holds], parts.taken[holds])
