"""Option of speed profiles: whether ``dichotomy`` runs Algorithm 1 repaired or as printed."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from optsched.declared import Options


@dataclass(frozen=True)
class SpeedProfileOptions(Options):
    """``algorithm``: Algorithm 1 repaired, or as printed, to show how it fails."""

    omitted_defaults: ClassVar[tuple[str, ...]] = ("algorithm",)

    algorithm: Literal["repaired", "printed"] = "repaired"
