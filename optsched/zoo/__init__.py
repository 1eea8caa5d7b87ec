"""Layer profiles of well-known networks, computed from their published architectures."""

from __future__ import annotations

from optsched.zoo.catalogue import MODELS, profile_model
from optsched.zoo.device import V100

__all__ = ["MODELS", "V100", "profile_model"]
