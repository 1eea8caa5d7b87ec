"""Selection instances as in sts, VII-A3 and VII-A4: K80, M60 and A100 nodes, jobs of four networks.

From the paper: prices (Table III), fractions, memory limits and slowdowns (Table IV), due dates
(31) with the right end 20% later when GPUs are shared, weights uniform in (0.0254, 0.0444) $/s.
Chosen here, since the paper does not state them: relative speeds of the types, the speed-up
exponent, seconds per epoch, GPUs per node, H = 1 h and rho = 10.

Distributions of epochs to completion have the shapes of sts, Fig. 2. The paper trained four
networks for at most 100 epochs and stopped a run after 10 epochs without improvement: AlexNet
mostly runs to the maximum, ResNet and VGG16 stop early, MobileNetV2 in the middle. The runs of the
figure are not published, so the generator draws as many synthetic runs of similar shapes and bins
them.

With `epochs` the distributions are those of measured runs. The CSV file, also .gz, has a row per
run and the columns ``dataset``, ``network``, ``target_epoch`` (epochs to the target, empty where
the run missed it) and, optionally, ``target_metric``. Rows with equal data set, network and target
are one kind. Each job draws a kind uniformly, states it as its `kind`, and has the distribution of
the kind's runs that reached the target.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

import numpy as np

from optsched.declared import Between, Seed, flag, require_declared
from optsched.errors import InputError, shown
from optsched.generators.arguments import checked
from optsched.selection.instance import SCHEMA, SelectionInstance
from optsched.uncertainty.distribution import Distribution
from optsched.uncertainty.epoch_samples import read_epoch_samples

MAX_EPOCHS = 100
MAX_VALUES = 1000
"""Distinct numbers of epochs of a measured kind, since every job of the kind states them all."""
BinWidth = Annotated[int, Between(1, MAX_EPOCHS)]
PATIENCE = 10
RUNS = 221
"""(648 + 237) / 4: the paper's runs, spread over its four networks."""


@dataclass(frozen=True)
class Shape:
    """A Beta(a, b) on the epochs after the patience, and a mass at the maximum."""

    network: str
    a: float
    b: float
    share_at_max: float
    description: str


SHAPES = (  # parameters chosen here, to match what the figure shows
    Shape("AlexNet", 4.0, 1.6, 0.45, "right-heavy, mass at the maximum"),
    Shape("ResNet", 1.6, 5.5, 0.02, "early"),
    Shape("VGG16", 1.3, 4.5, 0.03, "early"),
    Shape("MobileNetV2", 5.0, 5.0, 0.0, "centred"),
)
SpeedUp = Annotated[float, Between(0.1, 1)]
GB = 1e9
HOUR = 3600.0
JOBS_PER_NODE = 4
MEMORY_NEEDS = (3.5, 6.0, 8.0, 12.0, 15.0)
"""GB; the limits of Table IV lie between them, so that some jobs share and some cannot."""


@dataclass(frozen=True)
class Gpu:
    """A GPU type: Table III's price per GPU, Table IV's fractions, and a relative speed."""

    name: str
    memory: float
    hourly: float
    speed: float
    largest_slowdown: tuple[tuple[str, float], ...]


GPUS = (
    Gpu("K80", 24.0, 0.90, 1.0, (("0.5", 1.05), ("0.25", 1.11))),
    Gpu("M60", 16.0, 1.14, 1.6, (("0.5", 1.05), ("0.25", 1.11))),
    Gpu("A100", 80.0, 3.6725, 6.0, (("0.15", 1.15), ("0.1", 1.17))),
)


