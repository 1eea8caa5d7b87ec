"""Transformers: their sublayers, added to a `NetworkBuilder`, and seven well-known networks.

Source: A. Vaswani et al., "Attention Is All You Need", NeurIPS 2017. Tensors are (tokens,
features). Each sublayer is one layer: its normalisation and its residual sum are part of it, so
a stack of them is a chain. Attention scores are counted for all pairs of tokens, also where a
causal mask then discards half of them, as dense implementations compute them.

Slices are those of M. Shoeybi et al., "Megatron-LM: Training Multi-Billion Parameter Language
Models Using Model Parallelism", 2019, section 3: heads and hidden features are shared out, so that
a sublayer ends in one all-reduce of its output in the forward pass and one of the gradient of its
input in the backward pass: two and two a block. Normalisations and residual sums are not sliced.
"""

from dataclasses import dataclass
from typing import NamedTuple

from optsched.zoo.network import Experts, Network, NetworkBuilder, Tensor


class Style(NamedTuple):
    """Differences between families in every sublayer; the default is that of BERT and of GPT."""

    bias: bool = True
    """Whether matrix products carry a bias."""
    norm_vectors: int = 2
    """Learned vectors of a normalisation: 2 (scale, shift) in a layer norm, 1 in an RMS norm."""


LAYER_NORM = Style()


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
    parameters, reduced = rows * width + extra, (ids.elements * width, 0)
    return net.add(
        name, (ids,), shape, flops=0, parameters=parameters, lookup=True, reduced=reduced
    )


