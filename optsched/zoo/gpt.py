"""GPT-3 6.7B, 13B and 175B, of "Language Models are Few-Shot Learners".

Source: T. Brown et al., NeurIPS 2020, table 2.1, and the byte-pair vocabulary of A. Radford et
al., "Language Models are Unsupervised Multitask Learners", 2019. The table prints a width of 5140
for the 13B model, but its 40 heads of 128 make 5120, which is used here. The context of 2048
tokens sizes the position table; a training sequence has 512 tokens. All the attentions are dense:
the sparse patterns that GPT-3 alternates with them are not published in enough detail.
"""

from __future__ import annotations

from dataclasses import dataclass

from optsched.zoo.network import Network, NetworkBuilder
from optsched.zoo.transformer import (
    attention,
    embedding,
    feed_forward,
    token_input,
    vocabulary_head,
)

HEAD_WIDTH = 128
FEED_FORWARD_RATIO = 4
VOCABULARY = 50257
CONTEXT = 2048
SEQUENCE_LENGTH = 512


@dataclass(frozen=True)
class GptSize:
    """One line of the paper's table: the blocks and the heads make the model's size.

    Others may have heads of another width, and sequences of another length.
    """

    name: str
    blocks: int
    heads: int
    head_width: int = HEAD_WIDTH
    tokens: int = SEQUENCE_LENGTH

    @property
    def width(self) -> int:
        """Features of a token."""
        return self.heads * self.head_width


GPT_6_7B = GptSize("GPT-6.7B", blocks=32, heads=32)
GPT_13B = GptSize("GPT-13B", blocks=40, heads=40)
GPT_175B = GptSize("GPT-175B", blocks=96, heads=96)


def gpt(size: GptSize) -> Network:
    """Build a GPT: a chain of the embedding, two sublayers a block and the tied head."""
    net = NetworkBuilder(size.name, f"sequence of {size.tokens} tokens", size.heads)
    width = size.width
    ids = token_input(size.tokens)
    x = embedding(net, "embedding", ids, width, rows=VOCABULARY + CONTEXT)
    for block in range(1, size.blocks + 1):
        x = attention(net, f"block{block}.attention", x, width)
        x = feed_forward(net, f"block{block}.feed_forward", x, FEED_FORWARD_RATIO * width)
    vocabulary_head(net, "head", x, VOCABULARY, norm_parameters=2 * width)
    return net.build()
