"""The options of runs over time: the readings of selection, and the price policy's constants."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from optsched.rolling.policies.price import PriceConstants, constants_of
from optsched.selection.options import SelectionOptions


@dataclass(frozen=True)
class RollingOptions:
    """What changes a run beside its seed.

    Attributes
    ----------
    readings : SelectionOptions
        Over time ``postprocessing`` is off unless asked for.
    constants : PriceConstants
        Of the policies ``price`` and ``price-patterns``.
    """

    readings: SelectionOptions = field(
        default_factory=lambda: SelectionOptions(postprocessing="off")
    )
    constants: PriceConstants = field(default_factory=PriceConstants)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> RollingOptions:
        """Make options of names and values; raises InputError."""
        constants, others = constants_of(values)
        return cls(SelectionOptions.from_dict({"postprocessing": "off", **others}), constants)

    def to_dict(self) -> dict[str, Any]:
        """The options as a JSON object; constants only where they are not the default."""
        default = PriceConstants()
        changed = {
            known.name: getattr(self.constants, known.name)
            for known in fields(PriceConstants)
            if getattr(self.constants, known.name) != getattr(default, known.name)
        }
        return {**self.readings.to_dict(), **changed}
