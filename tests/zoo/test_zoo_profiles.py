"""Profiles: times, bytes, provenance, refusals."""

from __future__ import annotations

from dataclasses import replace

import pytest

from optsched.errors import InputError
from optsched.profiles.profile import Layer, LayerProfile
from optsched.zoo import MODELS, V100, profile_model
from optsched.zoo.device import A100

# Table I of a-srpt.
BATCH_SIZES = (32, 4, 32, 4, 4, 8, 32, 32, 16)


def test_batch_sizes_are_those_of_the_table() -> None:
    assert tuple(model.batch_size for model in MODELS.values()) == BATCH_SIZES


@pytest.mark.parametrize("name", MODELS)
def test_profile_of_every_model(name: str) -> None:
    profile, network = profile_model(name), MODELS[name].build()
    assert profile.model == name
    assert profile.edges == network.edges
    for layer, spec in zip(profile.layers, network.layers, strict=True):
        assert layer.name == spec.name
        assert layer.forward_time > 0
        assert layer.backward_time == 2 * layer.forward_time
        assert layer.parameter_bytes == 4 * spec.parameters
        assert layer.output_bytes == 4 * MODELS[name].batch_size * spec.output_elements


def test_a_convolution_takes_its_flops_at_half_the_peak() -> None:
    # conv1_2: 2 * 9 * 64 FLOPs for each of 64 * 224^2 outputs and 32 samples.
    flops = 32 * 2 * 9 * 64 * 64 * 224**2
    layer = _layer(profile_model("VGG19"), "conv1_2")
    assert layer.forward_time == pytest.approx(flops / (0.5 * 15.7e12))


def test_a_sum_takes_its_bytes_at_half_the_bandwidth() -> None:
    # Two inputs and an output of 256 x 56 x 56 numbers, 4 samples, 4 bytes.
    moved = 3 * 4 * 4 * 256 * 56**2
    layer = _layer(profile_model("ResNet152"), "conv2_1.sum")
    assert layer.forward_time == pytest.approx(moved / (0.5 * 900e9))


def test_an_embedding_reads_the_rows_that_it_needs() -> None:
    # 32 sequences of 512 indices; 4096 numbers read and written for each.
    moved = 4 * 32 * (512 + 2 * 512 * 4096)
    layer = _layer(profile_model("GPT-6.7B"), "embedding")
    assert layer.forward_time == pytest.approx(moved / (0.5 * 900e9))


@pytest.mark.parametrize("name", MODELS)
def test_double_batch_doubles_activations_and_not_parameters(name: str) -> None:
    batch = MODELS[name].batch_size
    once, twice = profile_model(name), profile_model(name, batch_size=2 * batch)
    for before, after in zip(once.layers, twice.layers, strict=True):
        assert after.output_bytes == 2 * before.output_bytes
        assert after.parameter_bytes == before.parameter_bytes
        # Reading the parameters is paid once a mini-batch, whatever its size.
        assert before.forward_time <= after.forward_time <= 2.000001 * before.forward_time


@pytest.mark.parametrize("name", MODELS)
def test_double_batch_doubles_time_where_parameters_are_not_the_limit(name: str) -> None:
    batch = 64  # large enough for reading the parameters to be hidden or negligible
    once = profile_model(name, batch_size=batch)
    twice = profile_model(name, batch_size=2 * batch)
    assert _time(twice) == pytest.approx(2 * _time(once), rel=0.002)


@pytest.mark.parametrize("name", MODELS)
def test_half_efficiency_doubles_times(name: str) -> None:
    fast = profile_model(name)
    slow = profile_model(name, device=replace(V100, efficiency=V100.efficiency / 2))
    for before, after in zip(fast.layers, slow.layers, strict=True):
        assert after.forward_time == 2 * before.forward_time
        assert after.backward_time == 2 * before.backward_time
        assert after.output_bytes == before.output_bytes


def test_a100_is_faster() -> None:
    assert _time(profile_model("VGG19", device=A100)) < _time(profile_model("VGG19"))


def test_provenance_says_what_the_numbers_are() -> None:
    said = profile_model("XLNet-large", batch_size=2).provenance
    assert "not measured" in str(said["kind"])
    assert said["sample"] == "sequence of 512 tokens"
    assert said["batch_size"] == 2
    assert said["bytes_per_number"] == 4
    assert said["device"] == V100.name
    assert said["efficiency"] == 0.5
    assert said["backward"] == "2 x forward (gradients of inputs and of weights)"
    assert said["published_parameters"] == 360e6
    assert said["parameters"] == MODELS["XLNet-large"].build().parameters
    assert "550M" in str(said["note"])


def test_unknown_model_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        profile_model("VGG20")
    error = caught.value
    assert (error.source, error.where, error.found) == ("zoo", "model", "'VGG20'")
    assert error.expected == "'VGG19'"


@pytest.mark.parametrize("batch_size", [0, -1, 2.5])
def test_unusable_batch_size_is_refused(batch_size: int) -> None:
    with pytest.raises(InputError, match="batch_size"):
        profile_model("VGG19", batch_size=batch_size)


@pytest.mark.parametrize("efficiency", [0.0, -0.5, 1.5, float("nan")])
def test_efficiency_outside_its_range_is_refused(efficiency: float) -> None:
    with pytest.raises(InputError, match="efficiency"):
        replace(V100, efficiency=efficiency)


def _layer(profile: LayerProfile, name: str) -> Layer:
    (found,) = (layer for layer in profile.layers if layer.name == name)
    return found


def _time(profile: LayerProfile) -> float:
    return sum(layer.forward_time + layer.backward_time for layer in profile.layers)
