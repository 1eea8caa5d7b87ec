"""Why replicas do not fit on the servers, as one message.

All slices of a replica are in one server, so an offer of enough GPUs may still be too scattered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from optsched.backends.irreducible import Naming
from optsched.conflict import Conflict
from optsched.display import counted
from optsched.placement.exact.packing import packing
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.result import Settings, Termination

MOST_OFFERS = 6
"""Distinct numbers of free GPUs up to which a message lists them."""


def find_conflict(
    instance: PlacementInstance, options: PlacementOptions, thorough: bool
) -> Conflict | None:
    """Why no placement exists; None if one does, or if that takes longer than a few seconds.

    For each size q, servers hold at most the sum of floor(g_m / q) replicas of q GPUs or more. The
    size with the largest shortage is named, if any; else only the packing as a whole fails.
    """
    found = packing(instance, Settings(time_limit=10.0 if thorough else 1.0))
    if found.termination is not Termination.INFEASIBLE:
        return None
    stages, free = instance.job.stages, instance.free_gpus
    shortages = {}
    for size in {stage.tensor_parallel for stage in stages}:
        wanted = sum(stage.replicas for stage in stages if stage.tensor_parallel >= size)
        shortages[size] = wanted - sum(gpus // size for gpus in free)
    size = max(shortages, key=lambda q: (shortages[q], q))
    missing = shortages[size]
    if missing > 0:
        names = ", ".join(
            f"{s} ({x.name})" for s, x in enumerate(stages) if x.tensor_parallel >= size
        )
        wanted = missing + sum(gpus // size for gpus in free)
        reason = (
            f"{counted(wanted, 'replica')} of {counted(size, 'GPU')} or more (stages {names}) do "
            f"not fit on {_offers(instance)}: they hold at most {wanted - missing}"
        )
        remedy = f"room for {counted(missing, 'replica')} more of {counted(size, 'GPU')} is needed"
    else:
        sizes = sorted({stage.tensor_parallel for stage in stages}, reverse=True)
        reason = (
            f"replicas of {' and '.join(map(str, sizes))} GPUs fit on {_offers(instance)} one size "
            "at a time, but not together"
        )
        missing, remedy = 1, "more free GPUs on one server, or smaller replicas, are needed"
    largest = instance.cluster.gpus_per_server
    if size > largest:
        remedy = f"a server would need {size} GPUs, and has {largest}"
    return Conflict(instance.name, reason, float(missing), "replicas", remedy, ())


def naming(instance: PlacementInstance) -> Naming:
    """Names of the indices of the placement's models, for conflicting rows."""

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


def _offers(instance: PlacementInstance) -> str:
    alike = Counter(instance.free_gpus)
    if len(alike) > MOST_OFFERS:
        return f"{len(instance.free_gpus)} servers of {min(alike)} to {max(alike)} free GPUs"
    return " and ".join(
        f"{counted(number, 'server')} of {counted(free, 'free GPU')}"
        for free, number in sorted(alike.items(), reverse=True)
    )
