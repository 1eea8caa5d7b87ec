"""The jobs of a case of a-srpt's figures: synthetic ones, or a stretch of the user's trace.

The PAI trace does not travel with this package. Without `--trace` jobs are synthetic (a-srpt's
V-A 1-b draw of configurations on generated groups), and say so.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from optsched.errors import InputError
from optsched.experiments.papers.artefact import Scale
from optsched.generators.workload import WorkloadShape, generate_workload
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.jobs import Jobs, prepare_jobs
from optsched.online.traces.importing import import_trace, workload_of_trace
from optsched.online.traces.trace import Trace

REFERENCE = OnlineCluster.of()
"""The NIC that turns durations into iterations: 10 Gbit/s, whatever NIC is simulated."""


def case_jobs(
    count: int,
    cluster: OnlineCluster,
    seed: int,
    scale: Scale,
    shape: WorkloadShape | None = None,
    *,
    single_gpu_share: float | None = None,
) -> Jobs:
    """Jobs of one case.

    Parameters
    ----------
    count : int
        Jobs.
    seed : int
        Of the synthetic jobs, or of where the stretch of the trace begins.
    shape : WorkloadShape, optional
        Of synthetic jobs; a trace has its own.
    single_gpu_share : float, optional
        Share of single-GPU jobs that the case is about, in [0, 1]; by default the shape's, or the
        trace's own.

    Raises
    ------
    InputError
        If the trace has too few jobs that fit the cluster, or too few of one GPU or of more.
    """
    if scale.trace is None:
        shape = shape or WorkloadShape()
        if single_gpu_share is not None:
            shape = replace(shape, single_gpu_share=single_gpu_share)
        workload, catalogue = generate_workload(
            count, cluster, shape, seed=seed, reference=_reference(cluster)
        )
        return prepare_jobs(workload, catalogue, cluster)
    trace = _trace(scale.trace)
    rows = stretch(trace, count, cluster.gpus, np.random.default_rng(seed), single_gpu_share)
    workload, catalogue = workload_of_trace(trace, seed=seed, reference=_reference(cluster))
    return prepare_jobs(workload.rows(rows), catalogue, cluster)


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


def _reference(cluster: OnlineCluster) -> OnlineCluster:
    """The reference NIC on servers of the cluster's kind."""
    return OnlineCluster.of(
        cluster.servers,
        cluster.gpus_per_server,
        REFERENCE.inter_bandwidth,
        cluster.intra_bandwidth,
    )


@lru_cache(maxsize=1)
def _trace(path: str) -> Trace:
    return import_trace("pai", path)
