"""Online instances: synthetic workloads with recurring groups, on equal servers.

A share of the jobs belongs to recurring groups of Zipf sizes; the others belong to small groups,
mostly of two to four jobs. A group has a user, a number of GPUs, a typical duration (log-normal
with a Pareto tail) and a configuration. Its jobs last that long up to a log-normal factor, some
exactly. Submissions follow a Poisson process, scaled to the requested load. `shape_of` estimates
these parameters from a trace.
"""

from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from optsched.arrays import Floats as Floats
from optsched.arrays import Ints as Ints
from optsched.declared import Between, Seed, flag, require_declared
from optsched.errors import InputError, shown
from optsched.generators.arguments import checked
from optsched.online.data.catalogue import Catalogue
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.configuration_draw import ConfigurationDrawer
from optsched.online.data.workload import Labels, Workload
from optsched.online.instance import OnlineInstance

MOST_JOBS = 5_000_000
Count = Annotated[int, Between(1, MOST_JOBS)]
Share = Annotated[float, Between(0, 1)]
AllReduce = Literal["ring", "double-tree"]

MAX_SMALL_GROUP = 100
SINGLETON_GROUPS = (1.0,)
"""Small groups of one job."""
SLICES = (0, 1, 2, 4, 8)
"""Numbers of GPUs that a replica may be sliced over; 0: models as drawn in a-srpt."""