@dataclass(frozen=True)
class SelectionSettings:
    """Settings of a generated cluster and its jobs.

    Attributes
    ----------
    nodes : int
        Number of nodes; node n has GPU type n mod 3.
    jobs : int
        Number of jobs.
    gpus_per_node : int
        GPUs of a node (K_n).
    cost_classes : int
        Number of different cost vectors per GPU type; 0: one per node.
    cost_spread : float
        Relative half-width of the nodes' prices around Table III; unused with one cost class.
    sharing : bool
        Make due dates (31) 20% later, as for jobs that share GPUs.
    speedup : float
        Mean exponent x of the speed k^x on k GPUs; a job's is within 0.1 of it, at most 1.
    overdue : float
        Share of the jobs whose due date has passed.
    interval : float
        Scheduling interval H, seconds.
    penalty : float
        Factor on the tardiness of postponed jobs, rho of (P1).
    bin_width : int
        Bin width of the distributions of epochs; measured ones are kept as they are.
    epochs : str, optional
        CSV file of measured runs: dataset, network, target_epoch and, optionally, target_metric.
    """

    nodes: Annotated[int, Between(1, 20_000)] = 10
    jobs: Annotated[int, Between(1, 100_000)] = 40
    gpus_per_node: Annotated[int, Between(1, 256)] = 4
    cost_classes: Annotated[int, Between(0, 20_000)] = 1
    cost_spread: Annotated[float, Between(0, 0.9)] = 0.2
    sharing: bool = True
    speedup: SpeedUp = 0.8
    overdue: Annotated[float, Between(0, 1)] = 0.0
    interval: Annotated[float, Between(0, 1e9)] = HOUR
    penalty: Annotated[float, Between(0, 1e9)] = 10.0
    bin_width: BinWidth = 5
    epochs: str | None = None

    def __post_init__(self) -> None:
        require_declared("generate selection", self, flag)


def selection_settings(nodes: int = 10, **changes: Any) -> SelectionSettings:
    """Settings with the paper's four jobs per node, unless `jobs` is given."""
    return replace(SelectionSettings(nodes=nodes, jobs=JOBS_PER_NODE * nodes), **changes)


@checked("generate selection")
def generate_selection(
    settings: SelectionSettings | None = None, *, seed: Seed = 0, name: str | None = None
) -> SelectionInstance:
    """Generate one instance; equal arguments give equal instances.

    Parameters
    ----------
    settings : SelectionSettings, optional
        Sizes, types and shares; by default the paper's.
    seed : int, optional
        Seed of every random choice.
    name : str, optional
        Name of the instance; by default one that states its arguments.

    Returns
    -------
    SelectionInstance
        The instance.

    Examples
    --------
    >>> instance = generate_selection(seed=1)
    >>> len(instance.nodes), len(instance.jobs)
    (10, 40)
    """
    settings = settings or SelectionSettings()
    rng = np.random.default_rng(seed)
    types = {gpu.name: _gpu_type(gpu, rng) for gpu in GPUS}
    nodes = _nodes(settings, rng)
    present = {str(node["gpu_type"]) for node in nodes}
    gpus = [gpu for gpu in GPUS if gpu.name in present]
    measured = None if settings.epochs is None else measured_kinds(settings.epochs)
    jobs = [_job(f"j{j}", settings, gpus, measured, rng) for j in range(settings.jobs)]
    return SelectionInstance.from_dict(
        {
            "schema": SCHEMA,
            "version": 1,
            "name": name or f"{settings.nodes}x{settings.jobs}-s{seed}",
            "provenance": {
                "generator": "optsched generate selection",
                "seed": seed,
                **{key: value for key, value in asdict(settings).items() if value is not None},
            },
            "now": 0.0,
            "interval": settings.interval,
            "postponement_penalty": settings.penalty,
            "gpu_types": types,
            "nodes": nodes,
            "jobs": jobs,
        },
        "generate selection",
    )


def shape_of(network: str) -> Shape:
    for shape in SHAPES:
        if shape.network.lower() == network.lower():
            return shape
    known = ", ".join(shape.network for shape in SHAPES)
    raise InputError("generate", "network", shown(network), f"one of {known}")


def sample_epochs(shape: Shape, runs: int, rng: np.random.Generator) -> np.ndarray:
    """Epochs of so many runs: integers in 1 + patience .. 100."""
    spread = rng.beta(shape.a, shape.b, size=runs)
    epochs = np.floor(PATIENCE + 1 + spread * (MAX_EPOCHS - PATIENCE)).astype(np.int64)
    epochs = np.minimum(epochs, MAX_EPOCHS)
    epochs[rng.random(runs) < shape.share_at_max] = MAX_EPOCHS
    return epochs


def fig2_distribution(
    network: str, rng: np.random.Generator, *, bin_width: int = 5
) -> Distribution:
    """The empirical distribution of seeded runs, epochs rounded up to a multiple of `bin_width`."""
    epochs = sample_epochs(shape_of(network), RUNS, rng)
    return Distribution.from_samples(np.ceil(epochs / bin_width) * bin_width)


