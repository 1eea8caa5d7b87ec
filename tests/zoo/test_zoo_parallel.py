"""Tensor slices and mixtures of experts, against counts worked by hand."""

from __future__ import annotations

import pytest

from optsched.errors import InputError
from optsched.profiles.profile import Layer, LayerProfile
from optsched.zoo import MIXTURES, MODELS, V100, profile_model, profile_network
from optsched.zoo.device import A100_BF16, A100_TF32
from optsched.zoo.language_models import GPT_6_7B, GptSize, gpt, mixtral

# A sequence of 512 tokens of GPT-6.7B's width in single precision.
SEQUENCE = 512 * 4096 * 4


def test_a_gpt_block_all_reduces_twice_forward_and_twice_backward() -> None:
    profile = profile_model("GPT-6.7B", batch_size=3, tensor_parallel=8)
    block = [layer for layer in profile.layers if layer.name.startswith("block7.")]
    assert sum(layer.tensor_bytes for layer in block) == 4 * 3 * SEQUENCE
    assert profile.tensor_parallel == 8


def test_a_sliced_table_all_reduces_once_at_either_end_of_a_gpt() -> None:
    profile = profile_model("GPT-6.7B", batch_size=1, tensor_parallel=2)
    total = sum(layer.tensor_bytes for layer in profile.layers)
    assert total == (4 * 32 + 2) * SEQUENCE  # 32 blocks; the embedding forward, the head backward


def test_a_decoder_block_of_t5_adds_up_the_gradient_of_the_encoders_output_too() -> None:
    profile = profile_model("T5-11B", batch_size=2, tensor_parallel=4)
    tokens = 2 * 512 * 1024 * 4
    found = {layer.name: layer.tensor_bytes / tokens for layer in profile.layers}
    assert found["encoder3.attention"] == found["encoder3.feed_forward"] == 2
    # Forward its output; backward the gradients of the decoder's tokens and of the encoder's.
    assert found["decoder3.cross_attention"] == 3
    assert found["encoder.norm"] == 0  # every slice normalises all features


def test_a_slice_has_its_part_of_the_products() -> None:
    # The products of block 1's feed-forward: 16 d^2 FLOPs a token, and d for the residual sum.
    flops = 32 * 512 * (16 * 4096**2 + 4096)
    layer = _layer(profile_model("GPT-6.7B", tensor_parallel=4), "block1.feed_forward")
    assert layer.forward_time == pytest.approx(flops / 4 / (0.5 * 15.7e12))
    assert layer.parameter_bytes == _layer(profile_model("GPT-6.7B"), layer.name).parameter_bytes
    assert layer.output_bytes == 32 * SEQUENCE


def test_what_no_slice_shares_takes_as_long_as_ever() -> None:
    whole, sliced = profile_model("T5-11B"), profile_model("T5-11B", tensor_parallel=16)
    assert _layer(sliced, "encoder.norm") == _layer(whole, "encoder.norm")
    halves = profile_model("BERT-large", tensor_parallel=2)
    assert _layer(halves, "head") == _layer(profile_model("BERT-large"), "head")


@pytest.mark.parametrize("name", [*MODELS, *MIXTURES])
def test_one_slice_is_no_slice(name: str) -> None:
    profile = profile_model(name, tensor_parallel=1)
    assert profile == profile_model(name)
    assert all(layer.tensor_bytes == 0 for layer in profile.layers)
    assert "tensor_parallel" not in profile.provenance


def test_recomputing_adds_a_forward_pass_and_its_all_reduces() -> None:
    kept = profile_network(gpt(GPT_6_7B), V100, 1, tensor_parallel=4)
    again = profile_network(gpt(GPT_6_7B), V100, 1, tensor_parallel=4, recompute=True)
    for before, after in zip(kept.layers, again.layers, strict=True):
        assert after.forward_time == before.forward_time
        assert after.backward_time == 3 * before.forward_time
    block = [layer for layer in again.layers if layer.name.startswith("block1.")]
    assert sum(layer.tensor_bytes for layer in block) == 6 * SEQUENCE


