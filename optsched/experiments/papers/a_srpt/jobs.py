"""The workload of a case of a-srpt's figures: synthetic jobs, or a stretch of the user's trace.

The PAI trace does not travel with this package. Without `--trace` jobs are synthetic (a-srpt's
V-A 1-b draw of configurations on generated groups), and say so.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from optsched.errors import InputError
from optsched.generators.workload import WorkloadShape, generate_workload
from optsched.online.data.cluster import OnlineCluster
from optsched.online.instance import OnlineInstance
from optsched.online.traces.importing import import_trace, workload_of_trace
from optsched.online.traces.trace import Trace

REFERENCE = OnlineCluster.of()
"""The NIC that turns durations into iterations: 10 Gbit/s, whatever NIC is simulated."""


@dataclass(frozen=True)
class Machine:
    """A cluster of equal servers; bandwidths in bytes/s."""

    servers: int
    gpus_per_server: int = REFERENCE.gpus_per_server
    inter_bandwidth: float = REFERENCE.inter_bandwidth
    intra_bandwidth: float = REFERENCE.intra_bandwidth


def generate_case(
    jobs: int,
    machine: Machine,
    *,
    shape: WorkloadShape | None = None,
    trace: str | None = None,
    thinned: bool = False,
    seed: int = 0,
) -> OnlineInstance:
    """The workload of one case.

    Parameters
    ----------
    machine : Machine
        Where the jobs run.
    shape : WorkloadShape, optional
        Of synthetic jobs; a trace has its own.
    trace : str, optional
        A PAI job CSV; jobs are then a stretch of it.
    thinned : bool
        Whether a trace is thinned to the shape's share of single-GPU jobs.
    seed : int
        Of the synthetic jobs, or of where the stretch of the trace begins.

    Raises
    ------
    InputError
        If the trace has too few jobs that fit the cluster, or too few of one GPU or of more.
    """
    shape = shape or WorkloadShape()
    cluster = OnlineCluster.of(**vars(machine))
    nic = {"inter_bandwidth": REFERENCE.inter_bandwidth}
    reference = OnlineCluster.of(**{**vars(machine), **nic})
    if trace is None:
        made = generate_workload(jobs, cluster, shape, seed=seed, reference=reference)
        return OnlineInstance(*made, cluster)
    read = _trace(trace)
    share = shape.single_gpu_share if thinned else None
    rows = stretch(read, jobs, cluster.gpus, np.random.default_rng(seed), share)
    workload, catalogue = workload_of_trace(read, seed=seed, reference=reference)
    return OnlineInstance(workload.rows(rows), catalogue, cluster)


def stretch(
    trace: Trace,
    count: int,
    most_gpus: int,
    rng: np.random.Generator,
    single_gpu_share: float | None = None,
) -> NDArray[np.int64]:
    """Rows of consecutive jobs that fit a cluster, from a random one on.

    With a share the shortest stretch that holds enough jobs of one GPU and of more is thinned at
    random to exactly that share: the order and the times of those that stay are the trace's.

    Raises
    ------
    InputError
        If the trace has too few of a kind.
    """
    fitting = np.flatnonzero(trace.gpus <= most_gpus)
    single = trace.gpus[fitting] == 1
    if single_gpu_share is None:
        if len(fitting) < count:
            raise InputError(trace.name, "", f"{len(fitting)} jobs that fit", f"{count} of them")
        first = int(rng.integers(len(fitting) - count + 1))
        return fitting[first : first + count]
    of_one = round(single_gpu_share * count)
    kinds = ((single, of_one), (~single, count - of_one))
    if any(kind.sum() < wanted for kind, wanted in kinds):
        found = f"{single.sum()} jobs of one GPU and {(~single).sum()} of more that fit"
        wanted = f"{of_one} and {count - of_one}: a single-GPU share of {single_gpu_share:.0%}"
        raise InputError(trace.name, "", found, wanted)
    places = [(np.flatnonzero(kind), wanted) for kind, wanted in kinds if wanted]
    latest = min(int(at[len(at) - wanted]) for at, wanted in places)
    first = int(rng.integers(latest + 1))
    after = [(at[at >= first], wanted) for at, wanted in places]
    end = max(int(at[wanted - 1]) for at, wanted in after)
    kept = [rng.choice(at[at <= end], wanted, replace=False) for at, wanted in after]
    return fitting[np.sort(np.concatenate(kept))]


@lru_cache(maxsize=1)
def _trace(path: str) -> Trace:
    return import_trace("pai", path)
