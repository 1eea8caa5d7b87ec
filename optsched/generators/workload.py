"""Synthetic workloads with recurring groups, from a seed.

A share of the jobs belongs to recurring groups of Zipf sizes; the others to small groups, mostly of
two to four jobs. A group has a user, a number of GPUs, a typical duration (log-normal with a Pareto
tail) and a configuration; its jobs last that long up to a log-normal factor, some exactly.
Submissions are a Poisson process whose span makes the load. `shape_of` reads the same parameters
off a trace.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from optsched.declared import Between, Seed, flag, require_declared
from optsched.errors import InputError, shown
from optsched.generators.arguments import checked
from optsched.online.data.catalogue import Catalogue
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.configuration_draw import ConfigurationDrawer
from optsched.online.data.workload import Labels, Workload

MOST_JOBS = 5_000_000
Count = Annotated[int, Between(1, MOST_JOBS)]
Share = Annotated[float, Between(0, 1)]
AllReduce = Literal["ring", "double-tree"]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_SMALL = 100
ONCE = (1.0,)
"""Small groups of one job."""
SLICES = (0, 1, 2, 4, 8)
"""Numbers of GPUs that a replica may be sliced over; 0 for a-srpt's own draw."""


@dataclass(frozen=True)
class WorkloadShape:
    """What a workload looks like.

    Attributes
    ----------
    load : float
        sum g n alpha~ / (G x submission span).
    single_gpu_share : float
        Jobs of one GPU.
    sizes, size_weights : tuple
        Numbers of GPUs of the other jobs, and how often each is met.
    recurring_share : float
        Jobs in groups that recur (a-srpt: 65% of jobs are submitted five times or more).
    jobs_per_group : float
        Mean jobs of a recurring group.
    small_groups : tuple of float
        How often a group of the other jobs has 1, 2, 3, ... of them; (1,): each is submitted once.
    zipf : float
        Exponent of the recurring groups' sizes.
    users : int
        Users; a group belongs to one.
    durations : tuple of float
        Quantiles of the durations (s), evenly spaced; a duration is drawn between them.
    group_spread : float
        Standard deviation of log(duration) within a group.
    exact_share : float
        Jobs that last exactly as long as their group's typical one.
    slices : int
        0 for a-srpt's draw of models; from 1 on groups of a multiple of so many GPUs, more than
        one, get a transformer or a mixture of experts in slices of so many (tensor parallelism).
    """

    load: Annotated[float, Between(1e-6, 1e6)] = 0.8
    single_gpu_share: Share = 0.7
    sizes: tuple[int, ...] = (2, 4, 8, 16, 32, 64)
    size_weights: tuple[float, ...] = (0.25, 0.25, 0.3, 0.12, 0.06, 0.02)
    recurring_share: Share = 0.65
    jobs_per_group: Annotated[float, Between(1, MOST_JOBS)] = 25.0
    small_groups: tuple[float, ...] = (0.2, 0.35, 0.25, 0.2)
    zipf: Annotated[float, Between(0, 10)] = 1.1
    users: Count = 100
    durations: tuple[float, ...] = ()
    group_spread: Annotated[float, Between(0, 5)] = 0.3
    exact_share: Share = 0.3
    slices: Annotated[int, Between(0, 8)] = 0

    def __post_init__(self) -> None:
        require_declared("generate workload", self, flag)
        if len(self.sizes) != len(self.size_weights) or any(size < 2 for size in self.sizes):
            expected = "from 2 up, one weight each"
            raise InputError("generate workload", "--sizes", shown(self.sizes), expected)
        often = self.size_weights
        if often and not (min(often) >= 0 and 0 < sum(often) < np.inf):
            expected = "weights from 0 up, not all 0"
            raise InputError("generate workload", "--size-weights", shown(often), expected)
        weights = self.small_groups
        if not 1 <= len(weights) <= MOST_SMALL or min(weights) < 0 or not 0 < sum(weights) < np.inf:
            expected = f"up to {MOST_SMALL} weights, not all 0"
            raise InputError("generate workload", "--small-groups", shown(weights), expected)
        if self.slices not in SLICES:
            expected = f"one of {', '.join(map(str, SLICES))}"
            raise InputError("generate workload", "--slices", shown(self.slices), expected)

    def to_dict(self) -> dict[str, Any]:
        """The shape as a JSON object, without what changes nothing."""
        neutral = {"slices": 0, "small_groups": ONCE}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
            if name not in neutral or value != neutral[name]
        }


