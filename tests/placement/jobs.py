"""Placement instances of a few numbers."""

import random
from typing import Any

from oracles import placement as oracle

from optsched.placement.instance import PlacementInstance

ZEROS = dict.fromkeys(
    ("forward_time", "backward_time", "input_bytes", "output_bytes", "parameter_bytes"), 0
)


def document(
    free: list[int],
    stages: list[dict[str, Any]],
    *,
    gpus: int = 8,
    inter: float = 1e9,
    intra: float = 1e11,
    kind: str = "ring",
    name: str = "made",
    **of_job: Any,
) -> dict[str, Any]:
    """A file's content; a stage's absent times and bytes are 0, its name is s0, s1, ..."""
    named = [{"name": f"s{s}", **ZEROS, **stage} for s, stage in enumerate(stages)]
    whole = oracle.document(name, (gpus, inter, intra), free, named, kind)
    whole["job"] |= {"model": name, **of_job}
    return whole


def made(*arguments: Any, **keywords: Any) -> PlacementInstance:
    """The instance of such a document."""
    return PlacementInstance.from_dict(document(*arguments, **keywords))


def slow_network(seed: int) -> dict[str, Any]:
    """A drawn document in which a NIC's share is up to 1e10 times slower than a server's inside."""
    rng = random.Random(seed)
    drawn = oracle.random_instance(rng)
    cluster = drawn["cluster"]
    cluster["inter_bandwidth"] = cluster["intra_bandwidth"] * 10.0 ** -rng.randint(3, 10)
    if rng.random() < 0.6:  # one server holds it all, beside an idle one
        drawn["free_gpus"] = [sum(drawn["free_gpus"])] + [0] * rng.randint(0, 1)
        cluster["gpus_per_server"] = drawn["free_gpus"][0]
    return drawn
