"""Layer profiles of well-known networks, computed from their published architectures."""

from __future__ import annotations

from optsched.zoo.catalogue import MIXTURES, MODELS, profile_model, profile_network
from optsched.zoo.device import DEVICES, V100, device_named

__all__ = [
    "DEVICES",
    "MIXTURES",
    "MODELS",
    "V100",
    "device_named",
    "profile_model",
    "profile_network",
]
