"""Makespan instances: the workload of sjf-bco's section 7, at its size or another.

The default has 160 jobs of 1, 2, 4, 8, 16 and 32 GPUs in the shares 80/14/26/30/8/2 of the
Microsoft trace, and 20 servers of 4, 8, 16 or 32 GPUs. A job has 1,000 to 6,000 iterations of 0.01
to 0.05 s, 50 to 300 s in all (uniform), on one server.

`Contention` sets the cost of communication across servers, of which the paper states only that
contention and overhead stay within 15% of the execution time. Its named values set the share xi_1,
the degradation a, the overhead gamma_0 and the range of the exchange.

GPU counts and their order may come from a trace. The jobs' bytes and times may be those of the
zoo's models that fit on a V100, drawn uniformly, with mini-batches for 50 to 300 s.
"""

from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np

from optsched.declared import Between, NonNegative, Seed
from optsched.errors import InputError, shown
from optsched.generators.arguments import checked
from optsched.makespan.instance import MAX_JOBS, MAX_SERVERS, SCHEMA, MakespanInstance
from optsched.zoo.catalogue import MODELS, profile_model

JOB_SIZES = (1, 2, 4, 8, 16, 32)
JOB_SHARES = (80, 14, 26, 30, 8, 2)
JOBS = 160
SERVER_SIZES = (4, 8, 16, 32)
Gpus = Annotated[int, Between(1, 4096)]
"""GPUs of a server, and of a job whose size is drawn."""
Share = Annotated[float, Between(0, 1)]
Ratio = Annotated[float, Between(0, 1e6)]
Strength = Literal["mild", "strong", "prohibitive"]
INTER_BANDWIDTH, INTRA_BANDWIDTH, COMPUTE_RATE = 1.25e9, 3e11, 1e11
BATCH_SIZE = 32
ZOO_MODELS = ("VGG19", "ResNet152", "Inception-V3", "BERT-large", "XLNet-large")
"""Models whose weights, gradients and Adam's moments (16 bytes a parameter) fit on a V100."""


@dataclass(frozen=True)
class Contention:
    """Cost of spanning servers."""

    contention_share: float
    """Contention share xi_1 of sjf-bco (7)."""
    degradation: float
    """Degradation factor a (models/makespan)."""
    overhead: float
    """Overhead of each server used, gamma_0 (models/makespan), seconds."""
    exchange: tuple[float, float]
    """Range of the uncontended communication time across servers over the time of an iteration on
    one server, before the ring's factor (g - 1) / g."""
    horizon: float
    """Seconds; the paper's 1,200 if that is enough for its baselines."""


CONTENTION: dict[Strength, Contention] = {
    "mild": Contention(0.5, 0.2, 1e-4, (0.01, 0.05), 1200.0),
    "strong": Contention(1.0, 0.5, 1e-3, (0.1, 0.5), 4800.0),
    "prohibitive": Contention(1.0, 0.5, 1e-3, (2.0, 5.0), 4800.0),
}


@dataclass(frozen=True)
class Workload:
    """Ranges of the jobs' parameters on one server.

    Attributes
    ----------
    iterations : tuple of int
        Range of a job's iterations, as far as the two time ranges allow.
    iteration_time : tuple of float
        Range of the time of an iteration, seconds.
    execution_time : tuple of float
        Range of the time of all of a job's iterations, seconds.
    """

    iterations: tuple[int, int] = (1000, 6000)
    iteration_time: tuple[float, float] = (0.01, 0.05)
    execution_time: tuple[float, float] = (50.0, 300.0)


