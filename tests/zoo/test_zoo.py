"""The zoo: parameters, FLOPs and profiles against published totals and counts worked by hand."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pytest

from optsched.errors import InputError
from optsched.zoo import MODELS, V100, profile_model, profile_network
from optsched.zoo.convolutional import resnet152
from optsched.zoo.device import A100_BF16, A100_TF32
from optsched.zoo.network import Network
from optsched.zoo.transformers import GPT_6_7B, gpt, mixtral


def _layer(graph: Any, name: str) -> Any:
    (layer,) = (layer for layer in graph.layers if layer.name == name)
    return layer


def _total(graph: Any, begin: str, field: str) -> float:
    """A number of all layers whose names begin so."""
    return sum(getattr(layer, field) for layer in graph.layers if layer.name.startswith(begin))


def _index(net: Network, name: str) -> int:
    return [layer.name for layer in net.layers].index(name)


# --- parameters

# Stated again here, so that a change in the catalogue does not move the target; exactly, where a
# count is released: by torchvision, and of t5-11b.
PUBLISHED = {
    "VGG19": (143.67e6, 143_667_240),
    "ResNet152": (60.19e6, 60_192_808),
    # 27,161,264 with the auxiliary head. That head: 1x1 to 128, 768*128 + 2*128; 5x5 to 768,
    # 25*128*768 + 2*768; linear to 1000, 768*1000 + 1000. In total 3,326,696.
    "Inception-V3": (23.83e6, 27_161_264 - 3_326_696),
    "BERT-large": (340e6, None),  # Devlin et al. 2019, section 3
    "XLNet-large": (360e6, None),  # released xlnet-large-cased
    "T5-11B": (11.3e9, 11_307_321_344),  # Raffel et al. 2020 say 11 billion
    "GPT-6.7B": (6.7e9, None),  # Brown et al. 2020, table 2.1
    "GPT-13B": (13.0e9, None),
    "GPT-175B": (175.0e9, None),
}


@pytest.mark.parametrize("name", MODELS)
def test_parameters_are_the_published_ones(name: str) -> None:
    parameters, (published, exact) = MODELS[name].build().parameters, PUBLISHED[name]
    assert parameters == pytest.approx(published, rel=0.02)
    assert exact in (None, parameters)
    assert MODELS[name].published_parameters == published


# Inner width of T5 128 heads * 128 = 16,384: four products of 1024 x 16,384, and a norm.
T5_ATTENTION, T5_FEED_FORWARD = 4 * 1024 * 16_384 + 1024, 2 * 1024 * 65_536 + 1024


@pytest.mark.parametrize(
    ("name", "layers", "parameters"),
    [
        ("VGG19", "conv1_1", 3 * 64 * 9 + 64),
        ("VGG19", "fc6", 25_088 * 4096 + 4096),  # 512 channels of 7 x 7: 25,088 inputs
        # Weights and the 2C of each batch norm, no biases: 1x1, 3x3, 1x1 and the projection; the
        # second block enters with 256 channels and needs none.
        ("ResNet152", "conv2_1.", (64 * 64 + 128) + (64 * 64 * 9 + 128) + 2 * (64 * 256 + 512)),
        ("ResNet152", "conv2_2.", (256 * 64 + 128) + (64 * 64 * 9 + 128) + (64 * 256 + 512)),
        # Attention 4 d^2 + 4 d, feed-forward 8 d^2 + 5 d, two layer norms 4 d; 13B is 5120 wide.
        ("GPT-6.7B", "block1.", 12 * 4096**2 + 13 * 4096),
        ("GPT-13B", "block1.", 12 * 5120**2 + 13 * 5120),
        ("GPT-6.7B", "embedding", (50_257 + 2048) * 4096),
        ("GPT-6.7B", "head", 2 * 4096),  # the last layer norm; the table is the embedding's
        # Words, positions, segments, layer norm.
        ("BERT-large", "embedding", (30_522 + 512 + 2) * 1024 + 2 * 1024),
        ("BERT-large", "block24.", 12 * 1024**2 + 13 * 1024),
        # Pooler d^2 + d, answer's start and end 2 d + 2.
        ("BERT-large", "head", 1024**2 + 1024 + 2 * 1024 + 2),
        # Queries, keys, values, output, distances: 5 d^2. Segment vectors 2 d, the three added to
        # queries 3 d, layer norm 2 d.
        ("XLNet-large", "block1.attention", 5 * 1024**2 + 7 * 1024),
        ("T5-11B", "encoder2.", T5_ATTENTION + T5_FEED_FORWARD),
        ("T5-11B", "decoder2.", 2 * T5_ATTENTION + T5_FEED_FORWARD),
        # The first block of each stack also holds a score for 32 distances and 128 heads.
        ("T5-11B", "encoder1.", T5_ATTENTION + T5_FEED_FORWARD + 32 * 128),
        ("T5-11B", "decoder1.", 2 * T5_ATTENTION + T5_FEED_FORWARD + 32 * 128),
    ],
)
def test_parameters_by_hand(name: str, layers: str, parameters: int) -> None:
    assert _total(MODELS[name].build(), layers, "parameters") == parameters


# --- FLOPs

# Multiply-accumulates of one sample, torchvision's tables ("GFLOPS").
PUBLISHED_MACS = {"VGG19": 19.63e9, "ResNet152": 11.51e9, "Inception-V3": 5.71e9}


@pytest.mark.parametrize("name", PUBLISHED_MACS)
def test_flops_are_twice_the_published_multiply_accumulates(name: str) -> None:
    flops = MODELS[name].build().forward_flops
    assert flops == pytest.approx(2 * PUBLISHED_MACS[name], rel=0.01)


# Per token of GPT-175B, d wide: 12 d^2 in the products, s d scores and s d weighted values; 2 FLOPs
# each. The two residual sums add d FLOPs each.
WIDTH = 12_288
GPT_BLOCK = 2 * 512 * (12 * WIDTH**2 + 2 * 512 * WIDTH) + 2 * 512 * WIDTH
# BERT's attention at the same length; 2 s d^2 for the distances, s (2 s) d for their scores, s 2 d
# for the segments; 2 FLOPs each.
BERT_ATTENTION = 2 * (4 * 512 * 1024**2 + 2 * 512**2 * 1024) + 512 * 1024
DISTANCES = 2 * (2 * 512 * 1024**2 + 2 * 512**2 * 1024 + 2 * 512 * 1024)


@pytest.mark.parametrize(
    ("name", "layers", "flops"),
    [
        # 224 -> 112: (224 + 6 - 7) // 2 + 1; 49 * 3 products for each of 64 * 112^2 outputs.
        ("ResNet152", "conv1", 2 * 147 * 64 * 112**2),
        ("GPT-175B", "block1.", GPT_BLOCK),
        ("GPT-175B", "head", 2 * 512 * WIDTH * 50_257),
        ("XLNet-large", "block1.attention", BERT_ATTENTION + DISTANCES),
    ],
)
def test_flops_by_hand(name: str, layers: str, flops: int) -> None:
    assert _total(MODELS[name].build(), layers, "forward_flops") == flops


# --- graphs

BRANCHED = {"ResNet152", "Inception-V3", "T5-11B"}


@pytest.mark.parametrize("name", MODELS)
def test_layers_are_in_order_and_read_what_their_predecessors_hand_on(name: str) -> None:
    net = MODELS[name].build()
    last = len(net.layers) - 1
    assert len({layer.name for layer in net.layers}) == len(net.layers)
    assert all(u < v for u, v in net.edges)
    assert len(set(net.edges)) == len(net.edges)
    assert nx.ancestors(nx.DiGraph(net.edges), last) == set(range(last))
    assert (net.edges == tuple((u, u + 1) for u in range(last))) == (name not in BRANCHED)
    for index, layer in enumerate(net.layers):
        sources = [u for u, v in net.edges if v == index]
        if sources:
            assert layer.input_elements == sum(net.layers[u].output_elements for u in sources)


def test_layers_and_skips_of_resnet() -> None:
    net = resnet152()
    # Stem 2, fifty blocks of 3 convolutions and a sum, 4 projections, pooling and classifier.
    assert len(net.layers) == 2 + 50 * 4 + 4 + 2
    # 151 convolutions and the classifier have weights, besides the 4 projections.
    assert sum(layer.parameters > 0 for layer in net.layers) == 152 + 4
    pool, projection = _index(net, "pool1"), _index(net, "conv2_1.project")
    first, second = _index(net, "conv2_1.sum"), _index(net, "conv2_2.sum")
    assert {(pool, projection), (projection, first), (first, second)} <= set(net.edges)
    assert net.layers[_index(net, "conv5_3.sum")].output_shape == (2048, 7, 7)


# --- profiles

# Table I of a-srpt.
BATCH_SIZES = dict(zip(MODELS, (32, 4, 32, 4, 4, 8, 32, 32, 16), strict=True))


@pytest.mark.parametrize("name", MODELS)
def test_profile_of_every_model(name: str) -> None:
    """Twice the batch doubles activations; parameters are read once a mini-batch, of any size."""
    profile, network, batch = profile_model(name), MODELS[name].build(), BATCH_SIZES[name]
    twice = profile_model(name, batch_size=2 * batch)
    assert profile.model == name
    assert profile.edges == network.edges
    for layer, spec, double in zip(profile.layers, network.layers, twice.layers, strict=True):
        assert layer.name == spec.name
        assert layer.forward_time > 0
        assert layer.backward_time == 2 * layer.forward_time
        assert layer.parameter_bytes == double.parameter_bytes == 4 * spec.parameters
        assert layer.output_bytes == 4 * batch * spec.output_elements
        assert double.output_bytes == 2 * layer.output_bytes
        assert layer.forward_time <= double.forward_time <= 2.000001 * layer.forward_time


@pytest.mark.parametrize(
    ("name", "layer", "seconds"),
    [
        # 2 * 9 * 64 FLOPs for each of 64 * 224^2 outputs and 32 samples, at half the peak.
        ("VGG19", "conv1_2", 32 * 2 * 9 * 64 * 64 * 224**2 / (0.5 * 15.7e12)),
        # Two inputs and an output of 256 x 56 x 56 numbers, 4 samples, 4 bytes; half the bandwidth.
        ("ResNet152", "conv2_1.sum", 3 * 4 * 4 * 256 * 56**2 / (0.5 * 900e9)),
        # 32 sequences of 512 indices; 4096 numbers read and written for each.
        ("GPT-6.7B", "embedding", 4 * 32 * (512 + 2 * 512 * 4096) / (0.5 * 900e9)),
    ],
)
def test_forward_times_by_hand(name: str, layer: str, seconds: float) -> None:
    assert _layer(profile_model(name), layer).forward_time == pytest.approx(seconds)


# --- parallel

# A sequence of 512 tokens in single precision, of GPT-6.7B's and of T5's width.
SEQUENCE, T5_TOKENS = 512 * 4096 * 4, 512 * 1024 * 4


@pytest.mark.parametrize(
    ("name", "layers", "all_reduced"),
    [
        ("GPT-6.7B", "block7.", 4 * SEQUENCE),  # twice forward and twice backward
        ("GPT-6.7B", "", (4 * 32 + 2) * SEQUENCE),  # the embedding forward, the head backward
        ("T5-11B", "encoder3.attention", 2 * T5_TOKENS),
        ("T5-11B", "encoder3.feed_forward", 2 * T5_TOKENS),
        # Forward its output; backward the gradients of the decoder's tokens and the encoder's.
        ("T5-11B", "decoder3.cross_attention", 3 * T5_TOKENS),
        ("T5-11B", "encoder.norm", 0),  # every slice normalises all features
    ],
)
def test_bytes_that_slices_all_reduce_by_hand(name: str, layers: str, all_reduced: int) -> None:
    profile = profile_model(name, batch_size=3, tensor_parallel=4)
    assert _total(profile, layers, "tensor_bytes") == 3 * all_reduced
    assert profile.tensor_parallel == 4


def test_a_slice_has_its_part_of_the_products() -> None:
    # The products of block 1's feed-forward: 16 d^2 FLOPs a token, and d for the residual sum.
    flops = 32 * 512 * (16 * 4096**2 + 4096)
    layer = _layer(profile_model("GPT-6.7B", tensor_parallel=4), "block1.feed_forward")
    assert layer.forward_time == pytest.approx(flops / 4 / (0.5 * 15.7e12))
    assert layer.parameter_bytes == _layer(profile_model("GPT-6.7B"), layer.name).parameter_bytes
    assert layer.output_bytes == 32 * SEQUENCE


def test_recomputing_adds_a_forward_pass_and_its_all_reduces() -> None:
    kept = profile_network(gpt(GPT_6_7B), V100, 1, tensor_parallel=4)
    again = profile_network(gpt(GPT_6_7B), V100, 1, tensor_parallel=4, recompute=True)
    for before, after in zip(kept.layers, again.layers, strict=True):
        assert after.forward_time == before.forward_time
        assert after.backward_time == 3 * before.forward_time
    assert _total(again, "block1.", "tensor_bytes") == 6 * SEQUENCE


def test_bfloat16_halves_every_byte() -> None:
    four = profile_model("GPT-6.7B", device=A100_TF32, tensor_parallel=2)
    two = profile_model("GPT-6.7B", device=A100_BF16, tensor_parallel=2)
    assert (four.bytes_per_number, two.bytes_per_number) == (4, 2)
    for whole, half in zip(four.layers, two.layers, strict=True):
        for size in ("output_bytes", "parameter_bytes", "tensor_bytes"):
            assert getattr(half, size) == getattr(whole, size) / 2


def test_mixtral_matches_the_released_checkpoint_exactly() -> None:
    assert mixtral().parameters == 46_702_792_704
    # Per block: 2 d^2 + 2 d (d / 4) of attention, the router, two norms; and 2 of 8 experts.
    active = 12_879_925_248  # published as 12.9B
    block = 2 * 4096**2 + 2 * 4096 * 1024 + 8 * 4096 + 2 * 4096
    experts = 2 * 3 * 4096 * 14_336
    assert 32 * (block + experts) + 2 * 32_000 * 4096 + 4096 == active


def test_tokens_are_routed_to_two_experts_and_compute_there_only() -> None:
    profile = profile_model("Mixtral-8x7B", batch_size=3)
    layer = _layer(profile, "block5.experts")
    assert layer.expert_bytes == 4 * 2 * 3 * SEQUENCE
    assert layer.expert_parameter_bytes == 4 * 8 * 3 * 4096 * 14_336
    assert layer.parameter_bytes == 4 * (8 * 4096 + 4096)  # the router and the norm
    assert profile.experts == 8
    assert _layer(profile, "block5.attention").expert_bytes == 0
    # The router, 2 x 3 products, the residual sum.
    eight, more = (_layer(mixtral(count), "block1.experts").forward_flops for count in (8, 64))
    assert eight == 512 * (2 * 4096 * 8 + 2 * 3 * 2 * 4096 * 14_336 + 4096)
    assert more - eight == 512 * 2 * 4096 * 56


@pytest.mark.parametrize(
    ("name", "arguments", "line"),
    [
        ("VGG19", {"tensor_parallel": 2}, "tensor_parallel: found 2 for VGG19"),
        ("GPT-13B", {"tensor_parallel": 3}, "a divisor of the 40 attention heads of GPT-13B"),
        ("GPT-13B", {"tensor_parallel": 0}, "tensor_parallel: found 0, expected a whole number"),
        ("GPT-13B", {"experts": 8}, "experts: found 8 of GPT-13B, expected a mixture of experts"),
        ("Mixtral-8x7B", {"experts": 0}, "experts: found 0, expected a whole number from 1 up"),
        ("Mixtral", {}, "'Mixtral-8x7B'"),
        ("VGG19", {"batch_size": 0}, "batch_size"),
    ],
)
def test_what_no_model_has_is_refused(name: str, arguments: dict[str, int], line: str) -> None:
    with pytest.raises(InputError, match=line):
        profile_model(name, **arguments)  # type: ignore[arg-type]
