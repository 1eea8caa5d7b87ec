"""A certificate that no schedule meets a deadline; data only. See `column_bound` and `check`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MOST_RESOLUTION = 4000
MOST_PRICE = 10**6


@dataclass(frozen=True)
class ColumnCertificate:
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

    def bound(self, slotted: bool) -> float:
        """The bound it proves: the next whole slot, or the deadline itself."""
        return float(self.deadline + 1 if slotted else self.deadline)

    def to_dict(self) -> dict[str, Any]:
        """The certificate as a JSON object."""
        return {
            "kind": "columns",
            "deadline": self.deadline,
            "resolution": self.resolution,
            "prices": list(self.prices),
        }
