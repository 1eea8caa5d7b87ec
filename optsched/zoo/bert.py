"""BERT-large, of "BERT: Pre-training of Deep Bidirectional Transformers...".

Source: J. Devlin, M.-W. Chang, K. Lee and K. Toutanova, NAACL 2019, section 3 (24 blocks of width
1024, 16 heads; "Total Parameters=340M") and the authors' release (vocabulary, positions). The
task is question answering on SQuAD, with the release's sequence length of 384 tokens.
"""

from __future__ import annotations

from optsched.zoo.network import Network, NetworkBuilder, Tensor
from optsched.zoo.transformer import (
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
VOCABULARY = 30522
POSITIONS = 512
SEGMENTS = 2
SEQUENCE_LENGTH = 384
ANSWER_ENDS = 2
"""Scores of a token: how well it starts, and how well it ends, the answer."""


def bert_large() -> Network:
    """Build BERT-large: a chain of the embedding, 24 x 2 sublayers and the head."""
    net = NetworkBuilder("BERT-large", f"sequence of {SEQUENCE_LENGTH} tokens", HEADS)
    rows = VOCABULARY + POSITIONS + SEGMENTS
    x = embedding(net, "embedding", token_input(SEQUENCE_LENGTH), WIDTH, rows=rows, extra=2 * WIDTH)
    for block in range(1, BLOCKS + 1):
        x = attention(net, f"block{block}.attention", x, WIDTH)
        x = feed_forward(net, f"block{block}.feed_forward", x, FEED_FORWARD_WIDTH)
    _head(net, x)
    return net.build()


def _head(net: NetworkBuilder, x: Tensor) -> Tensor:
    """Add the pooler, which reads the first token only, and the scores of all the tokens.

    Both read the last block and nothing reads the pooler in this task, but the published network
    has it: one layer holds the two.
    """
    tokens, width = x.shape
    return net.add(
        "head",
        (x,),
        (tokens, ANSWER_ENDS),
        flops=linear_flops(1, width, width) + linear_flops(tokens, width, ANSWER_ENDS),
        parameters=linear_parameters(width, width) + linear_parameters(width, ANSWER_ENDS),
    )
