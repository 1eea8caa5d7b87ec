"""Workloads of a-srpt's section V: synthetic jobs, or a stretch of the user's trace.

The PAI trace is not part of this package. Without `--trace` jobs are synthetic: a-srpt's V-A 1-b
draw of configurations on generated groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from optsched.errors import InputError
from optsched.experiments.papers.artefact import Scale
from optsched.generators.workload import WorkloadShape, generate_workload
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.jobs import prepare_jobs
from optsched.online.instance import OnlineInstance
from optsched.online.traces.importing import import_trace, workload_of_trace
from optsched.online.traces.trace import Trace

LOAD = 0.8
SEEDS, LARGE_SEEDS, QUICK_SEEDS = 10, 5, 3
"""Large: of runs at the paper's size, which share one forest of up to 600,000 jobs."""
REFERENCE = OnlineCluster.of()
"""Its NIC of 10 Gbit/s turns durations into iterations, whatever NIC is simulated."""
TRAINING_SHARE = 0.8
"""Share of a case's jobs that a predictor is fitted to; the others run."""
TRAINED = 5
"""Jobs per job that runs: the other four are for the forest."""
NEAR = 0.05
"""How far a trace's share of single-GPU jobs may be from a case's: groups change as a whole."""
MIN_TRACE = 375
"""Jobs that a trace must have: those of Fig. 5."""
RECURRENCE, GROUPED = ("a-srpt-fig4", "a-srpt-fig9"), ("pai", "helios", "swf")
"""Claims on the similarity of a group's jobs, and the trace formats with users and groups."""


@dataclass(frozen=True)
class Machine:
    """A cluster of equal servers; bandwidths in bytes/s."""

    servers: int
    gpus_per_server: int = REFERENCE.gpus_per_server
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
    stretched = source.time_scale
    if source.trace_load is not None:
        own = prepare_jobs(workload, catalogue, reference).after(int(TRAINING_SHARE * jobs)).load
        if own is None:
            raise InputError(chosen.name, "", "jobs all submitted at once", "a load to change")
        stretched *= own / source.trace_load
    workload = replace(
        workload,
        submit_time=workload.submit_time * stretched,
        iterations=workload.iterations * source.time_scale,
    )
    return OnlineInstance(workload, catalogue, cluster)


def stretch(trace: Trace, count: int, max_gpus: int, rng: np.random.Generator) -> Trace:
    """Consecutive jobs that fit a cluster, from a random one on; raises InputError."""
    fits = np.flatnonzero(trace.gpus <= max_gpus)
    if len(fits) < count:
        raise InputError(trace.name, "", f"{len(fits)} jobs that fit", f"{count} of them")
    first = int(rng.integers(len(fits) - count + 1))
    return trace.take(fits[first : first + count])


def with_share(trace: Trace, share: float, rng: np.random.Generator) -> Trace:
    """The trace with groups set to one GPU, or to more, at random until the share is met (V-B 2-b).

    A job that had one GPU and is to have more gets the number of a random job that has more.
    """
    one, wanted = trace.gpus == 1, f"a single-GPU share of {share:.0%}"
    if share < 1 and one.all():
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
    others = trace.gpus[~one]
    drawn = others[rng.integers(len(others), size=len(size))] if len(others) else size
    alone = single[trace.group.codes]
    return replace(
        trace, gpus=np.where(alone, 1, np.where(one, drawn[trace.group.codes], trace.gpus))
    )


def trace_of(source: Source | Scale) -> Trace:
    """The user's trace, read once."""
    assert source.trace is not None
    path = Path(source.trace)
    written = path.stat().st_mtime_ns if path.exists() else 0
    return _read(source.trace_format, source.trace, written)


@lru_cache(maxsize=1)
def _read(file_format: str, path: str, written: int) -> Trace:
    return import_trace(file_format, path)


def fitting(scale: Scale, max_gpus: int) -> int:
    """How many jobs of the user's trace fit a cluster."""
    return int((trace_of(scale).gpus <= max_gpus).sum())


def seeds(scale: Scale, count: int = SEEDS) -> range:
    """So many seeds, or three for a smoke test."""
    return range(QUICK_SEEDS if scale.quick else count)


def servers_of(scale: Scale) -> int:
    """Servers of a case."""
    return 250 if scale.full else 25


def jobs_of(name: str, wanted: int, scale: Scale, max_gpus: int | None = None) -> int:
    """Number of jobs of a case; raises InputError where a trace has too few."""
    if scale.trace is None:
        return wanted
    if name in RECURRENCE and scale.trace_format not in GROUPED:
        found = f"format {scale.trace_format}, whose jobs have no user and group of their own"
        raise InputError(scale.trace, name, found, f"one of {', '.join(GROUPED)}")
    has = fitting(scale, max_gpus or 8 * servers_of(scale))
    if has < max(wanted, MIN_TRACE):
        expected = f"{max(wanted, MIN_TRACE)}, four of five of them to fit the forest to"
        raise InputError(scale.trace, name, f"{has} jobs that fit the cluster", expected)
    return wanted


def setting(scale: Scale, fitted: str, *, simulated: bool = True) -> str:
    """Workload, cluster and parameters, as a verdict states them."""
    load = "the trace's own load" if scale.load is None else f"load {scale.load:g}"
    run = ", tau 100, COMM_HEAVY 1.5, baselines by most-available" if simulated else ""
    return (
        f"{scale.source}, {servers_of(scale)} x 8 GPUs, {fitted}, "
        f"{load if scale.trace else f'load {LOAD}'}{run}"
    )
