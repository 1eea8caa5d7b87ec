"""Placement instances: a model of the zoo, cut into stages, on a random offer of free GPUs."""

from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import numpy as np

from optsched.declared import Between, Seed, require_declared
from optsched.errors import InputError, shown
from optsched.generators.arguments import checked
from optsched.io.numerals import without_numpy
from optsched.placement.instance import (
    MAX_GPUS_PER_SERVER,
    SCHEMA,
    PlacementInstance,
    truncate_offer,
)
from optsched.profiles import LayerProfile, Training, choose_plan, stage_table
from optsched.schema import Positive

Gpus = Annotated[int, Between(1, 4096)]
AllReduce = Literal["ring", "double-tree"]


@dataclass(frozen=True)
class Hardware:
    """Servers of a-srpt's section V-B: 8 GPUs, 10 Gbit/s NICs, 300 GB/s inside a server.

    Attributes
    ----------
    gpus_per_server : int
        GPUs of a server.
    inter_bandwidth : float
        Bandwidth of a server's NIC, bytes/s.
    intra_bandwidth : float
        Bandwidth between the GPUs of a server, bytes/s.
    """

    gpus_per_server: Annotated[int, Between(1, MAX_GPUS_PER_SERVER)] = 8
    inter_bandwidth: Positive = 1.25e9
    intra_bandwidth: Positive = 3e11

    def __post_init__(self) -> None:
        require_declared("hardware", self)

    @property
    def planning_bandwidth(self) -> float:
        """A GPU's share of the server's NIC, in bytes/s."""
        return self.inter_bandwidth / self.gpus_per_server


@checked("generate placement")
def generate_placement(
    model: str = "VGG19",
    gpus: Gpus = 16,
    *,
    stages: int | None = None,
    all_reduce: AllReduce = "ring",
    hardware: Hardware | None = None,
    training: Training | None = None,
    seed: Seed = 0,
    name: str | None = None,
) -> PlacementInstance:
    """Generate one instance.

    Parameters
    ----------
    model : str
        Name in `optsched.zoo.MODELS` or `optsched.zoo.MIXTURES`.
    gpus : int
        GPUs of the job, a multiple of `tensor_parallel`. The plan uses all unless `fewer_gpus`.
    stages : int, optional
        Stages of the plan; by default the fastest number up to 8.
    all_reduce : str
        All-reduce algorithm, "ring" or "double-tree".
    hardware : Hardware, optional
        The servers.
    training : Training, optional
        Training settings (batch, optimiser, GPU); plans that exceed the memory raise InputError.
    seed : int
        Seed of the offer of free GPUs.
    name : str, optional
        The instance's name.

    Returns
    -------
    PlacementInstance
        Equal arguments give equal instances. Its provenance states the plan's speed-up over one
        GPU, its efficiency, and the bytes a GPU holds.

    Examples
    --------
    >>> generate_placement("VGG19", 16, seed=7).free_gpus
    (8, 6, 2)
    """
    from optsched.zoo import device_named, profile_model

    hardware, training = hardware or Hardware(), training or Training()
    slices = training.tensor_parallel
    profile = profile_model(
        model,
        device=device_named(training.device),
        batch_size=training.mini_batch,
        tensor_parallel=slices,
        experts=training.experts,
    )
    rng = np.random.default_rng(seed)
    offer = random_offer(gpus, hardware.gpus_per_server, rng, replica_gpus=slices)
    arguments = {"model": model, "gpus": gpus, "stages": stages}
    arguments |= {"training": _settings_of(training), "seed": seed}
    return instance_from_profile(
        profile,
        gpus,
        offer,
        stages=stages,
        all_reduce=all_reduce,
        hardware=hardware,
        training=training,
        name=name or _name(model, gpus, stages, all_reduce, training, seed),
        provenance={"generator": "optsched generate placement", "arguments": arguments},
    )


