"""The sublayers of transformers, added to a `NetworkBuilder`.

Source: A. Vaswani et al., "Attention Is All You Need", NeurIPS 2017. Tensors are (tokens,
features). Each sublayer is one layer: its normalisation and its residual sum are part of it, so
a stack of them is a chain. Attention scores are counted for all pairs of tokens, also where a
causal mask then discards half of them, as dense implementations compute them.

Slices are those of M. Shoeybi et al., "Megatron-LM: Training Multi-Billion Parameter Language
Models Using Model Parallelism", 2019, section 3: heads and hidden features are shared out, so that
a sublayer ends in one all-reduce of its output in the forward pass and one of the gradient of its
input in the backward pass: two and two a block. Normalisations and residual sums are not sliced.
"""

from __future__ import annotations

from typing import NamedTuple

from optsched.zoo.network import Experts, NetworkBuilder, Slices, Tensor


class Style(NamedTuple):
    """Differences between families in every sublayer; the default is that of BERT and of GPT."""

    bias: bool = True
    """Whether matrix products carry a bias."""
    norm_vectors: int = 2
    """Learned vectors of a normalisation: 2 (scale, shift) in a layer norm, 1 in an RMS norm."""


class Positions(NamedTuple):
    """What relative positions add to an attention."""

    parameters: int = 0
    flops: int = 0


LAYER_NORM, NO_POSITIONS = Style(), Positions()


_SCORE_MOVES = 6
"""Times that an unfused attention writes or reads a score."""
_AROUND = 5
"""Times that each token's features are written or read around a sublayer's products, beside its
input and output: the norm writes and the first product reads; the last product writes; the dropout,
in one kernel with the residual sum, reads that and the sublayer's input again."""


def token_input(tokens: int) -> Tensor:
    """The network's input: one index for each token."""
    return Tensor((tokens,))


def embedding(
    net: NetworkBuilder, name: str, ids: Tensor, width: int, *, rows: int, extra: int = 0
) -> Tensor:
    """Add a table of `rows` vectors looked up by token; `extra` parameters (a norm) besides.

    Slices hold rows: each finds the vectors of its own, and an all-reduce adds up the rest.
    """
    shape = (*ids.shape, width)
    slices = Slices(forward_reduced=ids.elements * width)
    parameters = rows * width + extra
    return net.add(name, (ids,), shape, flops=0, parameters=parameters, lookup=True, slices=slices)


def attention(
    net: NetworkBuilder,
    name: str,
    x: Tensor,
    inner: int,
    *,
    context: Tensor | None = None,
    shared_inner: int | None = None,
    style: Style = LAYER_NORM,
    positions: Positions = NO_POSITIONS,
) -> Tensor:
    """Add an attention sublayer.

    With s queries, t keys, width d and inner width i, the multiply-accumulates are s d i
    (queries), 2 t d i (keys and values), s t i (scores), s t i (weighted values) and s i d
    (output): the seq^2 terms do not depend on the number of heads.

    Slices add up the gradient of the context too. Unfused kernels write and read queries, keys,
    values and the heads' outputs, and move each score `_SCORE_MOVES` times: it is written, read and
    written by the softmax and by the dropout, and read.
    """
    source = x if context is None else context
    (queries, width), keys = x.shape, source.shape[0]
    kept = inner if shared_inner is None else shared_inner
    projections = linear_flops(queries, width, inner) + 2 * linear_flops(keys, width, kept)
    pairs = 2 * linear_flops(queries, inner, keys)
    output = linear_flops(queries, inner, width)
    read = 0 if context is None else context.elements
    slices = Slices(
        forward_reduced=x.elements,
        backward_reduced=x.elements + read,
        inner_elements=4 * (queries * inner + keys * kept)
        + _SCORE_MOVES * net.heads * queries * keys,
        outer_elements=_AROUND * x.elements,
    )
    parameters = (
        linear_parameters(width, inner, style.bias)
        + 2 * linear_parameters(width, kept, style.bias)
        + linear_parameters(inner, width, style.bias)
        + style.norm_vectors * width
    )
    return net.add(
        name,
        (x,) if context is None else (x, context),
        x.shape,
        flops=projections + pairs + output + x.elements + positions.flops,
        parameters=parameters + positions.parameters,
        slices=slices,
    )


def feed_forward(
    net: NetworkBuilder,
    name: str,
    x: Tensor,
    hidden: int,
    *,
    style: Style = LAYER_NORM,
) -> Tensor:
    """Add a feed-forward sublayer: two matrix products, `hidden` features between them."""
    tokens, width = x.shape
    products = linear_flops(tokens, width, hidden) + linear_flops(tokens, hidden, width)
    parameters = (
        linear_parameters(width, hidden, style.bias)
        + linear_parameters(hidden, width, style.bias)
        + style.norm_vectors * width
    )
    return net.add(
        name,
        (x,),
        x.shape,
        flops=products + x.elements,
        parameters=parameters,
        slices=_feed_forward_slices(x, 4 * hidden),
    )


def expert_feed_forward(
    net: NetworkBuilder,
    name: str,
    x: Tensor,
    hidden: int,
    *,
    experts: int,
    active: int,
    products: int = 3,
) -> Tensor:
    """Add a sublayer of experts, of which a router picks `active` for each token.

    A token's features are sent to each of its experts and come back, and so do the gradients: 4
    all-to-alls of tokens x width x `active` numbers. Loads are balanced, and no token is dropped.
    Source: N. Shazeer et al., "Outrageously Large Neural Networks", ICLR 2017;
    D. Lepikhin et al., "GShard", ICLR 2021.
    """
    tokens, width = x.shape
    router = linear_flops(tokens, width, experts)
    passed = active * products * linear_flops(tokens, width, hidden)
    return net.add(
        name,
        (x,),
        x.shape,
        flops=router + passed + x.elements,
        parameters=linear_parameters(width, experts, bias=False) + width,
        slices=_feed_forward_slices(x, 2 * products * active * hidden),
        experts=Experts(
            experts,
            parameters=experts * products * linear_parameters(width, hidden, bias=False),
            routed_elements=4 * active * x.elements,
        ),
    )


def vocabulary_head(
    net: NetworkBuilder, name: str, x: Tensor, vocabulary: int, *, norm_parameters: int
) -> Tensor:
    """Add the last normalisation and a product with the embedding's table, which is counted there.

    A placement that sets the two layers apart holds the table twice, which these counts omit.
    """
    tokens, width = x.shape
    flops = linear_flops(tokens, width, vocabulary)
    slices = Slices(backward_reduced=x.elements)
    return net.add(
        name, (x,), (tokens, vocabulary), flops=flops, parameters=norm_parameters, slices=slices
    )


def _feed_forward_slices(x: Tensor, moved_a_token: int) -> Slices:
    return Slices(
        forward_reduced=x.elements,
        backward_reduced=x.elements,
        inner_elements=moved_a_token * x.shape[0],
        outer_elements=_AROUND * x.elements,
    )


def linear_flops(rows: int, inputs: int, outputs: int) -> int:
    """FLOPs of a (rows x inputs) by (inputs x outputs) matrix product."""
    return 2 * rows * inputs * outputs


def linear_parameters(inputs: int, outputs: int, bias: bool = True) -> int:
    """Parameters of a matrix product: weights and, if any, one bias for each output."""
    return inputs * outputs + (outputs if bias else 0)