@checked("generate makespan")
def generate_makespan(
    jobs: Annotated[int, Between(1, MAX_JOBS)] = JOBS,
    servers: Annotated[int, Between(1, MAX_SERVERS)] = 20,
    *,
    contention: Strength = "mild",
    contention_share: Share | None = None,
    degradation: NonNegative | None = None,
    overhead: NonNegative | None = None,
    exchange: tuple[Ratio, Ratio] | None = None,
    server_sizes: tuple[Gpus, ...] = SERVER_SIZES,
    largest_job: Annotated[int, Between(1, 2**53)] = JOB_SIZES[-1],
    sizes: tuple[Gpus, ...] | None = None,
    job_gpus: tuple[Gpus, ...] | None = None,
    zoo: bool = False,
    workload: Workload | None = None,
    slot: Annotated[float, Between(1e-6, 1e6)] = 1.0,
    progress: str = "floor",
    horizon: int | None = None,
    seed: Seed = 0,
    name: str | None = None,
) -> MakespanInstance:
    """Generate one instance.

    Parameters
    ----------
    jobs : int
        Number of jobs.
    servers : int
        Number of servers.
    contention : str
        "mild": as in the paper; "strong": spanning servers makes a job up to 1.5 times as slow,
        more on shared links; "prohibitive": 2 to 6 times. Sets the next four options and the
        horizon.
    contention_share : float, optional
        Share xi_1 with which jobs on a link contend; mild 0.5, otherwise 1.
    degradation : float, optional
        Degradation factor a of a shared link; mild 0.2, otherwise 0.5.
    overhead : float, optional
        Seconds per iteration and server used (gamma_0); mild 0.0001, otherwise 0.001.
    exchange : tuple of float, optional
        Range of the exchange across servers without contention, as a share of an iteration on one
        server; mild 0.01 to 0.05, strong 0.1 to 0.5, prohibitive 2 to 5.
    server_sizes : tuple of int
        GPUs of a server, drawn uniformly from these.
    largest_job : int
        Largest number of GPUs of a job; smaller sizes keep the paper's shares.
    sizes : tuple of int, optional
        GPUs of a job, drawn uniformly from these instead of with the paper's shares.
    job_gpus : tuple of int, optional
        GPUs of every job, instead of drawn ones; jobs above `largest_job` are left out.
    zoo : bool
        Take a job's bytes and times from a zoo model. Then `exchange`, `iterations` and
        `iteration_time` are ignored.
    workload : Workload, optional
        Ranges to draw from, uniformly.
    slot : float
        Length of a slot, seconds.
    progress : str
        "floor": whole iterations per slot, as in the paper; "continuous": real starts and ends.
    horizon : int, optional
        Horizon, slots; by default 1,200 s, or 4,800 s with `zoo` or more than mild contention.
    seed : int
        Equal arguments give equal instances.
    name : str, optional
        Name of the instance; by default one that states its arguments.

    Returns
    -------
    MakespanInstance
        The instance.

    Examples
    --------
    >>> instance = generate_makespan(10, 4, seed=1)
    >>> len(instance.jobs), instance.servers
    (10, (8, 16, 32, 32))
    """
    for location, choices in (("server_sizes", server_sizes), ("sizes", sizes)):
        if choices == ():
            raise InputError("generate makespan", location, "no size", "sizes to draw from")
    if exchange is not None and exchange[0] > exchange[1]:
        raise InputError("generate makespan", "exchange", shown(exchange), "a range, least first")
    numbers: dict[str, Any] = {
        "contention_share": contention_share, "degradation": degradation,
        "overhead": overhead, "exchange": exchange and list(exchange),
    }  # fmt: skip
    given = {key: value for key, value in numbers.items() if value is not None}
    texts = {key: str(value).strip("[]").replace(", ", "-") for key, value in given.items()}
    stated = "".join(f"-{key}={text}" for key, text in texts.items())
    strength, ranges = replace(CONTENTION[contention], **given), workload or Workload()
    for name_of_range, (low, high) in asdict(ranges).items():
        if not 0 < low <= high < np.inf:
            location, found = f"workload.{name_of_range}", shown((low, high))
            raise InputError("generate makespan", location, found, "a range above 0, least first")
    seconds = CONTENTION["strong"].horizon if zoo else strength.horizon
    rng = np.random.default_rng(seed)
    capacities = [int(size) for size in rng.choice(server_sizes, size=servers)]
    if job_gpus is not None:
        gpus = np.array([size for size in job_gpus if size <= largest_job], dtype=np.int64)
        jobs = len(gpus)
    elif sizes is None:
        gpus = rng.permutation(job_sizes(jobs, min(largest_job, sum(capacities))))
    else:
        gpus = rng.choice(sizes, size=jobs)
    make = _zoo_job if zoo else _job
    drawn_jobs = [make(f"j{i}", int(size), strength, ranges, rng) for i, size in enumerate(gpus)]
    document = {
        "schema": SCHEMA,
        "version": 1,
        "name": name or f"makespan-{jobs}x{servers}-{contention}{stated}-s{seed}",
        "provenance": {
            "generator": "optsched generate makespan", "seed": seed, "contention": contention,
            **given, **({"jobs": "models of the zoo"} if zoo else {}),
        },
        "servers": capacities,
        "network": {
            "inter_bandwidth": INTER_BANDWIDTH,
            "intra_bandwidth": INTRA_BANDWIDTH,
            "contention_share": strength.contention_share,
            "degradation": strength.degradation,
            "overhead_per_server": strength.overhead,
            "overhead_on_one_server": True,
        },
        "compute_rate": COMPUTE_RATE,
        "slot": slot,
        "progress": progress,
        "horizon": int(np.ceil(seconds / slot)) if horizon is None else horizon,
        "jobs": drawn_jobs,
    }  # fmt: skip
    return MakespanInstance.from_dict(document, "generate makespan")