def test_bfloat16_halves_every_byte() -> None:
    four = profile_model("GPT-6.7B", device=A100_TF32, tensor_parallel=2)
    two = profile_model("GPT-6.7B", device=A100_BF16, tensor_parallel=2)
    assert (four.bytes_per_number, two.bytes_per_number) == (4, 2)
    for whole, half in zip(four.layers, two.layers, strict=True):
        for size in ("output_bytes", "parameter_bytes", "tensor_bytes"):
            assert getattr(half, size) == getattr(whole, size) / 2


def test_kernels_between_products_are_counted_for_who_asks() -> None:
    # A tiny block: 6 tokens, 2 heads of 5. Queries, keys and values are written and read, and what
    # the heads give: 8 x 6 x 10. Each of 2 x 6 x 6 scores is moved 6 times.
    net = gpt(GptSize("tiny", blocks=1, heads=2, head_width=5, tokens=6))
    attention, feed_forward = net.layers[1], net.layers[2]
    assert attention.slices.inner_elements == 8 * 6 * 10 + 6 * 2 * 6 * 6
    # 40 features inside, written, read, written and read.
    assert feed_forward.slices.inner_elements == 4 * 6 * 40
    assert attention.slices.outer_elements == 5 * 6 * 10


def test_mixtral_matches_the_released_checkpoint_exactly() -> None:
    assert mixtral().parameters == 46_702_792_704
    # Per block: 2 d^2 + 2 d (d / 4) of attention, the router, two norms; and 2 of 8 experts.
    active = 12_879_925_248  # published as 12.9B
    block = 2 * 4096**2 + 2 * 4096 * 1024 + 8 * 4096 + 2 * 4096
    experts = 2 * 3 * 4096 * 14_336
    assert 32 * (block + experts) + 2 * 32_000 * 4096 + 4096 == active


def test_tokens_are_routed_to_two_experts_and_back_forward_and_backward() -> None:
    profile = profile_model("Mixtral-8x7B", batch_size=3)
    layer = _layer(profile, "block5.experts")
    assert layer.expert_bytes == 4 * 2 * 3 * SEQUENCE
    assert layer.expert_parameter_bytes == 4 * 8 * 3 * 4096 * 14_336
    assert layer.parameter_bytes == 4 * (8 * 4096 + 4096)  # the router and the norm
    assert profile.experts == 8
    assert _layer(profile, "block5.attention").expert_bytes == 0


def test_a_token_computes_in_its_two_experts_only() -> None:
    layer = next(x for x in mixtral().layers if x.name == "block1.experts")
    # The router, 2 x 3 products, the residual sum.
    products = 2 * 4096 * 8 + 2 * 3 * 2 * 4096 * 14_336
    assert layer.forward_flops == 512 * (products + 4096)
    more = next(x for x in mixtral(64).layers if x.name == "block1.experts")
    assert more.forward_flops - layer.forward_flops == 512 * 2 * 4096 * 56


def test_experts_may_be_more_or_fewer() -> None:
    profile = profile_model("Mixtral-8x7B", experts=64)
    held = sum(layer.expert_parameter_bytes for layer in profile.layers)
    assert held == 4 * 32 * 64 * 3 * 4096 * 14_336
    assert profile.experts == 64


@pytest.mark.parametrize(
    ("name", "arguments", "line"),
    [
        ("VGG19", {"tensor_parallel": 2}, "tensor_parallel: found 2 for VGG19"),
        ("GPT-13B", {"tensor_parallel": 3}, "a divisor of the 40 attention heads of GPT-13B"),
        ("GPT-13B", {"tensor_parallel": 0}, "tensor_parallel: found 0, expected a whole number"),
        ("GPT-13B", {"experts": 8}, "experts: found 8 of GPT-13B, expected a mixture of experts"),
        ("Mixtral-8x7B", {"experts": 0}, "experts: found 0, expected a whole number from 1 up"),
        ("Mixtral", {}, "'Mixtral-8x7B'"),
    ],
)
def test_what_a_model_cannot_have_is_refused(
    name: str, arguments: dict[str, int], line: str
) -> None:
    with pytest.raises(InputError, match=line):
        profile_model(name, **arguments)  # type: ignore[arg-type]


def _layer(profile: LayerProfile, name: str) -> Layer:
    return next(layer for layer in profile.layers if layer.name == name)
