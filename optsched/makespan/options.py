"""Parameters of the methods; none changes the value of a given schedule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from optsched.errors import InputError, shown
from optsched.numerals import whole_of
from optsched.option_values import number_of, require_choice, require_known, require_number

LARGEST_SPREAD = 1e6
ORDERS = ("arrival", "smallest-first")


@dataclass(frozen=True)
class MakespanOptions:
    """Parameters of SJF-BCO and of the paper's baselines.

    Attributes
    ----------
    kappa : int or None
        SJF-BCO: jobs of at most so many GPUs are packed, larger ones spread; None tries {1} and
        every job size.
    lambda_ : float
        SJF-BCO: servers offered to a spread job hold lambda times its GPUs. On the command line
        and in files its name is ``lambda``.
    order : "arrival" or "smallest-first"
        Order of the baselines first-fit, list-scheduling and random.
    """

    kappa: int | None = None
    lambda_: float = 1.0
    order: str = "arrival"

    def __post_init__(self) -> None:
        kappa = self.kappa
        if kappa is not None and (isinstance(kappa, bool) or not isinstance(kappa, int)):
            raise InputError("options", "kappa", shown(kappa), "a whole number, or all")
        if kappa is not None and not 0 <= kappa <= 2**20:
            raise InputError("options", "kappa", shown(kappa), "0 to 2^20, or all")
        require_number("lambda", self.lambda_, 1, LARGEST_SPREAD)
        require_choice("order", self.order, ORDERS)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> MakespanOptions:
        """Make options of names and values; text is read as numbers where a number belongs.

        Raises
        ------
        InputError
            If a name is unknown or a value is out of range.
        """
        defaults = cls().to_dict()
        require_known(values, tuple(defaults))
        read = {**defaults, **values}
        return cls(_whole(read["kappa"]), number_of(read["lambda"]), read["order"])

    def to_dict(self) -> dict[str, Any]:
        """The options as a JSON object."""
        return {"kappa": self.kappa, "lambda": self.lambda_, "order": self.order}


def _whole(value: Any) -> Any:
    if value == "all":
        return None
    read = whole_of(value) if isinstance(value, str) else None
    return value if read is None else read
