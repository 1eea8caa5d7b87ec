"""Placement instances of a few numbers."""

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
