"""Certificates that no schedule meets a deadline; data only. See the bounds of their names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MAX_RESOLUTION = 4000
MAX_DUAL = 10**6


class _Deadline:
    """A deadline that every makespan exceeds."""

    deadline: float

    def bound(self, slotted: bool) -> float:
        """The bound it proves: the next whole slot, or the deadline itself."""
        return float(self.deadline + 1 if slotted else self.deadline)


@dataclass(frozen=True)
class ColumnCertificate(_Deadline):
    """Integer duals proving that no schedule ends by `deadline`."""

    deadline: float  # T, slots
    resolution: int  # r: durations count as floor(d r / T)
    prices: tuple[int, ...]  # duals pi_j in the instance's order of jobs

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "columns",
            "deadline": self.deadline,
            "resolution": self.resolution,
            "prices": list(self.prices),
        }


@dataclass(frozen=True)
class ContentionCertificate(_Deadline):
    """Integer duals of links and GPUs, proving by weak duality that no schedule ends by `deadline`.

    Attributes
    ----------
    deadline : float
        T, slots.
    pieces : tuple of tuple of int
        U_n(g), by n and by g from 1 on: dual per slot of g GPUs of a spanning job on a server
        shared by at most n spanning jobs; the last row covers all larger n.
    inside : tuple of int
        V(g), by g from 1 on: dual per slot of a job of g GPUs inside one server.
    running : dict of int to int
        omega_j, by the job's index: additional dual per slot that it runs.
    """

    deadline: float
    pieces: tuple[tuple[int, ...], ...]
    inside: tuple[int, ...]
    running: Mapping[int, int]

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "contention",
            "deadline": self.deadline,
            "pieces": [list(row) for row in self.pieces],
            "inside": list(self.inside),
            "running": {str(j): dual for j, dual in self.running.items()},
        }


Certificate = ColumnCertificate | ContentionCertificate
