"""The one option of speed profiles: which reading of Algorithm 1 ``dichotomy`` runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from optsched.errors import InputError, shown

ALGORITHMS = ("repaired", "printed")


@dataclass(frozen=True)
class SpeedProfileOptions:
    """``algorithm``: Algorithm 1 repaired, or as printed, to show how it fails."""

    algorithm: str = "repaired"

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            expected = " or ".join(ALGORITHMS)
            raise InputError("options", "algorithm", shown(self.algorithm), expected)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> SpeedProfileOptions:
        """Make options of names and values; raises InputError."""
        for name in values:
            if name != "algorithm":
                raise InputError("options", shown(name), "an unknown option", "algorithm")
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """The options as a JSON object; the default is left out, since it changes nothing."""
        return {} if self.algorithm == "repaired" else {"algorithm": self.algorithm}
