"""The options that change a selection's objective or its rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from optsched.errors import NotApplicableError
from optsched.option_values import require_choice, require_known

NODE_OPENINGS = ("free", "at-most", "printed")
SWITCH = ("on", "off")
_ALLOWED = {
    "node_opening": NODE_OPENINGS,
    "sharing": SWITCH,
    "strict": SWITCH,
    "postprocessing": SWITCH,
}


@dataclass(frozen=True)
class SelectionOptions:
    """Readings of the problem.

    Attributes
    ----------
    node_opening : "free", "at-most" or "printed"
        How many nodes may be open: any number; at most min(jobs, nodes), which (17)-(18) imply
        anyway; or exactly that many, as (16) is printed.
    sharing : "on" or "off"
        Whether a GPU may be shared in its type's fractions.
    strict : "on" or "off"
        Method ``sts`` only: postpone a job whose wanted GPUs fit nowhere instead of giving fewer.
    postprocessing : "on" or "off"
        Method ``sts`` only: hand idle GPUs of open nodes out at the end (sts, VI-C).
    """

    node_opening: str = "free"
    sharing: str = "on"
    strict: str = "off"
    postprocessing: str = "on"

    def __post_init__(self) -> None:
        for name, allowed in _ALLOWED.items():
            require_choice(name, getattr(self, name), allowed)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> SelectionOptions:
        """Make options of names and values; raises InputError."""
        require_known(values, tuple(_ALLOWED))
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """The options as a JSON object; what concerns ``sts`` alone only where it is set."""
        kept: dict[str, Any] = {"node_opening": self.node_opening, "sharing": self.sharing}
        default = SelectionOptions()
        for name in ("strict", "postprocessing"):
            if getattr(self, name) != getattr(default, name):
                kept[name] = getattr(self, name)
        return kept

    @property
    def shares(self) -> bool:
        """True when GPUs may be shared."""
        return self.sharing == "on"

    @property
    def opens_exactly(self) -> bool:
        """True when (16) is taken as printed."""
        return self.node_opening == "printed"

    def require_free_opening(self, method: str) -> None:
        """Refuse, in the method's name, to open an exact number of nodes."""
        if self.opens_exactly:
            raise NotApplicableError(method, "node_opening=printed", "free or at-most")
