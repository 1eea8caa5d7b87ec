"""Packing instances in the shape of FGD's cluster: unequal nodes, tasks that share GPUs or not.

The published cluster gives the frequencies of the nodes. The sizes of tasks are chosen here: whole
GPUs with 6 to 24 cores each, and shares with up to twice as many in proportion.
"""

from typing import Annotated

import numpy as np

from optsched.declared import Between, Seed
from optsched.errors import InputError
from optsched.generators.arguments import checked
from optsched.packing.instance import MAX_ARRIVALS, MILLI, Demand, PackingInstance

Share = Annotated[float, Between(0, 1)]

SOURCE = "generate packing"
GIB = 2**30
NODES = (
    ("G2", 96, 384, 8, 0.45),
    ("T4", 104, 512, 2, 0.33),
    ("P100", 16, 120, 2, 0.12),
    ("G3", 128, 768, 8, 0.05),
    ("V100M32", 96, 768, 8, 0.05),
)
"""Model, cores, GiB, GPUs and frequency of a kind of node."""
SHARES = (100, 200, 250, 300, 460, 500, 540, 700, 820, 900)
CORES_PER_GPU = (6, 8, 12, 16, 24)


@checked(SOURCE)
def generate_packing(
    nodes: Annotated[int, Between(1, 20_000)] = 20,
    requested: Annotated[float, Between(0.01, 10)] = 1.3,
    sharing: Share = 0.5,
    several: Share = 0.1,
    cpu_only: Annotated[float, Between(0, 0.9)] = 0.1,
    one_model: Share = 0.0,
    *,
    seed: Seed = 0,
    name: str | None = None,
) -> PackingInstance:
    """Generate one instance; equal arguments give equal instances.

    Parameters
    ----------
    nodes : int
        Number of nodes.
    requested : float
        GPUs that the tasks request over the GPUs of the cluster.
    sharing : float
        Share of the GPU tasks that request a part of one GPU.
    several : float
        Share of the other GPU tasks that request 2, 4 or 8 GPUs.
    cpu_only : float
        Share of the tasks without a GPU.
    one_model : float
        Share of the tasks that accept only one GPU model.
    seed : int, optional
        Seed of every random choice.
    name : str, optional
        Name of the instance; by default one that states its arguments.

    Returns
    -------
    PackingInstance
        The instance.

    Examples
    --------
    >>> len(generate_packing(seed=7).nodes)
    20
    """
    arguments = {"nodes": nodes, "requested": requested, "sharing": sharing, "several": several}
    arguments |= {"cpu_only": cpu_only, "one_model": one_model}
    rng = np.random.default_rng(seed)
    frequency = np.array([kind[-1] for kind in NODES])
    kinds = [NODES[i] for i in rng.choice(len(NODES), nodes, p=frequency)]
    wanted = requested * MILLI * sum(gpus for *_, gpus, _ in kinds)
    tasks: list[Demand] = []
    total = 0
    while total < wanted:
        milli, cores = 0, int(rng.choice(CORES_PER_GPU))
        if rng.random() >= cpu_only:
            milli = int(rng.choice(SHARES))
            if rng.random() >= sharing:
                milli = MILLI * int(rng.choice([2, 4, 8]) if rng.random() < several else 1)
        factor = max(milli / MILLI, min(2 * milli / MILLI, 1.0)) or 1.0
        accepted = (kinds[rng.integers(nodes)][0],) if rng.random() < one_model else ()
        tasks.append((int(1000 * cores * factor), int(cores * factor) * 4 * GIB, milli, accepted))
        total += milli
        if len(tasks) > MAX_ARRIVALS:
            raise InputError(SOURCE, "requested", f"more than {MAX_ARRIVALS} tasks", "fewer")
    cluster = [
        {"name": f"n{n}", "cpu_milli": 1000 * cores, "memory_bytes": gib * GIB}
        | {"gpus": gpus, "model": model}
        for n, (model, cores, gib, gpus, _) in enumerate(kinds)
    ]
    provenance = {"generator": "optsched generate packing", "seed": seed, **arguments}
    name = name or f"{nodes}-nodes-{requested:g}-s{seed}"
    return PackingInstance.of_arrivals(cluster, tasks, SOURCE, name=name, provenance=provenance)
