"""The options that change a placement's objective."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from optsched.errors import NotApplicableError
from optsched.option_values import number_of, require_choice, require_known, require_number

AllReduceBandwidth = Literal["own", "bottleneck"]
LARGEST_COEFFICIENT = 100.0


@dataclass(frozen=True)
class PlacementOptions:
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
    backward_overlap: float = 1.0
    all_reduce_overlap: float = 1.0

    def __post_init__(self) -> None:
        allowed = get_args(AllReduceBandwidth)
        require_choice("all_reduce_bandwidth", self.all_reduce_bandwidth, allowed)
        for name in ("backward_overlap", "all_reduce_overlap"):
            require_number(name, getattr(self, name), 0, LARGEST_COEFFICIENT)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> PlacementOptions:
        """Make options of names and values; text is read as numbers where a number belongs.

        Raises
        ------
        InputError
            If a name is unknown or a value is out of range.
        """
        defaults = asdict(cls())
        require_known(values, tuple(defaults))
        return cls(
            **{
                name: number_of(value) if isinstance(defaults[name], float) else value
                for name, value in values.items()
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """The options as a JSON object."""
        return asdict(self)

    def require_own_bandwidth(self, method: str) -> None:
        """Refuse, in the method's name, the reading that couples servers through a stage.

        Raises
        ------
        NotApplicableError
            Unless ``all_reduce_bandwidth`` is "own".
        """
        if self.all_reduce_bandwidth != "own":
            raise NotApplicableError(
                method,
                f"all_reduce_bandwidth={self.all_reduce_bandwidth}",
                "own: it needs a server's cost to depend on that server's counts alone",
            )