def measured_kinds(path: str) -> list[tuple[str, Distribution]]:
    """Read the kinds of jobs in a file of measured runs, each with its distribution of epochs."""
    try:
        groups = [group for group in read_epoch_samples(path) if group.epochs]
        if not groups:
            raise InputError(path, "", "no run that reached its target", "at least one")
        kinds = [("/".join(group.key), group.distribution) for group in groups]
        for kind, work in kinds:
            if len(work.values) > MAX_VALUES:
                found = f"{len(work.values)} distinct numbers of epochs"
                raise InputError(path, kind[:80], found, f"at most {MAX_VALUES}: round them")
    except InputError as error:
        place = ": ".join(filter(None, ("epochs", error.source, error.where)))
        raise error.at("generate selection", place) from None
    return kinds


def due_dates(job: Mapping[str, Any], sharing: bool) -> tuple[float, float]:
    """The interval (31) of a job's due date, in seconds from its submission."""
    times, epochs = job["epoch_time"].values(), max(job["epochs"]["values"])
    earliest = min(map(min, times)) * epochs
    slowest = max(map(max, times)) * epochs
    latest = min(3 * earliest, slowest) * (1.2 if sharing else 1.0)
    return earliest, max(earliest, latest)


def _gpu_type(gpu: Gpu, rng: np.random.Generator) -> dict[str, Any]:
    slowdown = {f: round(float(rng.uniform(1.01, worst)), 4) for f, worst in gpu.largest_slowdown}
    return {"memory_bytes": gpu.memory * GB, "slowdown": slowdown}


def _nodes(settings: SelectionSettings, rng: np.random.Generator) -> list[dict[str, Any]]:
    classes = settings.cost_classes or settings.nodes
    spread = settings.cost_spread if classes > 1 else 0.0
    scale = {gpu.name: rng.uniform(1 - spread, 1 + spread, size=classes) for gpu in GPUS}
    nodes = []
    for n in range(settings.nodes):
        gpu = GPUS[n % len(GPUS)]
        rate = gpu.hourly / HOUR * float(scale[gpu.name][(n // len(GPUS)) % classes])
        rates = [round(rate * k, 10) for k in range(1, settings.gpus_per_node + 1)]
        size = {"gpus": settings.gpus_per_node, "cost_rate": rates}
        nodes.append({"name": f"n{n}", "gpu_type": gpu.name, **size})
    return nodes


def _job(
    name: str,
    settings: SelectionSettings,
    gpus: list[Gpu],
    measured: list[tuple[str, Distribution]] | None,
    rng: np.random.Generator,
) -> dict[str, Any]:
    if measured is None:
        shape = SHAPES[int(rng.integers(len(SHAPES)))]
        work = fig2_distribution(shape.network, rng, bin_width=settings.bin_width)
    else:
        kind, work = measured[int(rng.integers(len(measured)))]
    base = float(rng.uniform(30.0, 300.0))
    exponent = settings.speedup + float(rng.uniform(-0.1, 0.1))
    sizes = np.arange(1, settings.gpus_per_node + 1)
    times = {}
    for gpu in gpus:
        one = base / (gpu.speed * float(rng.uniform(0.8, 1.2)))
        times[gpu.name] = [round(float(t), 6) for t in one / sizes ** min(exponent, 1.0)]
    epochs = [int(w) if w == int(w) else w for w in work.values.tolist()]
    lengths = {"epochs": {"values": epochs}, "epoch_time": times}
    due = float(rng.uniform(*due_dates(lengths, settings.sharing)))
    if rng.random() < settings.overdue:
        due = -due / 4  # passed, by up to a quarter of the longest time allowed
    counts = np.maximum(np.rint(work.probabilities * 1e6), 1)
    return {
        "name": name,
        **({} if measured is None else {"kind": kind}),
        "due_date": round(due, 3),
        "tardiness_weight": round(float(rng.uniform(0.0254, 0.0444)), 6),
        "memory_bytes": float(rng.choice(MEMORY_NEEDS)) * GB,
        "completed_epochs": 0,
        "epochs": {
            "values": epochs,
            "probabilities": [float(c / counts.sum()) for c in counts],
        },
        "epoch_time": times,
    }
