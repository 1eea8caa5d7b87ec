"""Layer profiles of well-known networks, computed from their published architectures."""

from __future__ import annotations

from optsched.zoo.catalogue import MODELS, profile_model
from optsched.zoo.device import DEVICES, V100, device_named

__all__ = ["DEVICES", "MODELS", "V100", "device_named", "profile_model"]
