"""The options that change a placement's objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from optsched.declared import Between, Options
from optsched.errors import NotApplicableError

AllReduceBandwidth = Literal["own", "bottleneck"]
Coefficient = Annotated[float, Between(0, 100)]


@dataclass(frozen=True)
class PlacementOptions(Options):
    """Readings of the cost.

    Attributes
    ----------
    all_reduce_bandwidth : "own" or "bottleneck"
        Whose share of the NIC bounds the all-reduce: the server's own, as (6) is printed, or the
        least over the servers that hold the stage, as its text says.
    backward_overlap, all_reduce_overlap : float
        Coefficients on backward time and all-reduce time for engines that overlap the two
        (a-srpt, the remark after (7)).
    """

    all_reduce_bandwidth: AllReduceBandwidth = "own"
    backward_overlap: Coefficient = 1.0
    all_reduce_overlap: Coefficient = 1.0

    def require_own_bandwidth(self, method: str) -> None:
        """Refuse, in the method's name, the reading that couples servers through a stage."""
        if self.all_reduce_bandwidth != "own":
            raise NotApplicableError(
                method,
                f"all_reduce_bandwidth={self.all_reduce_bandwidth}",
                "own: it needs a server's cost to depend on that server's counts alone",
            )


STANDARD = PlacementOptions()
"""As the problem is printed; made once, as making options checks them."""
