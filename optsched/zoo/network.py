"""Networks as graphs of layers, each with what one sample costs, and a builder for them.

Conventions
-----------
* One multiply-accumulate is 2 floating-point operations (FLOPs).
* FLOPs are those of convolutions, matrix products, pooling (one an element of the window) and
  sums. Normalisations, activations and softmaxes add none, as in the published counts.
* Activation functions belong to the layer that they follow. So does a normalisation, unless
  several layers read its output.
* All the counts are those of one sample; only parameters are those of the network.
"""

import math
from dataclasses import dataclass, field

Shape = tuple[int, ...]
"""Sizes of one sample's tensor: (channels, height, width), (features,), (tokens, features)..."""
Reduced = tuple[int, int]
"""Numbers of a sample that Megatron's slices add up in a layer's forward and backward pass."""
UNSLICED: Reduced = (0, 0)
"""Of a layer that is not sliced: each GPU holds and computes all of it."""


@dataclass(frozen=True)
class Experts:
    """Experts of a layer: networks of the same size, of which each token passes through a few."""

    count: int
    parameters: int
    """Learned numbers of all experts; the layer's own count holds only what every GPU needs."""
    routed_elements: int
    """Numbers of one sample sent to experts and back, in a forward and backward pass."""


@dataclass(frozen=True)
class LayerSpec:
    """One layer, with counts of one sample."""

    name: str
    forward_flops: int
    parameters: int
    output_shape: Shape
    input_elements: int
    """Numbers that the layer reads from other layers, or from the network's input."""
    lookup: bool = False
    """Whether the layer reads only the looked-up rows of its table: an embedding."""
    reduced: Reduced = UNSLICED
    experts: Experts | None = None

    @property
    def output_elements(self) -> int:
        """Numbers in the output of one sample."""
        return math.prod(self.output_shape)


@dataclass(frozen=True)
class Network:
    """A directed acyclic graph of layers, in topological order.

    Edges (u, v) have u < v: layer v reads the output of layer u. `sample` says what one sample is:
    the size of an image, the length of a sequence. The number of slices must divide `heads`, the
    attention heads; with 0 the network cannot be sliced.
    """

    name: str
    sample: str
    layers: tuple[LayerSpec, ...]
    edges: tuple[tuple[int, int], ...]
    heads: int = 0

    @property
    def parameters(self) -> int:
        """Learned numbers of the whole network, experts included."""
        experts = (layer.experts.parameters for layer in self.layers if layer.experts)
        return sum(layer.parameters for layer in self.layers) + sum(experts)

    @property
    def forward_flops(self) -> int:
        """FLOPs of the forward pass of one sample."""
        return sum(layer.forward_flops for layer in self.layers)


@dataclass(frozen=True)
class Tensor:
    """A tensor under construction: its shape, and the layer it comes from (None: the input)."""

    shape: Shape
    layer: int | None = None

    @property
    def elements(self) -> int:
        return math.prod(self.shape)


@dataclass
class NetworkBuilder:
    """Collects layers and edges; a layer states its inputs, so any acyclic graph can be built."""

    name: str
    sample: str
    heads: int = 0
    _layers: list[LayerSpec] = field(default_factory=list)
    _edges: list[tuple[int, int]] = field(default_factory=list)

    def add(
        self,
        name: str,
        inputs: tuple[Tensor, ...],
        output_shape: Shape,
        *,
        flops: int,
        parameters: int = 0,
        lookup: bool = False,
        reduced: Reduced = UNSLICED,
        experts: Experts | None = None,
    ) -> Tensor:
        """Append a layer that reads `inputs`; return its output."""
        index = len(self._layers)
        read = sum(tensor.elements for tensor in inputs)
        self._layers.append(
            LayerSpec(name, flops, parameters, output_shape, read, lookup, reduced, experts)
        )
        sources = {tensor.layer for tensor in inputs if tensor.layer is not None}
        self._edges.extend((source, index) for source in sorted(sources))
        return Tensor(output_shape, index)

    def build(self) -> Network:
        return Network(self.name, self.sample, tuple(self._layers), tuple(self._edges), self.heads)
