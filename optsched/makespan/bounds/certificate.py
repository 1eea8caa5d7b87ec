"""Certificates that no schedule meets a deadline; data only. See the bounds of their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MOST_RESOLUTION = 4000
MOST_PRICE = 10**6


PARTS = 2**20
"""What a job pays counts in such parts of a price, rounded down."""
GRAINS, MOST_SLOTS = 8, 64
"""Whole slots of a job that spans are counted in grains of a speed over 1 to `GRAINS` iterations,
if it can take no more than `MOST_SLOTS`: rounding adds little to longer ones."""


class _Deadline:
    """A deadline that every makespan exceeds."""

    deadline: float

    def bound(self, slotted: bool) -> float:
        """The bound it proves: the next whole slot, or the deadline itself."""
        return float(self.deadline + 1 if slotted else self.deadline)


@dataclass(frozen=True)
class ColumnCertificate(_Deadline):
    """Integer prices of the jobs under which every makespan exceeds `deadline`.

    Attributes
    ----------
    deadline : float
        T, slots.
    resolution : int
        R: durations count as floor(d R / T).
    prices : tuple of int
        y_j in the instance's order of jobs.
    """

    deadline: float
    resolution: int
    prices: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """The certificate as a JSON object."""
        return {
            "kind": "columns",
            "deadline": self.deadline,
            "resolution": self.resolution,
            "prices": list(self.prices),
        }


@dataclass(frozen=True)
class ContentionCertificate(_Deadline):
    """Integer prices of links and GPUs: by `deadline` servers take in less than all jobs pay.

    Attributes
    ----------
    deadline : float
        T, slots.
    pieces : tuple of tuple of int
        U_n(y), by n and by y from 1 on: what y GPUs pay for a slot as a piece of a job that spans,
        on a server of at most n pieces; the last n stands for all from there on.
    inside : tuple of int
        V(g), by g from 1 on: what a job of g GPUs inside one server pays for a slot.
    running : dict of int to int
        sigma_j, by the job's place: what it pays besides for each slot it runs.
    """

    deadline: float
    pieces: tuple[tuple[int, ...], ...]
    inside: tuple[int, ...]
    running: Mapping[int, int]

    def to_dict(self) -> dict[str, Any]:
        """The certificate as a JSON object."""
        return {
            "kind": "contention",
            "deadline": self.deadline,
            "pieces": [list(row) for row in self.pieces],
            "inside": list(self.inside),
            "running": {str(j): price for j, price in self.running.items()},
        }


Certificate = ColumnCertificate | ContentionCertificate
