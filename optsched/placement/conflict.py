"""Why replicas do not fit on the servers: the fewest that leave no way to keep slices together.

All slices of a replica are in one server, so an offer of enough GPUs may still be too scattered.
Replicas of as many GPUs are alike here, whatever their stage.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from optsched.backends.irreducible import Naming
from optsched.conflict import Conflict, Counts, Member, smallest_conflict
from optsched.deadline import Deadline
from optsched.display import counted, listed
from optsched.placement.exact.packing import pack
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.result import Settings, Termination

SECONDS, REMEDY_SECONDS = 1.0, 2.0
"""Of one question to the solver, where sizes do not divide each other; and of the remedy."""
MOST_OFFERS = 6
"""Numbers of free GPUs that a line takes one by one."""


def find_conflict(
    instance: PlacementInstance, options: PlacementOptions, thorough: bool
) -> Conflict | None:
    """The fewest replicas that no placement holds; None where there is one. Thorough or not.

    Complexity: a packing for each set asked about.
    """
    sizes = sorted({stage.tensor_parallel for stage in instance.job.stages}, reverse=True)
    wanted = Counter[int]()
    for stage in instance.job.stages:
        wanted[stage.tensor_parallel] += stage.replicas
    most = tuple(wanted[size] for size in sizes)

    def fits(counts: Counts) -> bool | None:
        return _fits(sizes, counts, instance.free_gpus)

    if fits(most) is not False:
        return None
    counts, proof = smallest_conflict(most, fits)
    replicas, servers = _replicas(instance, sizes, counts), _servers(instance, sizes, counts)
    return Conflict(
        instance.name,
        _reason(instance, replicas, sum(counts)),
        1.0,
        "replicas",
        _remedy(instance, sizes, most),
        (*replicas, *servers),
        proof,
    )


def naming(instance: PlacementInstance) -> Naming:
    """What the indices of the placement's models are called."""

    def stage(s: Any) -> str:
        return f"stage {s} ({instance.job.stages[s].name})"

    names: dict[str, Callable[[Any], str]] = {
        "STAGES": stage,
        "SERVERS": lambda m: f"server {m}",
        "REPLICAS": lambda at: f"replica {at[1]} of {stage(at[0])}",
        "WIDTHS": lambda at: f"{stage(at[0])} with a least count of {at[1]}",
        "EQUAL": lambda at: f"servers {at[0]} and {at[1]}",
    }
    return lambda index_set, index: names.get(index_set, str)(index)


def _replicas(
    instance: PlacementInstance, sizes: Sequence[int], counts: Counts
) -> tuple[Member, ...]:
    """Which of which stage: of stages of one size the first ones."""
    left, members = dict(zip(sizes, counts, strict=True)), []
    for s, stage in enumerate(instance.job.stages):
        taken = min(stage.replicas, left[stage.tensor_parallel])
        left[stage.tensor_parallel] -= taken
        if taken:
            each = f"{counted(stage.tensor_parallel, 'GPU')}{' each' if taken > 1 else ''}"
            asks = f"{counted(taken, 'replica')} of {each}"
            members.append(Member("replica", f"stage {s} ({stage.name})", asks))
    return tuple(members)


def _servers(
    instance: PlacementInstance, sizes: Sequence[int], counts: Counts
) -> tuple[Member, ...]:
    """What each server holds of one size alone; servers of as many free GPUs together."""
    asked = [size for size, count in zip(sizes, counts, strict=True) if count]
    alike: dict[int, list[int]] = {}
    for m, free in enumerate(instance.free_gpus):
        alike.setdefault(free, []).append(m)
    members = []
    for free, servers in sorted(alike.items(), reverse=True):
        holds = " or ".join(f"{free // size} of {counted(size, 'GPU')}" for size in asked)
        name = f"{'server' if len(servers) == 1 else 'servers'} {listed(servers)}"
        members.append(Member("server", name, f"{counted(free, 'free GPU')}: holds {holds}"))
    return tuple(members)


def _reason(instance: PlacementInstance, replicas: Sequence[Member], count: int) -> str:
    who = " and ".join(f"{member.asks} of {member.name}" for member in replicas)
    alike = Counter(instance.free_gpus)
    offers = " and ".join(
        f"{counted(number, 'server')} of {counted(free, 'free GPU')}"
        for free, number in sorted(alike.items(), reverse=True)
    )
    if len(alike) > MOST_OFFERS:
        offers = f"{len(instance.free_gpus)} servers of {min(alike)} to {max(alike)} free GPUs"
    if count == 1:
        return f"{who} does not fit on {offers}: no server is large enough"
    return f"{who} do not fit on {offers}: at most {count - 1} of these {count} do"


def _remedy(instance: PlacementInstance, sizes: Sequence[int], most: Counts) -> str:
    """The fewest GPUs more on one server, or else servers more, that would do; in two seconds."""
    largest, deadline = instance.cluster.gpus_per_server, Deadline(REMEDY_SECONDS)
    if sizes[0] > largest:
        return f"a server would need {sizes[0]} GPUs, and has {largest}"
    offer = list(instance.free_gpus)
    firsts: dict[int, int] = {}
    for m, free in enumerate(offer):
        firsts.setdefault(free, m)
    found: tuple[int, int] | None = None
    for free, m in firsts.items():

        def enough(more: int, m: int = m, free: int = free) -> bool:
            return bool(_fits(sizes, most, (*offer[:m], free + more, *offer[m + 1 :])))

        limit = largest - free if found is None else min(largest - free, found[0] - 1)
        if deadline.is_over or limit < 1 or not enough(limit):
            continue
        found = (1 + bisect_left(range(1, limit + 1), True, key=enough), m)
    if found is not None:
        return f"{counted(found[0], 'free GPU')} more on server {found[1]} would do"
    for more in range(1, sum(most) + 1):
        if deadline.is_over:
            break
        if _fits(sizes, most, (*offer, *[largest] * more)):
            return f"{counted(more, 'server')} more of {counted(largest, 'free GPU')} would do"
    return ""


def _fits(sizes: Sequence[int], counts: Counts, free: Sequence[int]) -> bool | None:
    """Whether servers of so many free GPUs hold so many replicas of each size; None: not known."""
    asked = (np.array(sizes, dtype=np.int64), np.array(counts, dtype=np.int64))
    ended = pack(*asked, tuple(free), Settings(time_limit=SECONDS)).termination
    return {Termination.FEASIBLE: True, Termination.INFEASIBLE: False}.get(ended)
