"""The packing problem has no options; its measure beside the idle GPUs."""

from dataclasses import dataclass

from optsched.declared import Options
from optsched.packing.instance import PackingInstance
from optsched.packing.solution import PackingSolution


@dataclass(frozen=True)
class PackingOptions(Options):
    """No options."""


def measures_of_solution(
    instance: PackingInstance, solution: PackingSolution | None, options: PackingOptions
) -> dict[str, float | None]:
    """The share of the GPUs that a checked packing allocates."""
    if solution is None or solution.objective is None:
        return {"allocated": None}
    return {"allocated": 1 - solution.objective / instance.gpus}
