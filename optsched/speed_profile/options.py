"""The one option of speed profiles: which reading of Algorithm 1 ``dichotomy`` runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from optsched.declared import Options


@dataclass(frozen=True)
class SpeedProfileOptions(Options):
    """``algorithm``: Algorithm 1 repaired, or as printed, to show how it fails."""

    left_out: ClassVar[tuple[str, ...]] = ("algorithm",)

    algorithm: Literal["repaired", "printed"] = "repaired"
