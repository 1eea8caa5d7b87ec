"""The one option of speed profiles: which reading of Algorithm 1 ``dichotomy`` runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from optsched.option_values import require_choice, require_known

ALGORITHMS = ("repaired", "printed")


@dataclass(frozen=True)
class SpeedProfileOptions:
    """``algorithm``: Algorithm 1 repaired, or as printed, to show how it fails."""

    algorithm: str = "repaired"

    def __post_init__(self) -> None:
        require_choice("algorithm", self.algorithm, ALGORITHMS)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> SpeedProfileOptions:
        """Make options of names and values; raises InputError."""
        require_known(values, ("algorithm",))
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """The options as a JSON object; the default is left out, since it changes nothing."""
        return {} if self.algorithm == "repaired" else {"algorithm": self.algorithm}