@dataclass(frozen=True)
class WorkloadShape:
    """Parameters of a workload.

    Attributes
    ----------
    load : float
        GPU seconds of the jobs over those of the cluster while jobs are submitted.
    single_gpu_share : float
        Share of the jobs with one GPU.
    sizes : tuple
        GPUs of a job, for the other jobs.
    size_weights : tuple
        Weights of `sizes`.
    recurring_share : float
        Share of the jobs in recurring groups (a-srpt: 65% are submitted five times or more).
    jobs_per_group : float
        Mean number of jobs of a recurring group.
    small_groups : tuple of float
        Weights of the sizes 1, 2, 3, ... of the other groups; (1,): no job is repeated.
    zipf : float
        Zipf exponent of the recurring groups' sizes.
    users : int
        Number of users; a group belongs to one.
    durations : tuple of float
        Quantiles of the durations (s), evenly spaced; a duration is drawn between them.
    group_spread : float
        Standard deviation of log(duration) within a group.
    exact_share : float
        Share of the jobs that last exactly their group's typical duration.
    slices : int
        0: models as in a-srpt. k > 1: groups with a multiple of k GPUs, more than one, get a
        transformer or mixture of experts with tensor parallelism over k GPUs.
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
        if self.size_weights and not _are_weights(self.size_weights):
            found, expected = shown(self.size_weights), "weights from 0 up, not all 0"
            raise InputError("generate workload", "--size-weights", found, expected)
        if len(self.small_groups) > MAX_SMALL_GROUP or not _are_weights(self.small_groups):
            expected = f"up to {MAX_SMALL_GROUP} weights, not all 0"
            raise InputError(
                "generate workload", "--small-groups", shown(self.small_groups), expected
            )
        if self.slices not in SLICES:
            expected = f"one of {', '.join(map(str, SLICES))}"
            raise InputError("generate workload", "--slices", shown(self.slices), expected)

    def to_dict(self) -> dict[str, Any]:
        """The shape as a JSON object, without neutral values."""
        neutral = {"slices": 0, "small_groups": SINGLETON_GROUPS}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
            if name not in neutral or value != neutral[name]
        }


def _are_weights(values: tuple[float, ...]) -> bool:
    return min(values, default=-1) >= 0 and 0 < sum(values) < np.inf


def default_durations() -> tuple[float, ...]:
    """201 quantiles of 10-minute median, heavy-tailed durations: log-normal, Pareto from 90% on.

    The spread (1.6) and the tail's exponent (1.5) are chosen here, not fitted to a trace.
    """
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
        Number of jobs.
    cluster : OnlineCluster, optional
        The cluster: its GPUs set the span of the load, and jobs fit it.
    shape : WorkloadShape, optional
        Parameters of the workload.
    seed : int, optional
        Seed of every random choice.
    all_reduce : str, optional
        All-reduce algorithm, "ring" or "double-tree".
    reference : OnlineCluster, optional
        Cluster whose NIC turns durations into iterations; by default `cluster`.

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
    gpus_per_server = (reference or cluster).largest_server
    if shape.slices > gpus_per_server or gpus_per_server % max(shape.slices, 1):
        found = f"{shape.slices} on servers of {gpus_per_server} GPUs"
        raise InputError("generate workload", "--slices", found, "a divisor of a server's GPUs")
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


@checked("generate workload")
def generate_online(
    jobs: Count = 1000,
    servers: int = 250,
    *,
    gpus_per_server: int = 8,
    inter_bandwidth: float = 1.25e9,
    intra_bandwidth: float = 3e11,
    all_reduce: AllReduce = "ring",
    shape: WorkloadShape | None = None,
    seed: Seed = 0,
    name: str | None = None,
) -> OnlineInstance:
    """Generate one workload with its cluster; equal arguments give equal instances.

    Parameters
    ----------
    jobs : int
        Number of jobs.
    servers : int
        Number of servers.
    gpus_per_server : int
        GPUs of a server.
    inter_bandwidth : float
        Bandwidth of a server's NIC, bytes/s.
    intra_bandwidth : float
        Bandwidth between the GPUs of a server, bytes/s.
    all_reduce : str
        All-reduce algorithm, "ring" or "double-tree".
    shape : WorkloadShape, optional
        The load, the jobs' sizes and durations, and how they recur.
    seed : int, optional
        Seed of every random choice.
    name : str, optional
        Name of the instance; by default one that states its arguments.
    """
    cluster = OnlineCluster.of(servers, gpus_per_server, inter_bandwidth, intra_bandwidth)
    shape = shape or WorkloadShape()
    workload, catalogue = generate_workload(jobs, cluster, shape, seed=seed, all_reduce=all_reduce)
    name = name or f"{jobs}-{servers}x{gpus_per_server}-rho{shape.load:g}-s{seed}"
    provenance = {
        "generator": "optsched.generators.online:generate_online",
        "arguments": {"jobs": jobs, "servers": servers, "seed": seed, **shape.to_dict()},
    }
    return OnlineInstance(workload.named(name), catalogue, cluster, provenance)


def shape_of(workload: Workload, duration: Floats, cluster: OnlineCluster) -> WorkloadShape:
    """Estimate the shape of a workload with known durations (s), for the generator to match."""
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
        small_groups=tuple(map(float, small)) if any(small) else SINGLETON_GROUPS,
        zipf=_zipf_exponent(per_group[recurring]),
        users=len(np.unique(workload.user.codes)),
        durations=tuple(np.quantile(duration, (np.arange(201) + 0.5) / 201).tolist()),
        group_spread=spread,
        exact_share=exact,
    )


def _groups(jobs: int, shape: WorkloadShape, rng: np.random.Generator) -> tuple[Ints, int]:
    repeated = round(shape.recurring_share * jobs)
    count = max(1, round(repeated / shape.jobs_per_group)) if repeated else 0
    group = np.arange(jobs, dtype=np.int64) - repeated + count
    if shape.small_groups != SINGLETON_GROUPS:
        weights = np.asarray(shape.small_groups) / sum(shape.small_groups)
        sizes = rng.choice(1 + np.arange(len(weights)), jobs - repeated, p=weights)
        group[repeated:] = count + np.repeat(np.arange(len(sizes)), sizes)[: len(sizes)]
    if count:
        weight = (1.0 + np.arange(count)) ** -shape.zipf
        group[:repeated] = rng.choice(count, repeated, p=weight / weight.sum())
    rng.shuffle(group)
    return group, count


def _gpus(
    group: Ints, recurring: int, shape: WorkloadShape, capacity: int, rng: np.random.Generator
) -> Ints:
    """GPUs by group: the share of single-GPU jobs comes as close as the group sizes allow."""
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
    # Groups get one GPU while single-GPU jobs are missing: first the recurring groups that a draw
    # favours, the largest first, then the small ones, then the other recurring ones.
    single = np.zeros(len(size), dtype=bool)
    by_size = np.argsort(-size[:recurring], kind="stable")
    small_groups = np.arange(recurring, len(size))
    is_favoured = rng.random(recurring) < shape.single_gpu_share
    sizes = size.tolist()
    order = (by_size[is_favoured[by_size]], small_groups, by_size[::-1])
    for group_number in np.concatenate(order).tolist():
        if not single[group_number] and sizes[group_number] <= singles:
            single[group_number] = True
            singles -= sizes[group_number]
    gpus[single] = 1
    return np.asarray(gpus, dtype=np.int64)


def _durations(groups: int, shape: WorkloadShape, rng: np.random.Generator) -> Floats:
    quantiles = np.asarray(shape.durations)
    position = rng.random(groups) * (len(quantiles) - 1)
    return np.asarray(np.exp(np.interp(position, np.arange(len(quantiles)), np.log(quantiles))))


def _within_groups(codes: NDArray[np.int32], duration: Floats) -> tuple[float, float]:
    """Standard deviation of log(duration) within groups, and the share at the group's median."""
    if not len(codes):
        return 0.3, 0.0
    log = np.log(duration)
    count = np.bincount(codes)
    mean = np.bincount(codes, log) / np.maximum(count, 1)
    spread = float(np.sqrt(((log - mean[codes]) ** 2).mean()))
    order = np.lexsort((duration, codes))
    begin = np.concatenate(([0], np.cumsum(count)[:-1]))
    median = duration[order][np.minimum(begin + count // 2, len(order) - 1)]
    return min(spread, 5.0), float((duration == median[codes]).mean())


def _zipf_exponent(sizes: Ints) -> float:
    """Least-squares slope of log size over log rank."""
    if len(sizes) < 3:
        return 1.0
    ranked = np.sort(sizes)[::-1]
    slope = np.polyfit(np.log(1.0 + np.arange(len(ranked))), np.log(ranked), 1)[0]
    return float(min(max(-slope, 0.0), 10.0))
