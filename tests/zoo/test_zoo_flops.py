"""FLOPs against published multiply-accumulate counts, and against counts worked by hand."""

from __future__ import annotations

import pytest

from optsched.zoo.catalogue import MODELS
from optsched.zoo.convolution import concatenation, convolution, pooling, residual_sum
from optsched.zoo.language_models import GPT_175B, bert_large, gpt, t5_11b, xlnet_large
from optsched.zoo.network import LayerSpec, Network, NetworkBuilder, Tensor
from optsched.zoo.vision_models import resnet152, vgg19

# Multiply-accumulates of one sample, torchvision's tables ("GFLOPS").
PUBLISHED_MACS = {"VGG19": 19.63e9, "ResNet152": 11.51e9, "Inception-V3": 5.71e9}


@pytest.mark.parametrize("name", PUBLISHED_MACS)
def test_flops_are_twice_the_published_multiply_accumulates(name: str) -> None:
    flops = MODELS[name].build().forward_flops
    assert flops == pytest.approx(2 * PUBLISHED_MACS[name], rel=0.01)


def test_vgg_first_convolution() -> None:
    # 64 x 224 x 224 outputs, each of 27 multiply-accumulates.
    assert _layer(vgg19(), "conv1_1").forward_flops == 2 * 27 * 64 * 224 * 224


def test_strides_and_padding_set_the_flops() -> None:
    # 224 -> 112: (224 + 6 - 7) // 2 + 1 = 112; 49 * 3 products for each of 64 * 112^2 outputs.
    assert _layer(resnet152(), "conv1").forward_flops == 2 * 147 * 64 * 112**2


def test_gpt_block() -> None:
    # Per token: 12 d^2 in the products, s d scores and s d weighted values; 2 FLOPs each. The
    # two residual sums add d FLOPs each.
    net, s, d = gpt(GPT_175B), 512, 12_288
    block = [layer for layer in net.layers if layer.name.startswith("block1.")]
    flops = sum(layer.forward_flops for layer in block)
    assert flops == 2 * s * (12 * d**2 + 2 * s * d) + 2 * s * d


def test_gpt_total_is_about_two_flops_per_parameter_and_token() -> None:
    # Kaplan et al., Scaling Laws for Neural Language Models, 2020, section 2.1.
    net = gpt(GPT_175B)
    assert net.forward_flops == pytest.approx(2 * net.parameters * 512, rel=0.01)


def test_head_multiplies_by_the_whole_table() -> None:
    head = _layer(gpt(GPT_175B), "head")
    assert head.forward_flops == 2 * 512 * 12_288 * 50_257


def test_xlnet_distances_cost_extra() -> None:
    # Beyond BERT's attention at the same length: 2 s d^2 for the distances, s (2 s) d for their
    # scores, s 2 d for the segments; 2 FLOPs each.
    s, d = 512, 1024
    plain = 2 * (4 * s * d**2 + 2 * s**2 * d) + s * d
    extra = 2 * (2 * s * d**2 + 2 * s**2 * d + 2 * s * d)
    assert _layer(xlnet_large(), "block1.attention").forward_flops == plain + extra


def test_bert_embedding_is_a_lookup() -> None:
    layer = _layer(bert_large(), "embedding")
    assert layer.lookup
    assert layer.forward_flops == 0


def test_t5_cross_attention_costs_what_self_attention_costs() -> None:
    # Encoder and decoder have the same length.
    net = t5_11b()
    cross = _layer(net, "decoder1.cross_attention")
    assert cross.forward_flops == _layer(net, "decoder1.attention").forward_flops


def test_elementwise_layers() -> None:
    net = NetworkBuilder("small", "image 2 x 6 x 6")
    x = Tensor((2, 6, 6))
    a = convolution(net, "a", x, 4, (1, 3), padding=(0, 1))
    b = convolution(net, "b", x, 4, 1)
    total = residual_sum(net, "sum", a, b)
    pooled = pooling(net, "pool", total, 2, stride=2)
    joined = concatenation(net, "concat", (total, a))
    flops = {layer.name: layer.forward_flops for layer in net.build().layers}
    assert (total.shape, pooled.shape, joined.shape) == ((4, 6, 6), (4, 3, 3), (8, 6, 6))
    # Convolutions 2 * 2 * 3 and 2 * 2 for each of 144 outputs, 144 sums, 36 windows of 4.
    assert flops == {"a": 1728, "b": 576, "sum": 144, "pool": 144, "concat": 0}


def test_shapes_that_do_not_fit_are_refused() -> None:
    net = NetworkBuilder("small", "image 2 x 6 x 6")
    with pytest.raises(ValueError, match="cannot be added"):
        residual_sum(net, "sum", Tensor((2, 6, 6)), Tensor((3, 6, 6)))
    with pytest.raises(ValueError, match="different sizes"):
        concatenation(net, "concat", (Tensor((2, 6, 6)), Tensor((2, 3, 3))))


def _layer(net: Network, name: str) -> LayerSpec:
    (found,) = (layer for layer in net.layers if layer.name == name)
    return found
