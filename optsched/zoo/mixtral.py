"""Mixtral 8x7B, of "Mixtral of Experts": a mixture of 8 experts a block, 2 of them for each token.

Source: A. Q. Jiang et al., 2024, table 1 (width 4096, 32 blocks, 32 heads of 128, 8 of keys and
values, feed-forward width 14,336, vocabulary 32,000, 8 experts of which 2 are active). Products
carry no bias and norms no shift; an expert is gated (SwiGLU), three products. Attention is dense;
rotary positions have no parameters. The output table is not tied to the embedding's. A training
sequence has 512 tokens, as in the other transformers of the zoo.
"""

from __future__ import annotations

from optsched.zoo.network import Network, NetworkBuilder
from optsched.zoo.transformer import (
    Style,
    attention,
    embedding,
    expert_feed_forward,
    token_input,
    vocabulary_head,
)

BLOCKS = 32
HEADS = 32
SHARED_HEADS = 8
"""Heads of keys and values, each for four heads of queries."""
HEAD_WIDTH = 128
FEED_FORWARD_WIDTH = 14336
VOCABULARY = 32000
EXPERTS = 8
ACTIVE = 2
SEQUENCE_LENGTH = 512

_WIDTH = HEADS * HEAD_WIDTH
_STYLE = Style(bias=False, norm_vectors=1)


def mixtral(experts: int = EXPERTS) -> Network:
    """Build Mixtral, by default the 8x7B: a chain of embedding, two sublayers a block, and head."""
    net = NetworkBuilder("Mixtral-8x7B", f"sequence of {SEQUENCE_LENGTH} tokens", HEADS)
    x = embedding(net, "embedding", token_input(SEQUENCE_LENGTH), _WIDTH, rows=VOCABULARY)
    for block in range(1, BLOCKS + 1):
        x = attention(
            net,
            f"block{block}.attention",
            x,
            _WIDTH,
            shared_inner=SHARED_HEADS * HEAD_WIDTH,
            style=_STYLE,
        )
        x = expert_feed_forward(
            net,
            f"block{block}.experts",
            x,
            FEED_FORWARD_WIDTH,
            experts=experts,
            active=min(ACTIVE, experts),
        )
    output_table = VOCABULARY * _WIDTH
    vocabulary_head(net, "head", x, VOCABULARY, norm_parameters=_WIDTH + output_table)
    return net.build()
