"""The workload of a case of a-srpt's figures: synthetic jobs, or a stretch of the user's trace.

The PAI trace does not travel with this package. Without `--trace` jobs are synthetic (a-srpt's
V-A 1-b draw of configurations on generated groups), and say so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from optsched.errors import InputError
from optsched.generators.workload import WorkloadShape, generate_workload
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.jobs import prepare_jobs
from optsched.online.instance import OnlineInstance
from optsched.online.traces.importing import import_trace, workload_of_trace
from optsched.online.traces.trace import Trace

REFERENCE = OnlineCluster.of()
"""The NIC that turns durations into iterations: 10 Gbit/s, whatever NIC is simulated."""
TRAINING_SHARE = 0.8
"""Of a case's jobs: a predictor is fitted to them, and the others run."""
NEAR = 0.05
"""How far a trace's share of single-GPU jobs may be from a case's: groups change as a whole."""


@dataclass(frozen=True)
class Machine:
    """A cluster of equal servers; bandwidths in bytes/s."""

    servers: int
    gpus_per_server: int = REFERENCE.gpus_per_server
    inter_bandwidth: float = REFERENCE.inter_bandwidth
    intra_bandwidth: float = REFERENCE.intra_bandwidth


@dataclass(frozen=True)
class Source:
    """A trace of the user's, and what is made of its times.

    Attributes
    ----------
    trace : str, optional
        The file; without it jobs are synthetic.
    trace_format : str
        A name of `optsched import`.
    trace_load : float, optional
        What the submissions of the jobs that run are stretched or squeezed to.
    time_scale : float
        What submissions and lengths are multiplied by.
    trace_share : float, optional
        The share of single-GPU jobs: groups are set to one GPU or more at random until it is met.
    """

    trace: str | None = None
    trace_format: str = "pai"
    trace_load: float | None = None
    time_scale: float = 1.0
    trace_share: float | None = None


def generate_case(
    jobs: int,
    machine: Machine,
    *,
    shape: WorkloadShape | None = None,
    source: Source | None = None,
    seed: int = 0,
) -> OnlineInstance:
    """The workload of one case."""
    shape, source = shape or WorkloadShape(), source or Source()
    cluster = OnlineCluster.of(**vars(machine))
    nic = {"inter_bandwidth": REFERENCE.inter_bandwidth}
    reference = OnlineCluster.of(**{**vars(machine), **nic})
    if source.trace is None:
        made = generate_workload(jobs, cluster, shape, seed=seed, reference=reference)
        return OnlineInstance(*made, cluster)
    rng = np.random.default_rng(seed)
    chosen = stretch(trace_of(source), jobs, cluster.gpus, rng)
    if source.trace_share is not None:
        chosen = with_share(chosen, source.trace_share, rng)
    workload, catalogue = workload_of_trace(chosen, seed=seed, reference=reference)
    longer = source.time_scale
    if source.trace_load is not None:
        own = prepare_jobs(workload, catalogue, reference).after(int(TRAINING_SHARE * jobs)).load
        if own is None:
            raise InputError(chosen.name, "", "jobs all submitted at once", "a load to change")
        longer *= own / source.trace_load
    workload = replace(
        workload,
        submit_time=workload.submit_time * longer,
        iterations=workload.iterations * source.time_scale,
    )
    return OnlineInstance(workload, catalogue, cluster)


def stretch(trace: Trace, count: int, most_gpus: int, rng: np.random.Generator) -> Trace:
    """Consecutive jobs that fit a cluster, from a random one on; raises InputError."""
    fitting = np.flatnonzero(trace.gpus <= most_gpus)
    if len(fitting) < count:
        raise InputError(trace.name, "", f"{len(fitting)} jobs that fit", f"{count} of them")
    first = int(rng.integers(len(fitting) - count + 1))
    return trace.take(fitting[first : first + count])


def with_share(trace: Trace, share: float, rng: np.random.Generator) -> Trace:
    """The trace with groups set to one GPU, or to more, at random until the share is met.

    As the paper's V-B 2-b has it. A job that had one GPU and is to have more gets the number of a
    random job that has; all else stays the trace's.
    """
    found, wanted = trace.gpus == 1, f"a single-GPU share of {share:.0%}"
    if share < 1 and found.all():
        raise InputError(trace.name, "", "no job of more GPUs than one", wanted)
    size = np.bincount(trace.group.codes, minlength=len(trace.group.values))
    left, single = round(share * len(trace)), np.zeros(len(size), dtype=bool)
    for group in rng.permutation(len(size)):
        if size[group] <= left:
            single[group] = True
            left -= int(size[group])
    if left > NEAR * len(trace):
        reached = share - left / len(trace)
        raise InputError(trace.name, "", f"groups that allow {reached:.0%} at most", wanted)
    others = trace.gpus[~found]
    drawn = others[rng.integers(len(others), size=len(size))] if len(others) else size
    alone = single[trace.group.codes]
    return replace(
        trace, gpus=np.where(alone, 1, np.where(found, drawn[trace.group.codes], trace.gpus))
    )


def trace_of(source: Source) -> Trace:
    """The user's trace, read once."""
    assert source.trace is not None
    return _read(source.trace_format, source.trace)


def fitting(source: Source, most_gpus: int) -> int:
    """How many jobs of the user's trace fit a cluster."""
    gpus: NDArray[np.int64] = trace_of(source).gpus
    return int((gpus <= most_gpus).sum())


@lru_cache(maxsize=1)
def _read(file_format: str, path: str) -> Trace:
    return import_trace(file_format, path)