def job_sizes(jobs: int, largest: int) -> list[int]:
    """Job sizes in the paper's shares: largest-remainder rounding, ties to the smaller size."""
    shares = [(g, share) for g, share in zip(JOB_SIZES, JOB_SHARES, strict=True) if g <= largest]
    total = sum(share for _, share in shares)
    exact = [jobs * share / total for _, share in shares]
    counts = [int(value) for value in exact]
    by_remainder = sorted(range(len(shares)), key=lambda i: (counts[i] - exact[i], i))
    for i in by_remainder[: jobs - sum(counts)]:
        counts[i] += 1
    return [size for (size, _), count in zip(shares, counts, strict=True) for _ in range(count)]


def _job(
    name: str, gpus: int, strength: Contention, ranges: Workload, rng: np.random.Generator
) -> dict[str, Any]:
    iterations, tau = _iterations_and_time(ranges, rng)
    # tau, the time of an iteration on one server, is exchange inside the server and computation.
    exchange = float(rng.uniform(*strength.exchange)) * tau
    ring = (gpus - 1) / gpus
    gradient = round(exchange * INTER_BANDWIDTH / 2)
    inside = gradient * ring * (2 / INTRA_BANDWIDTH + 1 / COMPUTE_RATE) + strength.overhead
    compute = max(tau - inside, 0.0)
    return {
        "name": name,
        "gpus": gpus,
        "iterations": iterations,
        "gradient_bytes": gradient,
        "batch_size": BATCH_SIZE,
        "forward_time_per_sample": round(compute / 3 / BATCH_SIZE, 9),
        "backward_time": round(compute * 2 / 3, 9),
    }


def _zoo_job(
    name: str, gpus: int, strength: Contention, ranges: Workload, rng: np.random.Generator
) -> dict[str, Any]:
    model = ZOO_MODELS[int(rng.integers(len(ZOO_MODELS)))]
    layers, batch = profile_model(model).layers, MODELS[model].batch_size
    forward = sum(layer.forward_time for layer in layers)
    backward = sum(layer.backward_time for layer in layers)
    execution = float(rng.uniform(*ranges.execution_time))
    return {
        "name": f"{name}-{model}",
        "gpus": gpus,
        "iterations": max(1, round(execution / (forward + backward))),
        "gradient_bytes": sum(layer.parameter_bytes for layer in layers),
        "batch_size": batch,
        "forward_time_per_sample": forward / batch,
        "backward_time": backward,
    }


def _iterations_and_time(ranges: Workload, rng: np.random.Generator) -> tuple[int, float]:
    """Iterations and seconds per iteration: the execution time uniform, all three in range."""
    execution = float(rng.uniform(*ranges.execution_time))
    shortest, longest = ranges.iteration_time
    fewest = max(ranges.iterations[0], int(np.ceil(execution / longest)))
    highest = max(fewest, min(ranges.iterations[1], int(execution / shortest)))
    iterations = int(rng.integers(fewest, highest + 1))
    return iterations, execution / iterations
