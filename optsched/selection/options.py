"""The options that change a selection's objective or its rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from optsched.declared import Options
from optsched.errors import NotApplicableError

if TYPE_CHECKING:
    from optsched.selection.instance import SelectionInstance

Switch = Literal["on", "off"]


@dataclass(frozen=True)
class SelectionOptions(Options):
    """Options of the selection problem.

    Attributes
    ----------
    node_opening : "free", "at-most" or "printed"
        How many nodes may be open: any number; at most min(jobs, nodes), which (17)-(18) imply
        anyway; or exactly that many, as (16) is printed.
    tardiness : "expected" or "printed"
        Tardiness of a job that runs: expected over its epochs (19'), or that of its expected
        epochs, as (19) is printed: its longer runs are late at no cost.
    postponement : "repaired" or "printed"
        Whether only postponed jobs pay for the worst case (20'), or, as (20) is printed, each
        overdue job pays for its delay so far, running or not.
    sharing : "on" or "off"
        Whether a GPU may be shared in its type's fractions.
    strict : "on" or "off"
        Method ``sts`` only: postpone a job whose wanted GPUs fit nowhere instead of giving fewer.
    postprocessing : "on" or "off"
        Method ``sts`` only: hand idle GPUs of open nodes out at the end (sts, VI-C).
    """

    omitted_defaults: ClassVar[tuple[str, ...]] = (
        "tardiness", "postponement", "strict", "postprocessing",
    )  # fmt: skip

    node_opening: Literal["free", "at-most", "printed"] = "free"
    tardiness: Literal["expected", "printed"] = "expected"
    postponement: Literal["repaired", "printed"] = "repaired"
    sharing: Switch = "on"
    strict: Switch = "off"
    postprocessing: Switch = "on"

    @property
    def shares(self) -> bool:
        """True when GPUs may be shared."""
        return self.sharing == "on"

    @property
    def opens_exactly(self) -> bool:
        """True when (16) is taken as printed."""
        return self.node_opening == "printed"

    def require_free_opening(self, method: str) -> None:
        """Raise NotApplicableError if node_opening is 'printed'."""
        if self.opens_exactly:
            raise NotApplicableError(method, "node_opening=printed", "free or at-most")


def features(instance: SelectionInstance, options: SelectionOptions) -> dict[str, tuple[str, str]]:
    """Features used by these options, with the texts of the error message."""
    if options.opens_exactly:
        return {"printed-opening": ("node_opening=printed", "free or at-most")}
    return {}