def default_durations() -> tuple[float, ...]:
    """201 quantiles of 10-minute median, heavy-tailed durations: log-normal, Pareto from 90% on."""
    from scipy.special import ndtri

    share = (np.arange(201) + 0.5) / 201
    value = 600.0 * np.exp(1.6 * ndtri(share))
    cut = 600.0 * np.exp(1.6 * ndtri(0.9))
    tail = cut * ((1 - share) / 0.1) ** (-1 / 1.5)
    return tuple(np.where(share > 0.9, tail, value).tolist())


@checked("generate workload")
def generate_workload(
    jobs: Count = 1000,
    cluster: OnlineCluster | None = None,
    shape: WorkloadShape | None = None,
    *,
    seed: Seed = 0,
    all_reduce: AllReduce = "ring",
    reference: OnlineCluster | None = None,
) -> tuple[Workload, Catalogue]:
    """Generate a workload and the catalogue of its configurations.

    Parameters
    ----------
    jobs : int, optional
        How many jobs.
    cluster : OnlineCluster, optional
        Where it will run: its GPUs set the span of the load, and jobs fit it.
    shape : WorkloadShape, optional
        What it looks like.
    seed : int, optional
        Of every random choice.
    all_reduce : str, optional
        "ring" or "double-tree".
    reference : OnlineCluster, optional
        Whose NIC turns durations into iterations; by default `cluster`.

    Returns
    -------
    workload, catalogue
        Equal arguments give equal results.

    Examples
    --------
    >>> workload, catalogue = generate_workload(100, seed=1)
    >>> len(workload)
    100
    """
    cluster, shape = cluster or OnlineCluster.of(), shape or WorkloadShape()
    has = (reference or cluster).gpus_per_server
    if shape.slices > has or has % max(shape.slices, 1):
        given = f"{shape.slices} on servers of {has} GPUs"
        raise InputError("generate workload", "--slices", given, "a divisor of a server's GPUs")
    shape = shape if shape.durations else replace(shape, durations=default_durations())
    rng = np.random.default_rng(seed)
    group, recurring = _groups(jobs, shape, rng)
    gpus = _gpus(group, recurring, shape, cluster.gpus, rng)
    typical = _durations(int(group.max()) + 1, shape, rng)
    factor = np.exp(rng.normal(0.0, shape.group_spread, jobs) - shape.group_spread**2 / 2)
    factor[rng.random(jobs) < shape.exact_share] = 1.0
    duration = typical[group] * factor
    span = float((gpus[group] * duration).sum()) / (cluster.gpus * shape.load)
    gaps = rng.exponential(1.0, jobs)
    submit = np.concatenate(([0.0], np.cumsum(gaps[1:])))
    submit *= span / submit[-1] if submit[-1] > 0 else 0.0
    user = rng.zipf(1.5, len(gpus)) % shape.users
    drawer = ConfigurationDrawer(seed, reference or cluster, all_reduce, shape.slices)
    names = [f"g{g}" for g in range(len(gpus))]
    configurations, index = drawer.draw(names, gpus)
    alpha = np.array([configuration.estimate for configuration in configurations])
    workload = Workload(
        f"synthetic-{jobs}-s{seed}",
        np.array([f"j{row}" for row in range(jobs)], dtype=object),
        submit,
        gpus[group],
        duration / alpha[index][group],
        Labels.of([f"u{u}" for u in user[group].tolist()]),
        Labels.of([names[g] for g in group.tolist()]),
        Labels.of([configurations[i].key for i in index[group].tolist()]),
    )
    workload.check()
    provenance = {
        "generator": "optsched generate workload",
        "arguments": {"jobs": jobs, "seed": seed, "all_reduce": all_reduce},
        "shape": shape.to_dict(),
    }
    return workload, drawer.catalogue(provenance)


