"""The options that change a placement's objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from optsched.declared import Between, Options

if TYPE_CHECKING:
    from optsched.placement.instance import PlacementInstance

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


STANDARD = PlacementOptions()
"""As the problem is printed; made once, as making options checks them."""


def features(instance: PlacementInstance, options: PlacementOptions) -> dict[str, tuple[str, str]]:
    """What not every method supports, with the words of a refusal."""
    present = {}
    if options.all_reduce_bandwidth == "bottleneck":
        present["bottleneck"] = (
            "all_reduce_bandwidth=bottleneck",
            "own: it needs a server's cost to depend on that server's counts alone",
        )
    if instance.job.micro_batches is not None:
        present["micro-batches"] = (
            f"micro_batches={instance.job.micro_batches}",
            "an asynchronous job: it needs the slowest stage alone to decide",
        )
    return present
