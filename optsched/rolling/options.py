"""The options of runs over time: the readings of selection, and the price policy's constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from optsched.errors import InputError, shown
from optsched.numerals import real_of, whole_of
from optsched.selection.options import SelectionOptions

MOST_REPEATS = 1_000_000


@dataclass(frozen=True)
class PriceConstants:
    """The policy's constants: found on other seeds of the same kind of workload, not tuned since.

    `optsched reproduce price-robustness` reports what they do elsewhere.

    Attributes
    ----------
    wake : float
        Seconds between decisions at most.
    price_share : float
        Part of the mean price lam that planning adds to a GPU second's cost.
    congestion_weight, congestion_start : float
        An epoch's value grows by weight x (g - start) when the backlog g exceeds start.
    most_congestion : float
        Cap on g.
    memory : float
        Part of the old price in the new mean price.
    rounds, bisections : int
        Of the price clearing.
    """

    wake: float = 900.0
    price_share: float = 0.4
    congestion_weight: float = 0.5
    congestion_start: float = 0.3
    most_congestion: float = 3.0
    memory: float = 0.5
    rounds: int = 3
    bisections: int = 14


@dataclass(frozen=True)
class RollingOptions:
    """What changes a run beside its seed.

    Attributes
    ----------
    readings : SelectionOptions
        Over time ``postprocessing`` is off unless asked for.
    constants : PriceConstants
        Of the policies ``price`` and ``price-patterns``.
    repeat : int
        Which run of a policy that draws, on one draw of the true epochs: 0 is the first.
    """

    readings: SelectionOptions = field(
        default_factory=lambda: SelectionOptions(postprocessing="off")
    )
    constants: PriceConstants = field(default_factory=PriceConstants)
    repeat: int = 0

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> RollingOptions:
        """Make options of names and values; raises InputError."""
        constants, others = _constants_of(values)
        repeat = others.pop("repeat", 0)
        if type(repeat) is not int or not 0 <= repeat <= MOST_REPEATS:
            expected = f"a whole number from 0 to {MOST_REPEATS}"
            raise InputError("options", "repeat", shown(repeat), expected)
        readings = SelectionOptions.from_dict({"postprocessing": "off", **others})
        return cls(readings, constants, repeat)

    def to_dict(self) -> dict[str, Any]:
        """The options as a JSON object; constants and repeat only where not the default."""
        default = PriceConstants()
        changed = {
            known.name: getattr(self.constants, known.name)
            for known in fields(PriceConstants)
            if getattr(self.constants, known.name) != getattr(default, known.name)
        }
        repeat = {"repeat": self.repeat} if self.repeat else {}
        return {**self.readings.to_dict(), **changed, **repeat}


def _constants_of(options: Mapping[str, Any]) -> tuple[PriceConstants, dict[str, Any]]:
    """Constants named among options (``K=V``), and the other options.

    Raises
    ------
    InputError
        If a constant is no number that the policy can use.
    """
    changes: dict[str, float] = {}
    others = dict(options)
    for known in fields(PriceConstants):
        if known.name not in others:
            continue
        text, whole = others.pop(known.name), isinstance(known.default, int)
        least, most = _LIMITS.get(known.name, (0.0, 1e6))
        value = whole_of(str(text)) if whole else real_of(str(text))
        if value is None or not least <= value <= most:
            kind = "a whole number" if whole else "a number"
            raise InputError(
                "options", known.name, shown(text), f"{kind} from {least:g} to {most:g}"
            )
        changes[known.name] = value
    return replace(PriceConstants(), **changes), others  # type: ignore[arg-type]


_LIMITS = {
    "wake": (1.0, 1e9),
    "memory": (0.0, 1.0),
    "rounds": (1, 100),
    "bisections": (1, 100),
}
