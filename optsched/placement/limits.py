"""How large a model may get, known before anything of it is built."""

from __future__ import annotations

from optsched.errors import NotApplicableError
from optsched.placement.instance import PlacementInstance

MOST_COLUMNS = 200_000
"""Binaries of a model: a Pyomo model of that size takes some ten seconds and a gigabyte."""


def refuse_many_columns(method: str, instance: PlacementInstance, widths: bool = False) -> None:
    """Refuse a model of one binary a stage, server and count (and least count, if `widths`).

    Raises
    ------
    NotApplicableError
        Above `MOST_COLUMNS`, in the method's name.
    """
    columns = 0
    for stage in instance.job.stages:
        for offer in instance.free_gpus:
            most = min(stage.replicas, offer)
            columns += most * (most + 1) // 2 if widths else most
    _refuse(method, columns)


def refuse_many_replicas(method: str, instance: PlacementInstance) -> None:
    """Refuse a model of one binary a replica and server.

    Raises
    ------
    NotApplicableError
        Above `MOST_COLUMNS`, in the method's name.
    """
    _refuse(method, instance.job.gpus * len(instance.free_gpus))


def _refuse(method: str, columns: int) -> None:
    if columns > MOST_COLUMNS:
        raise NotApplicableError(method, f"{columns} binaries", f"at most {MOST_COLUMNS}")