def instance_from_profile(
    profile: LayerProfile,
    gpus: int,
    free_gpus: list[int],
    *,
    stages: int | None = None,
    all_reduce: str = "ring",
    hardware: Hardware | None = None,
    training: Training | None = None,
    name: str | None = None,
    provenance: dict[str, Any] | None = None,
    source: str = "generate placement",
) -> PlacementInstance:
    """Cut a layer profile into stages for so many GPUs and offer it servers.

    Parameters
    ----------
    profile : LayerProfile
        Profile of one mini-batch.
    gpus : int
        GPUs of the job; those of a replica's slices count.
    free_gpus : list of int
        Free GPUs by server, summing to `gpus`; with tensor slices, enough for all replicas.
    stages, all_reduce, hardware, training, name
        As in `generate_placement`.
    provenance : mapping, optional
        Origin of the profile, for the file.
    source : str
        Source in error messages, such as the profile's file.

    Returns
    -------
    PlacementInstance
        The instance.

    Examples
    --------
    >>> from optsched.zoo import profile_model
    >>> instance = instance_from_profile(profile_model("VGG19"), 8, [5, 3], stages=2)
    >>> [stage.replicas for stage in instance.job.stages]
    [7, 1]
    """
    from optsched.zoo import device_named

    gpus, free_gpus = without_numpy(gpus), without_numpy(list(free_gpus))
    hardware, training = hardware or Hardware(), training or Training()
    gpu_memory = training.gpu_memory or device_named(training.device).memory_bytes
    bandwidth = hardware.planning_bandwidth
    choice = choose_plan(
        profile,
        gpus,
        training,
        gpu_memory,
        bandwidth=bandwidth,
        intra_bandwidth=hardware.intra_bandwidth,
        stages=stages,
        source=source,
    )
    plan = choice.plan
    if choice.gpus < gpus:
        free_gpus = _trimmed_offer(free_gpus, choice.gpus, profile.tensor_parallel)
    micro_batches = (
        {} if training.micro_batches is None else {"micro_batches": training.micro_batches}
    )
    document = {
        "schema": SCHEMA,
        "version": 1,
        "name": name or f"{profile.model.lower()}-{gpus}",
        "provenance": {
            **(provenance or {}),
            "profile": dict(profile.provenance),
            "plan": {
                "method": "least bottleneck over contiguous partitions with replication",
                "batch": training.batch,
                "mini_batches": choice.gpus if training.batch == "per-gpu" else 1,
                "gpus_offered": gpus,
                "planning_bandwidth": bandwidth,
                "bottleneck": plan.bottleneck,
                "first_layers": [0, *plan.cuts],
            },
            "memory": {
                "optimiser": training.optimiser,
                "accumulation_steps": choice.accumulation_steps,
                "bytes_per_gpu": choice.most_bytes,
                "bytes_per_gpu_by_stage": list(choice.bytes_per_gpu),
                "gpu_memory": gpu_memory,
            },
        },
        "cluster": asdict(hardware),
        "free_gpus": free_gpus,
        "job": {
            "model": profile.model,
            "all_reduce": all_reduce,
            **micro_batches,
            "stages": stage_table(choice.iteration, plan),
        },
    }
    return _with_scaling(PlacementInstance.from_dict(document, source))


def _with_scaling(instance: PlacementInstance) -> PlacementInstance:
    """Add the speed-up over one GPU to the provenance."""
    from optsched.methods import solve
    from optsched.placement.options import measures, one_gpu_time

    placed = solve(instance, "repartition").objective
    scaling = {
        "one_gpu_time": one_gpu_time(instance),
        "iteration_time": placed,
        "placement": "repartition",
        **measures(instance, placed),
    }
    return instance.model_copy(update={"provenance": {**instance.provenance, "scaling": scaling}})


def _settings_of(training: Training) -> dict[str, Any]:
    """The settings; slices, micro-batches and experts only if they are not the default."""
    settings, default = asdict(training), asdict(Training())
    for name in ("tensor_parallel", "micro_batches", "experts"):
        if settings[name] == default[name]:
            del settings[name]
    return settings


def _name(
    model: str, gpus: int, stages: int | None, all_reduce: str, training: Training, seed: int
) -> str:
    parts = [model.lower(), str(gpus)]
    parts += [] if stages is None else [f"{stages}stages"]
    parts += [] if training.tensor_parallel == 1 else [f"q{training.tensor_parallel}"]
    parts += [] if training.micro_batches is None else [f"m{training.micro_batches}"]
    parts += [] if training.experts is None else [f"{training.experts}experts"]
    parts += [] if all_reduce == "ring" else ["tree"]
    return "-".join([*parts, f"s{seed}"])


def random_offer(
    gpus: int, gpus_per_server: int, rng: np.random.Generator, *, replica_gpus: int = 1
) -> list[int]:
    """Draw free GPUs per server until the job fits; cut to its needs, in descending order."""
    if not 1 <= replica_gpus <= gpus_per_server:
        expected = f"1 to the {gpus_per_server} GPUs of a server, which holds all slices"
        raise InputError("generate placement", "tensor_parallel", shown(replica_gpus), expected)
    free: list[int] = []
    while sum(_whole(offered, replica_gpus) for offered in free) < gpus:
        free.append(int(rng.integers(1, gpus_per_server + 1)))
    return _trimmed_offer(free, gpus, replica_gpus)


def _trimmed_offer(free_gpus: list[int], gpus: int, replica_gpus: int) -> list[int]:
    """The largest servers of an offer that a job needs; the last offers no more than it needs."""
    offered = sorted(free_gpus, reverse=True)
    whole = [_whole(free, replica_gpus) for free in offered]
    taken = truncate_offer(whole, gpus)
    rows = zip(offered, whole, taken, strict=True)
    return [free if used == usable else used for free, usable, used in rows if used]


def _whole(free: int, replica_gpus: int) -> int:
    """GPUs of a server in whole replicas."""
    return free - free % replica_gpus
