"""T5-11B, of "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer".

Source: C. Raffel et al., JMLR 21, 2020, section 3.7 ("11B": width 1024, feed-forward width 65,536,
128 heads of 128, 24 blocks in the encoder and 24 in the decoder; 11 billion parameters), and the
released vocabulary. One table serves both embeddings and the output (tied); products carry no
bias and norms no shift. Encoder and decoder both see 512 tokens.
"""

from __future__ import annotations

from optsched.zoo.network import Network, NetworkBuilder, Tensor
from optsched.zoo.transformer import (
    Positions,
    Style,
    attention,
    embedding,
    feed_forward,
    token_input,
    vocabulary_head,
)

BLOCKS = 24
"""Of the encoder, and of the decoder."""
WIDTH = 1024
FEED_FORWARD_WIDTH = 65536
HEADS = 128
HEAD_WIDTH = 128
VOCABULARY = 32128
POSITION_BUCKETS = 32
"""Classes of distances between tokens; every head has a score for each."""
SEQUENCE_LENGTH = 512

_INNER = HEADS * HEAD_WIDTH
_STYLE = Style(bias=False, norm_vectors=1)


def t5_11b() -> Network:
    """Build T5-11B: an encoder whose output feeds every block of a decoder."""
    sample = f"sequences of {SEQUENCE_LENGTH} tokens in the encoder and in the decoder"
    net = NetworkBuilder("T5-11B", sample, HEADS)
    memory = _encoder(net)
    x = _decoder(net, memory)
    vocabulary_head(net, "head", x, VOCABULARY, norm_parameters=WIDTH)
    return net.build()


def _encoder(net: NetworkBuilder) -> Tensor:
    """Add the encoder; its last norm is a layer, since every decoder block reads it."""
    ids = token_input(SEQUENCE_LENGTH)
    x = embedding(net, "encoder.embedding", ids, WIDTH, rows=VOCABULARY)
    for block in range(1, BLOCKS + 1):
        x = _self_attention(net, f"encoder{block}.attention", x, first=block == 1)
        x = _feed_forward(net, f"encoder{block}.feed_forward", x)
    return net.add("encoder.norm", (x,), x.shape, flops=0, parameters=WIDTH)


def _decoder(net: NetworkBuilder, memory: Tensor) -> Tensor:
    """Add the decoder. Its embedding is a lookup in the encoder's table: no parameters here."""
    ids = token_input(SEQUENCE_LENGTH)
    x = embedding(net, "decoder.embedding", ids, WIDTH, rows=0)
    for block in range(1, BLOCKS + 1):
        name = f"decoder{block}"
        x = _self_attention(net, f"{name}.attention", x, first=block == 1)
        x = attention(net, f"{name}.cross_attention", x, _INNER, context=memory, style=_STYLE)
        x = _feed_forward(net, f"{name}.feed_forward", x)
    return x


def _self_attention(net: NetworkBuilder, name: str, x: Tensor, *, first: bool) -> Tensor:
    """Add a self-attention; the first of a stack holds the position scores that all share."""
    scores = POSITION_BUCKETS * HEADS if first else 0
    return attention(net, name, x, _INNER, style=_STYLE, positions=Positions(scores))


def _feed_forward(net: NetworkBuilder, name: str, x: Tensor) -> Tensor:
    return feed_forward(net, name, x, FEED_FORWARD_WIDTH, style=_STYLE)
