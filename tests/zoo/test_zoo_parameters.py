"""Parameters against published totals, and against counts worked by hand."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from optsched.zoo.catalogue import MODELS
from optsched.zoo.language_models import (
    GPT_6_7B,
    GPT_13B,
    GptSize,
    bert_large,
    gpt,
    t5_11b,
    xlnet_large,
)
from optsched.zoo.network import LayerSpec, Network
from optsched.zoo.vision_models import inception_v3, resnet152, vgg19

# Stated again here, so that a change in the catalogue does not move the target.
PUBLISHED = {
    "VGG19": 143.67e6,  # torchvision
    "ResNet152": 60.19e6,  # torchvision
    "Inception-V3": 23.83e6,  # torchvision, without the auxiliary head
    "BERT-large": 340e6,  # Devlin et al. 2019, section 3
    "XLNet-large": 360e6,  # released xlnet-large-cased
    "T5-11B": 11.3e9,  # released t5-11b; Raffel et al. 2020 say 11 billion
    "GPT-6.7B": 6.7e9,  # Brown et al. 2020, table 2.1
    "GPT-13B": 13.0e9,
    "GPT-175B": 175.0e9,
}


def test_the_nine_models_are_there() -> None:
    assert list(MODELS) == list(PUBLISHED)


@pytest.mark.parametrize("name", PUBLISHED)
def test_total_is_within_two_percent_of_the_published_count(name: str) -> None:
    assert MODELS[name].build().parameters == pytest.approx(PUBLISHED[name], rel=0.02)
    assert MODELS[name].published_parameters == PUBLISHED[name]


def test_convolutional_networks_match_torchvision_exactly() -> None:
    assert vgg19().parameters == 143_667_240
    assert resnet152().parameters == 60_192_808
    # 27,161,264 with the auxiliary head. That head: 1x1 to 128, 768*128 + 2*128; 5x5 to 768,
    # 25*128*768 + 2*768; linear to 1000, 768*1000 + 1000. In total 3,326,696.
    assert inception_v3().parameters == 27_161_264 - 3_326_696


def test_t5_matches_the_released_checkpoint_exactly() -> None:
    assert t5_11b().parameters == 11_307_321_344


def test_vgg_first_convolution_and_first_linear_layer() -> None:
    net = vgg19()
    assert _layer(net, "conv1_1").parameters == 3 * 64 * 9 + 64 == 1792
    # 512 channels of 7 x 7: 25,088 inputs.
    assert _layer(net, "fc6").parameters == 25_088 * 4096 + 4096


def test_resnet_first_bottleneck() -> None:
    # Weights and the 2C of each batch norm; no biases:
    # reduce   64*64     +   128 =  4,224
    # spatial  64*64*9   +   128 = 36,992
    # expand   64*256    +   512 = 16,896
    # project  64*256    +   512 = 16,896
    assert _total(resnet152(), "conv2_1.") == 4224 + 36_992 + 16_896 + 16_896 == 75_008
    # The second block enters with 256 channels and needs no projection:
    # 256*64 + 128 + 36,992 + 16,896 = 70,400.
    assert _total(resnet152(), "conv2_2.") == 70_400


@pytest.mark.parametrize("size", [GPT_6_7B, GPT_13B])
def test_gpt_block_is_12_d2_plus_13_d(size: GptSize) -> None:
    # Attention 4 d^2 + 4 d, feed-forward 8 d^2 + 5 d, two layer norms 4 d.
    d = size.width
    assert _total(gpt(size), "block1.") == 12 * d**2 + 13 * d


def test_gpt_table_is_counted_once() -> None:
    net = gpt(GPT_6_7B)
    assert _layer(net, "embedding").parameters == (50_257 + 2048) * 4096
    assert _layer(net, "head").parameters == 2 * 4096  # the last layer norm


def test_gpt_13b_is_5120_wide() -> None:
    assert GPT_13B.width == 40 * 128 == 5120


def test_bert_parts() -> None:
    net = bert_large()
    # Words, positions, segments, layer norm.
    assert _layer(net, "embedding").parameters == (30_522 + 512 + 2) * 1024 + 2 * 1024
    assert _total(net, "block24.") == 12 * 1024**2 + 13 * 1024
    # Pooler d^2 + d, answer's start and end 2 d + 2.
    assert _layer(net, "head").parameters == 1024**2 + 1024 + 2 * 1024 + 2


def test_xlnet_attention() -> None:
    # Queries, keys, values, output, distances: 5 d^2. Segment vectors 2 d, the three added to
    # queries 3 d, layer norm 2 d.
    d = 1024
    assert _layer(xlnet_large(), "block1.attention").parameters == 5 * d**2 + 7 * d


def test_t5_blocks() -> None:
    net = t5_11b()
    # Inner width 128 heads * 128 = 16,384: four products of 1024 x 16,384, and a norm.
    attention, feed_forward = 4 * 1024 * 16_384 + 1024, 2 * 1024 * 65_536 + 1024
    assert _total(net, "encoder2.") == attention + feed_forward
    assert _total(net, "decoder2.") == 2 * attention + feed_forward
    # The first block of each stack also holds a score for 32 distances and 128 heads.
    assert _total(net, "encoder1.") - _total(net, "encoder2.") == 32 * 128
    assert _total(net, "decoder1.") - _total(net, "decoder2.") == 32 * 128


def _layer(net: Network, name: str) -> LayerSpec:
    (found,) = (layer for layer in net.layers if layer.name == name)
    return found


def _total(net: Network, prefix: str) -> int:
    block: Iterable[LayerSpec] = (layer for layer in net.layers if layer.name.startswith(prefix))
    return sum(layer.parameters for layer in block)