def attention(
    net: NetworkBuilder,
    name: str,
    x: Tensor,
    inner: int,
    *,
    context: Tensor | None = None,
    shared_inner: int | None = None,
    style: Style = LAYER_NORM,
    position_parameters: int = 0,
    position_flops: int = 0,
) -> Tensor:
    """Add an attention sublayer.

    With s queries, t keys, width d and inner width i, the multiply-accumulates are s d i
    (queries), 2 t d i (keys and values), s t i (scores), s t i (weighted values) and s i d
    (output): the seq^2 terms do not depend on the number of heads.

    Slices add up the gradient of the context too.
    """
    source = x if context is None else context
    (queries, width), keys = x.shape, source.shape[0]
    key_value_width = inner if shared_inner is None else shared_inner
    projections = linear_flops(queries, width, inner) + 2 * linear_flops(
        keys, width, key_value_width
    )
    pairs = 2 * linear_flops(queries, inner, keys)
    output = linear_flops(queries, inner, width)
    read = 0 if context is None else context.elements
    parameters = (
        linear_parameters(width, inner, style.bias)
        + 2 * linear_parameters(width, key_value_width, style.bias)
        + linear_parameters(inner, width, style.bias)
        + style.norm_vectors * width
    )
    return net.add(
        name,
        (x,) if context is None else (x, context),
        x.shape,
        flops=projections + pairs + output + x.elements + position_flops,
        parameters=parameters + position_parameters,
        reduced=(x.elements, x.elements + read),
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
        reduced=(x.elements, x.elements),
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
    expert_flops = active * products * linear_flops(tokens, width, hidden)
    return net.add(
        name,
        (x,),
        x.shape,
        flops=router + expert_flops + x.elements,
        parameters=linear_parameters(width, experts, bias=False) + width,
        reduced=(x.elements, x.elements),
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
    reduced = (0, x.elements)
    return net.add(
        name, (x,), (tokens, vocabulary), flops=flops, parameters=norm_parameters, reduced=reduced
    )


def linear_flops(rows: int, inputs: int, outputs: int) -> int:
    """FLOPs of a (rows x inputs) by (inputs x outputs) matrix product."""
    return 2 * rows * inputs * outputs


def linear_parameters(inputs: int, outputs: int, bias: bool = True) -> int:
    return inputs * outputs + (outputs if bias else 0)


ANSWER_SCORES = 2
"""Scores of a token as the start and as the end of the answer to a question."""
RMS_NORM = Style(bias=False, norm_vectors=1)
"""Products without a bias and norms without a shift: T5 and Mixtral."""


def bert_large() -> Network:
    """Build BERT-large: 24 blocks of width 1024 with 16 heads.

    Source: J. Devlin, M.-W. Chang, K. Lee and K. Toutanova, "BERT: Pre-training of Deep
    Bidirectional Transformers", NAACL 2019, section 3 ("Total Parameters=340M"), and the authors'
    release (30,522 words, 512 positions, 2 segments). The task is question answering on SQuAD, with
    the release's sequence length of 384 tokens.
    """
    tokens, width = 384, 1024
    net = NetworkBuilder("BERT-large", f"sequence of {tokens} tokens", heads=16)
    rows = 30522 + 512 + 2
    x = embedding(net, "embedding", token_input(tokens), width, rows=rows, extra=2 * width)
    for block in range(1, 25):
        x = attention(net, f"block{block}.attention", x, width)
        x = feed_forward(net, f"block{block}.feed_forward", x, 4096)
    # The pooler reads the first token only, the scores all tokens. Both read the last block, and
    # nothing reads the pooler in this task, but the published network has it: one layer holds both.
    net.add(
        "head",
        (x,),
        (tokens, ANSWER_SCORES),
        flops=linear_flops(1, width, width) + linear_flops(tokens, width, ANSWER_SCORES),
        parameters=linear_parameters(width, width) + linear_parameters(width, ANSWER_SCORES),
    )
    return net.build()


XLNET_SEGMENT_RELATIONS = 2
"""Two tokens lie in the same segment, or they do not."""


def xlnet_large() -> Network:
    """Build XLNet-large: 24 blocks of width 1024 with 16 heads of 64.

    Source: Z. Yang et al., "XLNet: Generalized Autoregressive Pretraining for Language
    Understanding", NeurIPS 2019, and its release (vocabulary 32000). Relative positions are those
    of Z. Dai et al., "Transformer-XL", ACL 2019. Fine-tuning runs one stream: the second one, of
    the pre-training, is not counted. The sequence length is 512 tokens, as in the paper's
    fine-tuning on SQuAD. This architecture has about 360 million parameters; Table I of a-srpt,
    whose batch size is used, prints 550 million, which no published XLNet-large has.
    """
    tokens, width = 512, 1024
    net = NetworkBuilder("XLNet-large", f"sequence of {tokens} tokens", heads=16)
    # The mask's vector is a parameter of the released network, although fine-tuning skips it.
    x = embedding(net, "embedding", token_input(tokens), width, rows=32000, extra=width)
    for block in range(1, 25):
        x = _relative_attention(net, f"block{block}.attention", x)
        x = feed_forward(net, f"block{block}.feed_forward", x, 4096)
    net.add(
        "head",
        (x,),
        (tokens, ANSWER_SCORES),
        flops=linear_flops(tokens, width, ANSWER_SCORES),
        parameters=linear_parameters(width, ANSWER_SCORES),
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
        + linear_flops(tokens, width, XLNET_SEGMENT_RELATIONS)
    )
    parameters = width * width + XLNET_SEGMENT_RELATIONS * width + 3 * width
    return attention(
        net,
        name,
        x,
        width,
        style=Style(bias=False),  # the norm has a scale and a shift, the products no bias
        position_parameters=parameters,
        position_flops=flops,
    )


T5_HEADS = 128
T5_INNER = T5_HEADS * 128
T5_POSITION_BUCKETS = 32
"""Classes of distances between tokens; every head has a score for each."""


def t5_11b() -> Network:
    """Build T5-11B: an encoder whose output feeds every block of a decoder, 24 blocks each.

    Source: C. Raffel et al., "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
    Transformer", JMLR 21, 2020, section 3.7 ("11B": width 1024, feed-forward width 65,536, 128
    heads of 128; 11 billion parameters), and the released vocabulary of 32,128. One table serves
    both embeddings and the output (tied). Encoder and decoder both see 512 tokens.
    """
    tokens, width, vocabulary = 512, 1024, 32128
    sample = f"sequences of {tokens} tokens in the encoder and in the decoder"
    net = NetworkBuilder("T5-11B", sample, T5_HEADS)
    ids = token_input(tokens)
    x = embedding(net, "encoder.embedding", ids, width, rows=vocabulary)
    for block in range(1, 25):
        x = _t5_self_attention(net, f"encoder{block}.attention", x, first=block == 1)
        x = feed_forward(net, f"encoder{block}.feed_forward", x, 65536, style=RMS_NORM)
    # The encoder's last norm is a layer, since every decoder block reads it.
    memory = net.add("encoder.norm", (x,), x.shape, flops=0, parameters=width)
    # The decoder's embedding is a lookup in the encoder's table: no parameters here.
    x = embedding(net, "decoder.embedding", ids, width, rows=0)
    for block in range(1, 25):
        name = f"decoder{block}"
        x = _t5_self_attention(net, f"{name}.attention", x, first=block == 1)
        x = attention(net, f"{name}.cross_attention", x, T5_INNER, context=memory, style=RMS_NORM)
        x = feed_forward(net, f"{name}.feed_forward", x, 65536, style=RMS_NORM)
    vocabulary_head(net, "head", x, vocabulary, norm_parameters=width)
    return net.build()


def _t5_self_attention(net: NetworkBuilder, name: str, x: Tensor, *, first: bool) -> Tensor:
    """Add a self-attention; the first of a stack holds the position scores that all share."""
    scores = T5_POSITION_BUCKETS * T5_HEADS if first else 0
    return attention(net, name, x, T5_INNER, style=RMS_NORM, position_parameters=scores)


GPT_VOCABULARY = 50257
GPT_CONTEXT = 2048
"""Rows of the position table."""


@dataclass(frozen=True)
class GptSize:
    """A line of GPT-3's table; others may have other heads and sequence lengths."""

    name: str
    blocks: int
    heads: int
    head_width: int = 128
    tokens: int = 512

    @property
    def width(self) -> int:
        """Features of a token."""
        return self.heads * self.head_width


GPT_6_7B = GptSize("GPT-6.7B", blocks=32, heads=32)
GPT_13B = GptSize("GPT-13B", blocks=40, heads=40)
GPT_175B = GptSize("GPT-175B", blocks=96, heads=96)


def gpt(size: GptSize) -> Network:
    """Build a GPT with the output table tied to the embedding's.

    Source: T. Brown et al., "Language Models are Few-Shot Learners", NeurIPS 2020, table 2.1, and
    the byte-pair vocabulary of A. Radford et al., "Language Models are Unsupervised Multitask
    Learners", 2019. The table prints a width of 5140 for the 13B model, but its 40 heads of 128
    make 5120, which is used here. All attentions are dense: the sparse patterns that GPT-3
    alternates with them are not published in enough detail.
    """
    net = NetworkBuilder(size.name, f"sequence of {size.tokens} tokens", size.heads)
    width, rows = size.width, GPT_VOCABULARY + GPT_CONTEXT
    x = embedding(net, "embedding", token_input(size.tokens), width, rows=rows)
    for block in range(1, size.blocks + 1):
        x = attention(net, f"block{block}.attention", x, width)
        x = feed_forward(net, f"block{block}.feed_forward", x, 4 * width)
    vocabulary_head(net, "head", x, GPT_VOCABULARY, norm_parameters=2 * width)
    return net.build()


def mixtral(experts: int = 8) -> Network:
    """Build Mixtral, by default the 8x7B: 8 experts per block, of which a token uses 2.

    Source: A. Q. Jiang et al., "Mixtral of Experts", 2024, table 1 (width 4096, 32 blocks, 32 heads
    of 128, 8 of keys and values, feed-forward width 14,336, vocabulary 32,000). An expert is gated
    (SwiGLU), three products. Attention is dense; rotary positions have no parameters. The output
    table is not tied to the embedding's.
    """
    tokens, width, vocabulary = 512, 32 * 128, 32000
    net = NetworkBuilder("Mixtral-8x7B", f"sequence of {tokens} tokens", heads=32)
    x = embedding(net, "embedding", token_input(tokens), width, rows=vocabulary)
    for block in range(1, 33):
        name = f"block{block}"
        x = attention(net, f"{name}.attention", x, width, shared_inner=8 * 128, style=RMS_NORM)
        active = min(2, experts)
        x = expert_feed_forward(net, f"{name}.experts", x, 14336, experts=experts, active=active)
    vocabulary_head(net, "head", x, vocabulary, norm_parameters=width + vocabulary * width)
    return net.build()
