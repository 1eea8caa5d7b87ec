"""Distributions of epochs to completion in the shapes of sts, Fig. 2.

The paper trained four networks for at most 100 epochs and stopped a run after 10 epochs without
improvement: AlexNet mostly runs to the maximum, ResNet and VGG16 stop early, MobileNetV2 in the
middle. The runs are not published with the figure; as many synthetic ones, with similar shapes, are
drawn and binned instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from optsched.declared import Between
from optsched.errors import InputError, shown
from optsched.uncertainty.distribution import Distribution

MAX_EPOCHS = 100
BinWidth = Annotated[int, Between(1, MAX_EPOCHS)]
PATIENCE = 10
RUNS = 221
"""(648 + 237) / 4: the paper's runs, spread over its four networks."""


@dataclass(frozen=True)
class Shape:
    """A Beta(a, b) on the epochs after the patience, and a mass at the maximum."""

    network: str
    a: float
    b: float
    share_at_max: float
    description: str


SHAPES = (  # parameters chosen by eye, to match the description of the figure
    Shape("AlexNet", 4.0, 1.6, 0.45, "right-heavy, mass at the maximum"),
    Shape("ResNet", 1.6, 5.5, 0.02, "early"),
    Shape("VGG16", 1.3, 4.5, 0.03, "early"),
    Shape("MobileNetV2", 5.0, 5.0, 0.0, "centred"),
)


def shape_of(network: str) -> Shape:
    """The shape of a network; raises InputError."""
    for shape in SHAPES:
        if shape.network.lower() == network.lower():
            return shape
    known = ", ".join(shape.network for shape in SHAPES)
    raise InputError("generate", "network", shown(network), f"one of {known}")


def sample_epochs(shape: Shape, runs: int, rng: np.random.Generator) -> np.ndarray:
    """Epochs of so many runs: integers in 1 + patience .. 100."""
    spread = rng.beta(shape.a, shape.b, size=runs)
    epochs = np.floor(PATIENCE + 1 + spread * (MAX_EPOCHS - PATIENCE)).astype(np.int64)
    epochs = np.minimum(epochs, MAX_EPOCHS)
    epochs[rng.random(runs) < shape.share_at_max] = MAX_EPOCHS
    return epochs


def fig2_distribution(
    network: str, rng: np.random.Generator, *, bin_width: int = 5
) -> Distribution:
    """The empirical distribution of seeded runs, epochs rounded up to a multiple of `bin_width`."""
    epochs = sample_epochs(shape_of(network), RUNS, rng)
    return Distribution.from_samples(np.ceil(epochs / bin_width) * bin_width)
