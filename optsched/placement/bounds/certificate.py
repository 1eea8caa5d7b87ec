"""A certificate that no placement takes at most so many seconds; data only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MOST_PRICE = 10**9


@dataclass(frozen=True)
class PatternCertificate:
    """Integer prices of the stages' replicas under which every placement takes longer.

    Attributes
    ----------
    threshold : float
        theta, seconds: a lower bound on alpha.
    prices : tuple of int
        pi_s, by stage.
    """

    threshold: float
    prices: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """The certificate as a JSON object."""
        return {"kind": "patterns", "threshold": self.threshold, "prices": list(self.prices)}
