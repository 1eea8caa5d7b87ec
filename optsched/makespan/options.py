"""Parameters of the methods; none changes the value of a given schedule."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, get_args

from optsched.declared import Between, Options
from optsched.makespan.instance import MakespanInstance

Order = Literal["arrival", "smallest-first"]
ORDERS = get_args(Order)


@dataclass(frozen=True)
class MakespanOptions(Options):
    """Parameters of SJF-BCO and of the paper's baselines.

    Attributes
    ----------
    kappa : int or None
        SJF-BCO: largest job size that is packed; larger jobs are spread. None (on the command line
        and in files: "all") tries 1 and every job size.
    lambda_ : float
        SJF-BCO: servers offered to a spread job hold lambda times its GPUs. On the command line
        and in files its name is ``lambda``.
    packing : "least-used" or "occupied"
        SJF-BCO: GPUs of a packed job, the least used of all (the paper's Algorithm 2), or of
        servers in use before idle ones (the text of its section 5).
    order : "arrival" or "smallest-first"
        Order of the baselines first-fit, list-scheduling and random.
    """

    kappa: Annotated[int, Between(0, 2**20)] | None = None
    lambda_: Annotated[float, Between(1, 1e6)] = 1.0
    packing: Literal["least-used", "occupied"] = "least-used"
    order: Order = "arrival"

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        expanded = {"kappa": None} if values.get("kappa") == "all" else {}
        return super().from_dict({**values, **expanded})


def features(instance: MakespanInstance, options: MakespanOptions) -> dict[str, tuple[str, str]]:
    """Optional features in use, each with (found, expected) for the error message."""
    if instance.slotted:
        return {}
    return {"continuous": ("progress=continuous", "progress=floor (the model is indexed by slots)")}