def shape_of(workload: Workload, duration: Floats, cluster: OnlineCluster) -> WorkloadShape:
    """Read a shape off a workload with known durations (s), for the generator to match."""
    if not len(workload):
        raise InputError(workload.name, "", "no job", "at least one")
    single = workload.gpus == 1
    sizes, counts = np.unique(workload.gpus[~single], return_counts=True)
    per_group = np.bincount(workload.group.codes)
    recurring = per_group >= 5
    small = np.bincount(per_group[~recurring], minlength=2)[1:].tolist()
    in_recurring = recurring[workload.group.codes]
    span = float(np.ptp(workload.submit_time))
    work = float((workload.gpus * duration).sum())
    spread, exact = _within_groups(workload.group.codes[in_recurring], duration[in_recurring])
    return WorkloadShape(
        load=work / (cluster.gpus * span) if span > 0 else 1.0,
        single_gpu_share=float(single.mean()),
        sizes=tuple(sizes.tolist()) or (2,),
        size_weights=tuple((counts / counts.sum()).tolist()) or (1.0,),
        recurring_share=float(in_recurring.mean()),
        jobs_per_group=float(per_group[recurring].mean()) if recurring.any() else 1.0,
        small_groups=tuple(map(float, small)) if any(small) else ONCE,
        zipf=_zipf_exponent(per_group[recurring]),
        users=len(np.unique(workload.user.codes)),
        durations=tuple(np.quantile(duration, (np.arange(201) + 0.5) / 201).tolist()),
        group_spread=spread,
        exact_share=exact,
    )


def _groups(jobs: int, shape: WorkloadShape, rng: np.random.Generator) -> tuple[Ints, int]:
    """The group of each job, recurring groups first, and how many of those there are."""
    repeated = round(shape.recurring_share * jobs)
    count = max(1, round(repeated / shape.jobs_per_group)) if repeated else 0
    group = np.arange(jobs, dtype=np.int64) - repeated + count
    if shape.small_groups != ONCE:
        often = np.asarray(shape.small_groups) / sum(shape.small_groups)
        sizes = rng.choice(1 + np.arange(len(often)), jobs - repeated, p=often)
        group[repeated:] = count + np.repeat(np.arange(len(sizes)), sizes)[: len(sizes)]
    if count:
        weight = (1.0 + np.arange(count)) ** -shape.zipf
        group[:repeated] = rng.choice(count, repeated, p=weight / weight.sum())
    rng.shuffle(group)
    return group, count


def _gpus(
    group: Ints, recurring: int, shape: WorkloadShape, capacity: int, rng: np.random.Generator
) -> Ints:
    """GPUs by group, so that the share of jobs with one comes as close as group sizes allow."""
    size = np.bincount(group)
    fitting = [
        (s, w)
        for s, w in zip(shape.sizes, shape.size_weights, strict=True)
        if s <= capacity and w > 0
    ]
    singles = round(shape.single_gpu_share * len(group)) if fitting else len(group)
    gpus = np.ones(len(size), dtype=np.int64)
    if fitting:
        weight = np.array([w for _, w in fitting], dtype=float)
        gpus = rng.choice([s for s, _ in fitting], len(size), p=weight / weight.sum())
    single = np.zeros(len(size), dtype=bool)
    often = np.argsort(-size[:recurring], kind="stable")
    once = np.arange(recurring, len(size))
    lucky = rng.random(recurring) < shape.single_gpu_share
    sizes = size.tolist()
    for number in np.concatenate((often[lucky[often]], once, often[::-1])).tolist():
        if not single[number] and sizes[number] <= singles:
            single[number] = True
            singles -= sizes[number]
    gpus[single] = 1
    return np.asarray(gpus, dtype=np.int64)


def _durations(groups: int, shape: WorkloadShape, rng: np.random.Generator) -> Floats:
    quantiles = np.asarray(shape.durations)
    at = rng.random(groups) * (len(quantiles) - 1)
    return np.asarray(np.exp(np.interp(at, np.arange(len(quantiles)), np.log(quantiles))))


def _within_groups(codes: NDArray[np.int32], duration: Floats) -> tuple[float, float]:
    """Standard deviation of log(duration) in a group, and the share at the group's median."""
    if not len(codes):
        return 0.3, 0.0
    log = np.log(duration)
    count = np.bincount(codes)
    mean = np.bincount(codes, log) / np.maximum(count, 1)
    spread = float(np.sqrt(((log - mean[codes]) ** 2).mean()))
    order = np.lexsort((duration, codes))
    begin = np.concatenate(([0], np.cumsum(count)[:-1]))
    at = np.minimum(begin + count // 2, len(order) - 1)
    median = duration[order][at]
    return min(spread, 5.0), float((duration == median[codes]).mean())


def _zipf_exponent(sizes: Ints) -> float:
    """Least-squares slope of log size over log rank."""
    if len(sizes) < 3:
        return 1.0
    ranked = np.sort(sizes)[::-1]
    slope = np.polyfit(np.log(1.0 + np.arange(len(ranked))), np.log(ranked), 1)[0]
    return float(min(max(-slope, 0.0), 10.0))
