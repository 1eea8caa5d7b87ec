"""XLNet-large, of "XLNet: Generalized Autoregressive Pretraining for Language Understanding".

Source: Z. Yang, Z. Dai, Y. Yang, J. Carbonell, R. Salakhutdinov and Q. V. Le, NeurIPS 2019, and
its release (24 blocks of width 1024, 16 heads of 64, vocabulary 32000). Relative positions are
those of Z. Dai et al., "Transformer-XL", ACL 2019. Fine-tuning runs one stream: the second one,
of the pre-training, is not counted. The sequence length is 512 tokens, as in the paper's
fine-tuning on SQuAD.

This architecture has about 360 million parameters. Table I of a-srpt, whose
batch size we take, prints 550 million; no choice of a published XLNet-large gives that.
"""

from __future__ import annotations

from optsched.zoo.network import Network, NetworkBuilder, Tensor
from optsched.zoo.transformer import (
    Positions,
    Style,
    attention,
    embedding,
    feed_forward,
    linear_flops,
    linear_parameters,
    token_input,
)

BLOCKS = 24
WIDTH = 1024
FEED_FORWARD_WIDTH = 4096
HEADS = 16
VOCABULARY = 32000
SEGMENT_RELATIONS = 2
"""Two tokens lie in the same segment, or they do not."""
SEQUENCE_LENGTH = 512
ANSWER_ENDS = 2
"""Scores of a token: how well it starts, and how well it ends, the answer."""


def xlnet_large() -> Network:
    """Build XLNet-large: a chain of the embedding, 24 x 2 sublayers and the head."""
    net = NetworkBuilder("XLNet-large", f"sequence of {SEQUENCE_LENGTH} tokens", HEADS)
    # The mask's vector is a parameter of the released network, although fine-tuning skips it.
    x = embedding(
        net, "embedding", token_input(SEQUENCE_LENGTH), WIDTH, rows=VOCABULARY, extra=WIDTH
    )
    for block in range(1, BLOCKS + 1):
        x = _relative_attention(net, f"block{block}.attention", x)
        x = feed_forward(net, f"block{block}.feed_forward", x, FEED_FORWARD_WIDTH)
    net.add(
        "head",
        (x,),
        (SEQUENCE_LENGTH, ANSWER_ENDS),
        flops=linear_flops(SEQUENCE_LENGTH, WIDTH, ANSWER_ENDS),
        parameters=linear_parameters(WIDTH, ANSWER_ENDS),
    )
    return net.build()


def _relative_attention(net: NetworkBuilder, name: str, x: Tensor) -> Tensor:
    """Add an attention whose scores also weigh distances and segments.

    Beyond plain attention: a projection of the 2 s encoded distances, a score of each query
    with each of them and with each segment relation; parameters are the projection, the
    segment vectors, and three vectors added to queries (content, position, segment).
    """
    tokens, width = x.shape
    distances = 2 * tokens
    flops = (
        linear_flops(distances, width, width)
        + linear_flops(tokens, width, distances)
        + linear_flops(tokens, width, SEGMENT_RELATIONS)
    )
    parameters = width * width + SEGMENT_RELATIONS * width + 3 * width
    return attention(
        net,
        name,
        x,
        width,
        # The norm has a scale and a shift, the products no bias.
        style=Style(bias=False),
        positions=Positions(parameters, flops),
    )
