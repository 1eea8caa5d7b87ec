"""A network as a directed acyclic graph of profiled layers."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.errors import InputError, shown


@dataclass(frozen=True)
class Layer:
    """One layer, measured on one GPU.

    Attributes
    ----------
    name : str
        Name in the profile; need not be unique.
    forward_time, backward_time : float
        Seconds per mini-batch.
    output_bytes : float
        Bytes of its output per mini-batch.
    parameter_bytes : float
        Bytes of its parameters, without those of experts.
    tensor_bytes : float
        Bytes that the slices of a replica all-reduce, per mini-batch.
    expert_bytes : float
        Bytes sent to experts and back, per mini-batch.
    expert_parameter_bytes : float
        Bytes of all its experts' parameters.
    """

    name: str
    forward_time: float
    backward_time: float
    output_bytes: float
    parameter_bytes: float
    tensor_bytes: float = 0.0
    expert_bytes: float = 0.0
    expert_parameter_bytes: float = 0.0


@dataclass(frozen=True)
class LayerProfile:
    """The layers of one network in a topological order, and the edges between them.

    Attributes
    ----------
    model : str
        The network's name.
    layers : tuple of Layer
        In a topological order of the edges.
    edges : tuple of (int, int)
        ``(u, v)``: layer ``v`` reads the output of layer ``u``, with ``u < v``.
    provenance : dict
        Where the numbers come from.
    tensor_parallel : int
        GPUs of a replica: times are those of one of so many slices, bytes of all of them.
    experts : int
        Experts of a layer that has any; 0: none has.
    bytes_per_number : int
        Of a parameter.

    Raises
    ------
    InputError
        For no layer, an edge out of range or not forward, a number that is negative or not
        finite, or numbers whose sum is not finite.
    """

    model: str
    layers: tuple[Layer, ...]
    edges: tuple[tuple[int, int], ...]
    provenance: dict[str, object] = field(default_factory=dict, hash=False)
    tensor_parallel: int = 1
    experts: int = 0
    bytes_per_number: int = 4

    def __post_init__(self) -> None:
        source = f"profile {self.model}"
        if not self.layers:
            raise InputError(source, "layers", "none", "at least one layer")
        for position, layer in enumerate(self.layers):
            for name in _NUMBERS:
                value = getattr(layer, name)
                if not _usable(value):
                    where, expected = f"layer {position}, {name}", "a finite number of at least 0"
                    raise InputError(source, where, shown(value), expected)
        for position, (u, v) in enumerate(self.edges):
            if not 0 <= u < v < len(self.layers):
                expected = f"positions u < v in 0..{len(self.layers) - 1}, in topological order"
                raise InputError(source, f"edge {position}", shown((u, v)), expected)
        for name in _NUMBERS:
            if not _usable(sum(float(getattr(layer, name)) for layer in self.layers)):
                raise InputError(source, name, "an infinite sum", "a finite sum over the layers")

    def repeated(self, times: int) -> LayerProfile:
        """Return the profile of `times` mini-batches: parameters stay the same."""
        grows = ("forward_time", "backward_time", "output_bytes", "tensor_bytes", "expert_bytes")
        layers = (
            replace(layer, **{name: times * getattr(layer, name) for name in grows})
            for layer in self.layers
        )
        return replace(self, layers=tuple(layers))

    def cut_bytes(self) -> NDArray[np.float64]:
        """Return the bytes that cross each cut; an output read by several layers crosses once."""
        last_reader = list(range(len(self.layers)))
        for u, v in self.edges:
            last_reader[u] = max(last_reader[u], v)
        crossing = np.zeros(len(self.layers) - 1)
        for u, last in enumerate(last_reader):
            crossing[u:last] += self.layers[u].output_bytes
        return crossing

    def prefix_sum(self, name: str) -> NDArray[np.float64]:
        """Sums of a number over the layers before each position 0..L; O(L)."""
        values = (float(getattr(layer, name)) for layer in self.layers)
        return np.array(list(accumulate(values, initial=0.0)))


_NUMBERS = tuple(name for name in Layer.__dataclass_fields__ if name != "name")


def _usable(value: Any) -> bool:
    # Comparing with the largest float also refuses NaN, and integers too large to convert.
    number = isinstance(value, int | float | np.integer | np.floating)
    return number and bool(0 <= value <= sys.float_info.max)
