"""The sublayers of transformers, added to a `NetworkBuilder`.

Source: A. Vaswani et al., "Attention Is All You Need", NeurIPS 2017. Tensors are (tokens,
features). Each sublayer is one layer: its normalisation and its residual sum are part of it, so
a stack of them is a chain. Attention scores are counted for all pairs of tokens, also where a
causal mask then discards half of them, as dense implementations compute them.
"""

from __future__ import annotations

from dataclasses import dataclass

from optsched.zoo.network import NetworkBuilder, Tensor


@dataclass(frozen=True)
class Style:
    """What the families do differently in every sublayer.

    Attributes
    ----------
    bias : bool
        Whether matrix products carry a bias.
    norm_vectors : int
        Learned vectors of a normalisation: 2 (scale, shift) in a layer norm, 1 in an RMS norm.
    """

    bias: bool = True
    norm_vectors: int = 2


BERT_STYLE = Style()
"""Biases and layer norms: those of BERT and of GPT, the default."""


def token_input(tokens: int) -> Tensor:
    """The network's input: one index for each token."""
    return Tensor((tokens,))


def embedding(
    net: NetworkBuilder, name: str, ids: Tensor, width: int, *, rows: int, extra: int = 0
) -> Tensor:
    """Add a table of `rows` vectors looked up by token; `extra` parameters (a norm) besides."""
    shape = (*ids.shape, width)
    return net.add(name, (ids,), shape, flops=0, parameters=rows * width + extra, lookup=True)


def attention(
    net: NetworkBuilder,
    name: str,
    x: Tensor,
    inner: int,
    *,
    context: Tensor | None = None,
    style: Style = BERT_STYLE,
    extra_parameters: int = 0,
    extra_flops: int = 0,
) -> Tensor:
    """Add an attention sublayer.

    Parameters
    ----------
    inner : int
        Number of heads times the width of a head.
    context : Tensor, optional
        What keys and values are made from; by default `x` (self-attention).
    extra_parameters, extra_flops : int
        Those of relative positions, where the family has them.

    Notes
    -----
    With s queries, t keys, width d and inner width i, the multiply-accumulates are s d i
    (queries), 2 t d i (keys and values), s t i (scores), s t i (weighted values) and s i d
    (output): the seq^2 terms do not depend on the number of heads.
    """
    source = x if context is None else context
    (queries, width), keys = x.shape, source.shape[0]
    projections = linear_flops(queries, width, inner) + 2 * linear_flops(keys, width, inner)
    pairs = 2 * linear_flops(queries, inner, keys)
    output = linear_flops(queries, inner, width)
    parameters = (
        3 * linear_parameters(width, inner, style.bias)
        + linear_parameters(inner, width, style.bias)
        + style.norm_vectors * width
    )
    return net.add(
        name,
        (x,) if context is None else (x, context),
        x.shape,
        flops=projections + pairs + output + x.elements + extra_flops,
        parameters=parameters + extra_parameters,
    )


def feed_forward(
    net: NetworkBuilder,
    name: str,
    x: Tensor,
    hidden: int,
    *,
    style: Style = BERT_STYLE,
) -> Tensor:
    """Add a feed-forward sublayer: two matrix products, `hidden` features between them."""
    tokens, width = x.shape
    products = linear_flops(tokens, width, hidden) + linear_flops(tokens, hidden, width)
    parameters = (
        linear_parameters(width, hidden, style.bias)
        + linear_parameters(hidden, width, style.bias)
        + style.norm_vectors * width
    )
    return net.add(name, (x,), x.shape, flops=products + x.elements, parameters=parameters)


def vocabulary_head(
    net: NetworkBuilder, name: str, x: Tensor, vocabulary: int, *, norm_parameters: int
) -> Tensor:
    """Add the last normalisation and a product with the embedding's table.

    The table is tied to the embedding's, whose layer counts it. A placement that sets the two
    layers apart holds the table twice, which these counts do not show.
    """
    tokens, width = x.shape
    flops = linear_flops(tokens, width, vocabulary)
    return net.add(name, (x,), (tokens, vocabulary), flops=flops, parameters=norm_parameters)


def linear_flops(rows: int, inputs: int, outputs: int) -> int:
    """FLOPs of a (rows x inputs) by (inputs x outputs) matrix product."""
    return 2 * rows * inputs * outputs


def linear_parameters(inputs: int, outputs: int, bias: bool = True) -> int:
    """Parameters of a matrix product: weights and, if any, one bias for each output."""
    return inputs * outputs + (outputs if bias else 0)
