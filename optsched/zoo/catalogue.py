"""The models of the zoo, and the layer profile of each."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral

from optsched.errors import InputError, shown, suggestion
from optsched.profiles.profile import Layer, LayerProfile
from optsched.zoo.convolutional import inception_v3, resnet152, vgg19
from optsched.zoo.device import BACKWARD_PER_FORWARD, V100, Device
from optsched.zoo.network import UNSLICED, LayerSpec, Network
from optsched.zoo.transformers import (
    GPT_6_7B,
    GPT_13B,
    GPT_175B,
    bert_large,
    gpt,
    mixtral,
    t5_11b,
    xlnet_large,
)


@dataclass(frozen=True)
class ZooModel:
    """A model of the zoo; `note` has its caveats."""

    build: Callable[..., Network]
    batch_size: int
    """Samples in a mini-batch, of Table I of a-srpt."""
    published_parameters: float
    """The count to compare ours with; enters no computation."""
    source: str
    """The architecture's paper, and where the count is published if elsewhere."""
    note: str = ""
    experts: int = 0
    """Experts of each mixture, which `build` then takes; 0: it has none."""


_GPT_SOURCE = "Brown et al., Language Models are Few-Shot Learners, 2020, table 2.1"
_GPT_NOTE = "sequence of 512 tokens, dense attention, output table tied to the embedding"

MODELS: dict[str, ZooModel] = {
    "VGG19": ZooModel(
        vgg19,
        32,
        143.67e6,
        "Simonyan and Zisserman, Very Deep Convolutional Networks, 2015; count: torchvision",
    ),
    "ResNet152": ZooModel(
        resnet152,
        4,
        60.19e6,
        "He et al., Deep Residual Learning for Image Recognition, 2016; count: torchvision",
        "stride in the 3x3 convolution of a stage's first block (v1.5)",
    ),
    "Inception-V3": ZooModel(
        inception_v3,
        32,
        23.83e6,
        "Szegedy et al., Rethinking the Inception Architecture, 2015; count: torchvision",
        "without the auxiliary head (27.16M with it)",
    ),
    "BERT-large": ZooModel(
        bert_large,
        4,
        340e6,
        "Devlin et al., BERT: Pre-training of Deep Bidirectional Transformers, 2019",
        "with the pooler and the question-answering head; 340M is the paper's rounding",
    ),
    "XLNet-large": ZooModel(
        xlnet_large,
        4,
        360e6,
        "Yang et al., XLNet, 2019; count: released xlnet-large-cased (not in the paper)",
        "Table I of a-srpt prints 550M; the published architecture has 360M",
    ),
    "T5-11B": ZooModel(
        t5_11b,
        8,
        11.3e9,
        "Raffel et al., Exploring the Limits of Transfer Learning, 2020; count: released "
        "t5-11b, 11,307,321,344 (the paper says 11 billion)",
        "both embeddings and the output share one table, counted in encoder.embedding",
    ),
    "GPT-6.7B": ZooModel(partial(gpt, GPT_6_7B), 32, 6.7e9, _GPT_SOURCE, _GPT_NOTE),
    "GPT-13B": ZooModel(
        partial(gpt, GPT_13B),
        32,
        13.0e9,
        _GPT_SOURCE,
        f"{_GPT_NOTE}; the table prints width 5140, its 40 heads of 128 make 5120",
    ),
    "GPT-175B": ZooModel(partial(gpt, GPT_175B), 16, 175.0e9, _GPT_SOURCE, _GPT_NOTE),
}
"""The models of Table I of a-srpt, by name."""

MIXTURES: dict[str, ZooModel] = {
    "Mixtral-8x7B": ZooModel(
        mixtral,
        8,
        46.7e9,
        "Jiang et al., Mixtral of Experts, 2024; count: 46.7B in its announcement",
        "8 experts a block, 2 active; balanced loads, no token dropped; mini-batch ours",
        experts=8,
    )
}
"""Mixtures of experts, beyond Table I, by name."""


def profile_model(
    name: str,
    *,
    device: Device = V100,
    batch_size: int | None = None,
    tensor_parallel: int = 1,
    experts: int | None = None,
) -> LayerProfile:
    """Profile a model from first principles: nothing in it is measured.

    Parameters
    ----------
    name : str
        A key of `MODELS` or of `MIXTURES`.
    device : Device
        The GPU that runs the layers, one at a time.
    batch_size : int, optional
        Samples in a mini-batch; by default the model's.
    tensor_parallel : int
        GPUs that slice each layer of a replica, as Megatron does: transformers only, and a number
        that divides their attention heads.
    experts : int, optional
        Experts of each mixture, for a model of `MIXTURES`; by default the model's.

    Returns
    -------
    LayerProfile
        Times in seconds and sizes in bytes, of a mini-batch.

    Raises
    ------
    InputError
        For an unknown model, a batch size that is not a whole number from 1 up, or slices or
        experts that the model cannot have.

    Examples
    --------
    >>> profile = profile_model("VGG19")
    >>> profile.model, len(profile.layers)
    ('VGG19', 24)
    """
    model = MODELS.get(name) or MIXTURES.get(name)
    if model is None:
        raise InputError("zoo", "model", shown(name), suggestion(name, [*MODELS, *MIXTURES]))
    batch = _count("batch_size", model.batch_size if batch_size is None else batch_size)
    if experts is not None and not model.experts:
        raise InputError("zoo", "experts", f"{shown(experts)} of {name}", "a mixture of experts")
    network = model.build() if experts is None else model.build(experts=_count("experts", experts))
    profile = profile_network(network, device, batch, tensor_parallel=tensor_parallel)
    return replace(
        profile,
        model=name,
        provenance=_provenance(model, network, device, batch, tensor_parallel),
    )


