"""Selections written out as files hold them."""

from typing import Any

from optsched.selection.solution import SelectionSolution


def at(name: str, node: str | None, *gpus: int, fraction: float = 1.0) -> dict[str, Any]:
    """Where a job runs; without a node it is postponed."""
    return {"name": name, "node": node, "gpus": list(gpus), "fraction": fraction}


def solution(instance: str, /, *placements: dict[str, Any], **more: Any) -> SelectionSolution:
    """The selection of such placements for the instance of that name."""
    document = {"schema": "optsched/selection-solution", "version": 1, "instance": instance}
    return SelectionSolution.from_dict({**document, "jobs": list(placements), **more})
