"""Workloads of a-srpt's section V: synthetic jobs, or a stretch of the user's trace.

The PAI trace is not part of this package. Without `--trace` jobs are synthetic: a-srpt's V-A 1-b
draw of configurations on generated groups.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from optsched.errors import InputError
from optsched.experiments.papers.artefact import Scale
from optsched.generators.online import WorkloadShape, generate_workload
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.jobs import prepare_jobs
from optsched.online.instance import OnlineInstance
from optsched.online.traces.importing import import_trace, workload_of_trace
from optsched.online.traces.trace import Trace

REFERENCE = OnlineCluster.of()
"""Durations are converted to iterations on its NIC of 10 Gbit/s, whatever NIC is simulated."""
TRAINING_SHARE = 0.8
"""Share of a case's jobs that a predictor is fitted to; the others run."""
SHARE_TOLERANCE = 0.05
"""Tolerance on the share of single-GPU jobs of a trace, whose groups are changed as a whole."""
MIN_TRACE_JOBS = 375
"""Jobs that a trace must have: those of Fig. 5."""
FORMATS_WITH_GROUPS = ("pai", "helios", "swf")
"""Formats of traces that have users and groups."""


@dataclass(frozen=True)
class Machine:
    """A cluster of equal servers; bandwidths in bytes/s."""

    servers: int
    gpus_per_server: int = REFERENCE.largest_server
    inter_bandwidth: float = REFERENCE.inter_bandwidth
    intra_bandwidth: float = REFERENCE.intra_bandwidth


@dataclass(frozen=True)
class Source:
    """A trace of the user's: load, factor on all times, and share of single-GPU jobs to give it."""

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
    shape, source = shape or WorkloadShape(), source or Source()
    cluster = OnlineCluster.of(**vars(machine))
    reference = cluster.model_copy(update={"inter_bandwidth": REFERENCE.inter_bandwidth})
    if source.trace is None:
        made = generate_workload(jobs, cluster, shape, seed=seed, reference=reference)
        return OnlineInstance(*made, cluster)
    rng = np.random.default_rng(seed)
    trace = consecutive_jobs(trace_of(source), jobs, cluster.gpus, rng)
    if source.trace_share is not None:
        trace = with_single_gpu_share(trace, source.trace_share, rng)
    workload, catalogue = workload_of_trace(trace, seed=seed, reference=reference)
    time_factor = source.time_scale
    if source.trace_load is not None:
        load = prepare_jobs(workload, catalogue, reference).after(int(TRAINING_SHARE * jobs)).load
        if load is None:
            raise InputError(trace.name, "", "jobs all submitted at once", "a load to change")
        time_factor *= load / source.trace_load
    workload = replace(
        workload,
        submit_time=workload.submit_time * time_factor,
        iterations=workload.iterations * source.time_scale,
    )
    return OnlineInstance(workload, catalogue, cluster)


def consecutive_jobs(trace: Trace, count: int, max_gpus: int, rng: np.random.Generator) -> Trace:
    """Consecutive jobs that fit a cluster, from a random one on; raises InputError."""
    fitting = np.flatnonzero(trace.gpus <= max_gpus)
    if len(fitting) < count:
        raise InputError(trace.name, "", f"{len(fitting)} jobs that fit", f"{count} of them")
    first = int(rng.integers(len(fitting) - count + 1))
    return trace.take(fitting[first : first + count])


def with_single_gpu_share(trace: Trace, share: float, rng: np.random.Generator) -> Trace:
    """Set random groups to one GPU, and the others to more, until the share is met (V-B 2-b).

    A job that had one GPU and is to have more gets the number of a random job that has more.
    """
    had_one, expected = trace.gpus == 1, f"a single-GPU share of {share:.0%}"
    if share < 1 and had_one.all():
        raise InputError(trace.name, "", "no job of more GPUs than one", expected)
    size = np.bincount(trace.group.codes, minlength=len(trace.group.values))
    remaining, is_single = round(share * len(trace)), np.zeros(len(size), dtype=bool)
    for group in rng.permutation(len(size)):
        if size[group] <= remaining:
            is_single[group] = True
            remaining -= int(size[group])
    if remaining > SHARE_TOLERANCE * len(trace):
        reached = share - remaining / len(trace)
        raise InputError(trace.name, "", f"groups that allow {reached:.0%} at most", expected)
    multiple = trace.gpus[~had_one]
    sampled = multiple[rng.integers(len(multiple), size=len(size))] if len(multiple) else size
    gpus = np.where(had_one, sampled[trace.group.codes], trace.gpus)
    return replace(trace, gpus=np.where(is_single[trace.group.codes], 1, gpus))


def trace_of(source: Source | Scale) -> Trace:
    assert source.trace is not None
    path = Path(source.trace)
    written = path.stat().st_mtime_ns if path.exists() else 0
    return _read(source.trace_format, source.trace, written)


@lru_cache(maxsize=1)
def _read(file_format: str, path: str, written: int) -> Trace:
    return import_trace(file_format, path)


def fitting_jobs(scale: Scale, max_gpus: int) -> int:
    return int((trace_of(scale).gpus <= max_gpus).sum())


def require_groups(name: str, scale: Scale) -> None:
    """Raise InputError where jobs of a trace have no user and group."""
    if scale.trace is not None and scale.trace_format not in FORMATS_WITH_GROUPS:
        found = f"format {scale.trace_format}, whose jobs have no user and group of their own"
        raise InputError(scale.trace, name, found, f"one of {', '.join(FORMATS_WITH_GROUPS)}")


def servers_of(scale: Scale) -> int:
    return 250 if scale.full else 25


def jobs_of(name: str, count: int, scale: Scale, max_gpus: int | None = None) -> int:
    """Number of jobs of a case; raises InputError where a trace has too few."""
    if scale.trace is None:
        return count
    available = fitting_jobs(scale, max_gpus or 8 * servers_of(scale))
    required = max(count, MIN_TRACE_JOBS)
    if available < required:
        expected = f"{required}, four of five of them to fit the forest to"
        raise InputError(scale.trace, name, f"{available} jobs that fit the cluster", expected)
    return count