def profile_network(
    network: Network,
    device: Device,
    batch: int,
    *,
    tensor_parallel: int = 1,
    recompute: bool = False,
) -> LayerProfile:
    """Profile a network that was built with `NetworkBuilder`.

    A layer's forward time is the device's roofline of its FLOPs and of the least that it can move:
    its inputs and outputs once per sample, its parameters once per mini-batch, as if everything
    inside the layer stayed on chip. A batch twice as large takes twice as long where FLOPs or
    activations decide, and less where reading the parameters does. The backward time is twice the
    forward time, also in the first layer. One of q slices has 1/q of the FLOPs and parameters, and
    every activation. With `recompute`, the backward pass includes another forward pass.
    """
    q = _slices(network, tensor_parallel)
    experts = [layer.experts.count for layer in network.layers if layer.experts is not None]
    return LayerProfile(
        model=network.name,
        layers=tuple(_timed(layer, device, batch, q, recompute) for layer in network.layers),
        edges=network.edges,
        tensor_parallel=q,
        experts=max(experts, default=0),
        bytes_per_number=device.bytes_per_number,
    )


def _count(where: str, count: int) -> int:
    if not isinstance(count, Integral) or count < 1:
        raise InputError("zoo", where, shown(count), "a whole number from 1 up")
    return int(count)


def _slices(network: Network, tensor_parallel: int) -> int:
    q = _count("tensor_parallel", tensor_parallel)
    if q > 1 and not network.heads:
        raise InputError("zoo", "tensor_parallel", f"{q} for {network.name}", "1: no transformer")
    if q > 1 and network.heads % q:
        expected = f"a divisor of the {network.heads} attention heads of {network.name}"
        raise InputError("zoo", "tensor_parallel", shown(q), expected)
    return q


def _timed(layer: LayerSpec, device: Device, batch: int, q: int, recompute: bool) -> Layer:
    recomputations = 1 if recompute else 0
    slices = 1 if layer.reduced == UNSLICED else q
    size = float(device.bytes_per_number)
    expert_parameters = layer.experts.parameters if layer.experts else 0
    # A lookup reads one row for each that it writes, other layers read all parameters.
    moved: float = batch * (layer.input_elements + layer.output_elements)
    moved += (
        batch * layer.output_elements
        if layer.lookup
        else (layer.parameters + expert_parameters) / slices
    )
    forward = device.seconds(batch * layer.forward_flops / slices, size * moved)
    forward_reduced, backward_reduced = layer.reduced
    reduced = (1 + recomputations) * forward_reduced + backward_reduced
    return Layer(
        name=layer.name,
        forward_time=forward,
        backward_time=(BACKWARD_PER_FORWARD + recomputations) * forward,
        output_bytes=size * batch * layer.output_elements,
        parameter_bytes=size * layer.parameters,
        tensor_bytes=size * batch * reduced if q > 1 else 0.0,
        expert_bytes=size * batch * layer.experts.routed_elements if layer.experts else 0.0,
        expert_parameter_bytes=size * expert_parameters,
    )


def _provenance(
    model: ZooModel, network: Network, device: Device, batch: int, tensor_parallel: int
) -> dict[str, object]:
    slices = {} if tensor_parallel == 1 else {"tensor_parallel": tensor_parallel}
    return {
        "kind": "first-principles model: computed from the architecture, not measured",
        "sample": network.sample,
        "batch_size": batch,
        **slices,
        "bytes_per_number": device.bytes_per_number,
        "device": device.name,
        "device_source": device.source,
        "peak_flops": device.peak_flops,
        "memory_bandwidth": device.memory_bandwidth,
        "efficiency": device.efficiency,
        "time": "max(FLOPs / peak, bytes moved / memory bandwidth) / efficiency",
        "backward": f"{BACKWARD_PER_FORWARD:g} x forward (gradients of inputs and of weights)",
        "source": model.source,
        "published_parameters": model.published_parameters,
        "parameters": network.parameters,
        "note": model.note,
    }
