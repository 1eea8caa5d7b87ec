"""A network as a directed acyclic graph of profiled layers."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from optsched.errors import InputError, shown


@dataclass(frozen=True)
class Layer:
    """One layer, measured on one GPU.

    Attributes
    ----------
    name : str
        What the profile calls it; need not be unique.
    forward_time, backward_time : float
        Seconds per mini-batch.
    output_bytes : float
        Bytes of its output per mini-batch.
    parameter_bytes : float
        Bytes of its parameters, but for those of experts.
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


class Totals(NamedTuple):
    """Prefix sums over the layers: entry ``i`` is the sum over the layers before position ``i``.

    Each array has length ``len(layers) + 1`` and begins with 0, so that layers ``i..j-1`` sum to
    ``total[j] - total[i]``. Times are seconds per mini-batch.
    """

    forward_time: NDArray[np.float64]
    backward_time: NDArray[np.float64]
    parameter_bytes: NDArray[np.float64]
    expert_parameter_bytes: NDArray[np.float64]


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
            _check_layer(source, f"layer {position}", layer)
        for position, edge in enumerate(self.edges):
            _check_edge(source, f"edge {position}", edge, len(self.layers))
        for name in _NUMBERS:
            if not _usable(sum(float(getattr(layer, name)) for layer in self.layers)):
                raise InputError(source, name, "an infinite sum", "a finite sum over the layers")

    def repeated(self, times: int) -> LayerProfile:
        """The profile of so many mini-batches: times and outputs grow, parameters do not."""
        layers = tuple(
            replace(
                layer,
                forward_time=times * layer.forward_time,
                backward_time=times * layer.backward_time,
                output_bytes=times * layer.output_bytes,
                tensor_bytes=times * layer.tensor_bytes,
                expert_bytes=times * layer.expert_bytes,
            )
            for layer in self.layers
        )
        return replace(self, layers=layers)

    def cut_bytes(self) -> NDArray[np.float64]:
        """Bytes per mini-batch that cross the cut after each layer but the last.

        Returns
        -------
        ndarray, shape (len(layers) - 1,)
            Entry ``i`` is the sum of ``output_bytes`` over the distinct layers ``u <= i`` with an
            edge to some ``v > i``: an output read by several later layers is sent once.

        Notes
        -----
        O(E + L * span) for L layers and E edges, where span is the longest edge. Outputs are
        added, never subtracted again, so nothing cancels.
        """
        last_reader = list(range(len(self.layers)))
        for u, v in self.edges:
            last_reader[u] = max(last_reader[u], v)
        crossing = np.zeros(len(self.layers) - 1)
        for u, last in enumerate(last_reader):
            crossing[u:last] += self.layers[u].output_bytes
        return crossing

    @cached_property
    def totals(self) -> Totals:
        """Prefix sums of the times and the parameter bytes; O(L) once."""
        return Totals(*(self._prefix_sum(name) for name in Totals._fields))

    def _prefix_sum(self, name: str) -> NDArray[np.float64]:
        values = (float(getattr(layer, name)) for layer in self.layers)
        return np.array(list(accumulate(values, initial=0.0)))


_NUMBERS = tuple(name for name in Layer.__dataclass_fields__ if name != "name")


def _check_layer(source: str, where: str, layer: Layer) -> None:
    for name in _NUMBERS:
        value = getattr(layer, name)
        if not _usable(value):
            place = f"{where}, {name}"
            raise InputError(source, place, shown(value), "a finite number of at least 0")


def _check_edge(source: str, where: str, edge: tuple[int, int], layers: int) -> None:
    u, v = edge
    if not 0 <= u < v < layers:
        expected = f"positions u < v in 0..{layers - 1}, in topological order"
        raise InputError(source, where, shown(edge), expected)


def _usable(value: Any) -> bool:
    # Comparing with the largest float also refuses NaN, and integers too large to convert.
    number = isinstance(value, int | float | np.integer | np.floating)
    return number and bool(0 <= value <= sys.float_info.max)
