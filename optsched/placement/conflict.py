"""Why replicas do not fit on the servers, as one message.

All tensor slices of a replica are in one server, so enough free GPUs may still be too fragmented.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from optsched.backends.irreducible import Naming
from optsched.conflict import Conflict
from optsched.display import counted
from optsched.placement.heuristics.repartition import packing
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.result import Settings, Termination

MAX_LISTED_OFFERS = 6
"""Largest number of distinct free-GPU values that a message lists."""


def find_conflict(
    instance: PlacementInstance, options: PlacementOptions, thorough: bool
) -> Conflict | None:
    """Why no placement exists; None if one exists or the time limit is reached (10 s or 1 s).

    For each size q, servers hold at most the sum of floor(g_m / q) replicas of q GPUs or more. The
    message names the size with the largest shortage; without any, only all sizes together do not
    fit.
    """
    _, termination = packing(instance, Settings(time_limit=10.0 if thorough else 1.0))
    if termination is not Termination.INFEASIBLE:
        return None
    stages, free = instance.job.stages, instance.free_gpus
    sizes = sorted({stage.tensor_parallel for stage in stages}, reverse=True)
    needed = {q: sum(s.replicas for s in stages if s.tensor_parallel >= q) for q in sizes}
    shortages = {q: needed[q] - sum(gpus // q for gpus in free) for q in sizes}
    size = max(shortages, key=lambda q: (shortages[q], q))
    missing = shortages[size]
    if missing > 0:
        names = ", ".join(
            f"{s} ({x.name})" for s, x in enumerate(stages) if x.tensor_parallel >= size
        )
        reason = (
            f"{counted(needed[size], 'replica')} of {counted(size, 'GPU')} or more (stages {names})"
            f" do not fit on {_servers(instance)}: they hold at most {needed[size] - missing}"
        )
        remedy = f"room for {counted(missing, 'replica')} more of {counted(size, 'GPU')} is needed"
    else:
        reason = (
            f"replicas of {' and '.join(map(str, sizes))} GPUs: each size fits on "
            f"{_servers(instance)} alone, but all sizes together do not"
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
        "WIDTHS": lambda at: f"{stage(at[0])} with a minimum count of {at[1]}",
        "EQUAL": lambda at: f"servers {at[0]} and {at[1]}",
    }
    return lambda index_set, index: names.get(index_set, str)(index)


def _servers(instance: PlacementInstance) -> str:
    servers = Counter(instance.free_gpus)
    if len(servers) > MAX_LISTED_OFFERS:
        return f"{len(instance.free_gpus)} servers of {min(servers)} to {max(servers)} free GPUs"
    return " and ".join(
        f"{counted(number, 'server')} of {counted(free, 'free GPU')}"
        for free, number in sorted(servers.items(), reverse=True)
    )
