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
    """Options of the cost model.

    Attributes
    ----------
    all_reduce_bandwidth : "own" or "bottleneck"
        NIC share that limits the all-reduce: the server's own, as equation (6) is printed, or the
        smallest over the servers of the stage, as the paper's text says.
    backward_overlap, all_reduce_overlap : float
        Coefficients on backward time and all-reduce time for engines that overlap the two
        (a-srpt, the remark after (7)).
    """

    all_reduce_bandwidth: AllReduceBandwidth = "own"
    backward_overlap: Coefficient = 1.0
    all_reduce_overlap: Coefficient = 1.0


STANDARD = PlacementOptions()
"""Default options; one shared instance, since creating options validates them."""


def features(instance: PlacementInstance, options: PlacementOptions) -> dict[str, tuple[str, str]]:
    """Optional features in use, each with (found, expected) for the error message."""
    present = {}
    if options.all_reduce_bandwidth == "bottleneck":
        present["bottleneck"] = (
            "all_reduce_bandwidth=bottleneck",
            "own: it requires server costs that depend only on the server's own counts",
        )
    if instance.job.micro_batches is not None:
        present["micro-batches"] = (
            f"micro_batches={instance.job.micro_batches}",
            "no micro_batches: it requires the objective of an asynchronous job",
        )
    return present
