"""Certificate of a lower bound on the iteration time; data only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MAX_DUAL = 10**9
"""Largest dual that a file may hold: sums of duals x replicas then stay within int64."""


@dataclass(frozen=True)
class PatternCertificate:
    """Integer duals which prove that every placement takes longer than `threshold`.

    Attributes
    ----------
    threshold : float
        theta, seconds: a lower bound on alpha.
    prices : tuple of int
        pi_s, the dual of a replica, by stage.
    """

    threshold: float
    prices: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """The certificate as a JSON object."""
        return {"kind": "patterns", "threshold": self.threshold, "prices": list(self.prices)}
