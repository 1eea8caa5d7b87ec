"""The models of the zoo, and the layer profile of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from optsched.errors import InputError, shown, suggestion
from optsched.profiles.profile import Layer, LayerProfile
from optsched.zoo.bert import bert_large
from optsched.zoo.device import BACKWARD_PER_FORWARD, V100, Device
from optsched.zoo.gpt import GPT_6_7B, GPT_13B, GPT_175B, gpt
from optsched.zoo.inception import inception_v3
from optsched.zoo.mixtral import mixtral
from optsched.zoo.network import UNSLICED, LayerSpec, Network
from optsched.zoo.resnet import resnet152
from optsched.zoo.t5 import t5_11b
from optsched.zoo.vgg import vgg19
from optsched.zoo.xlnet import xlnet_large


@dataclass(frozen=True)
class ZooModel:
    """A model of the zoo.

    Attributes
    ----------
    name : str
        Its key in `MODELS`.
    build : callable
        Returns its network.
    batch_size : int
        Samples in a mini-batch, of Table I of a-srpt.
    published_parameters : float
        The count to compare ours with; enters no computation.
    source : str
        The architecture's paper, and where the count is published if elsewhere.
    note : str
        What a reader should know before using the model.
    experts : int
        Experts of each mixture, which `build` then takes; 0: it has none.
    """

    name: str
    build: Callable[..., Network]
    batch_size: int
    published_parameters: float
    source: str
    note: str = ""
    experts: int = 0


_GPT_SOURCE = "Brown et al., Language Models are Few-Shot Learners, 2020, table 2.1"
_GPT_NOTE = "sequence of 512 tokens, dense attention, output table tied to the embedding"

_ALL = (
    ZooModel(
        "VGG19",
        vgg19,
        batch_size=32,
        published_parameters=143.67e6,
        source="Simonyan and Zisserman, Very Deep Convolutional Networks, 2015; count: torchvision",
    ),
    ZooModel(
        "ResNet152",
        resnet152,
        batch_size=4,
        published_parameters=60.19e6,
        source="He et al., Deep Residual Learning for Image Recognition, 2016; count: torchvision",
        note="stride in the 3x3 convolution of a stage's first block (v1.5)",
    ),
    ZooModel(
        "Inception-V3",
        inception_v3,
        batch_size=32,
        published_parameters=23.83e6,
        source="Szegedy et al., Rethinking the Inception Architecture, 2015; count: torchvision",
        note="without the auxiliary head (27.16M with it)",
    ),
    ZooModel(
        "BERT-large",
        bert_large,
        batch_size=4,
        published_parameters=340e6,
        source="Devlin et al., BERT: Pre-training of Deep Bidirectional Transformers, 2019",
        note="with the pooler and the question-answering head; 340M is the paper's rounding",
    ),
    ZooModel(
        "XLNet-large",
        xlnet_large,
        batch_size=4,
        published_parameters=360e6,
        source="Yang et al., XLNet, 2019; count: released xlnet-large-cased (not in the paper)",
        note="Table I of a-srpt prints 550M; the published architecture has 360M",
    ),
    ZooModel(
        "T5-11B",
        t5_11b,
        batch_size=8,
        published_parameters=11.3e9,
        source="Raffel et al., Exploring the Limits of Transfer Learning, 2020; count: released "
        "t5-11b, 11,307,321,344 (the paper says 11 billion)",
        note="both embeddings and the output share one table, counted in encoder.embedding",
    ),
    ZooModel(
        "GPT-6.7B",
        partial(gpt, GPT_6_7B),
        batch_size=32,
        published_parameters=6.7e9,
        source=_GPT_SOURCE,
        note=_GPT_NOTE,
    ),
    ZooModel(
        "GPT-13B",
        partial(gpt, GPT_13B),
        batch_size=32,
        published_parameters=13.0e9,
        source=_GPT_SOURCE,
        note=f"{_GPT_NOTE}; the table prints width 5140, its 40 heads of 128 make 5120",
    ),
    ZooModel(
        "GPT-175B",
        partial(gpt, GPT_175B),
        batch_size=16,
        published_parameters=175.0e9,
        source=_GPT_SOURCE,
        note=_GPT_NOTE,
    ),
)

MODELS: dict[str, ZooModel] = {model.name: model for model in _ALL}
"""The models of Table I of a-srpt, by name."""

MIXTURES: dict[str, ZooModel] = {
    "Mixtral-8x7B": ZooModel(
        "Mixtral-8x7B",
        mixtral,
        batch_size=8,
        published_parameters=46.7e9,
        source="Jiang et al., Mixtral of Experts, 2024; count: 46.7B in its announcement",
        note="8 experts a block, 2 active; balanced loads, no token dropped; mini-batch ours",
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
        What runs the layers, one at a time.
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
    """Profile a network of the zoo's builders, perhaps in slices.

    A layer's forward time is the device's roofline of its FLOPs and of the least it can move: its
    inputs and outputs once a sample, its parameters once a mini-batch, as if everything inside
    the layer stayed on chip. A batch twice as large thus takes twice as long where FLOPs or
    activations decide, and less where reading the parameters does. The backward time is twice
    the forward time, also in the first layer. A slice has the q-th of the FLOPs and parameters,
    and every activation.
    """
    q = _slices(network, tensor_parallel)
    found = [layer.experts.count for layer in network.layers if layer.experts is not None]
    return LayerProfile(
        model=network.name,
        layers=tuple(_timed(layer, device, batch, q, recompute) for layer in network.layers),
        edges=network.edges,
        tensor_parallel=q,
        experts=max(found, default=0),
        bytes_per_number=device.bytes_per_number,
    )


def _count(where: str, count: int) -> int:
    if not isinstance(count, int) or count < 1:
        raise InputError("zoo", where, shown(count), "a whole number from 1 up")
    return count


def _slices(network: Network, tensor_parallel: int) -> int:
    q = _count("tensor_parallel", tensor_parallel)
    if q > 1 and not network.heads:
        raise InputError("zoo", "tensor_parallel", f"{q} for {network.name}", "1: no transformer")
    if q > 1 and network.heads % q:
        expected = f"a divisor of the {network.heads} attention heads of {network.name}"
        raise InputError("zoo", "tensor_parallel", shown(q), expected)
    return q


def _timed(layer: LayerSpec, device: Device, batch: int, q: int, recompute: bool) -> Layer:
    again = 1 if recompute else 0
    shared = 1 if layer.slices == UNSLICED else q
    size = float(device.bytes_per_number)
    expert_parameters = layer.experts.parameters if layer.experts else 0
    moved = _moved_elements(layer, batch, (layer.parameters + expert_parameters) / shared)
    inner = layer.slices.inner_elements / shared + layer.slices.outer_elements
    forward = device.layer_seconds(
        batch * layer.forward_flops / shared, size * moved, size * batch * inner
    )
    reduced = (1 + again) * layer.slices.forward_reduced + layer.slices.backward_reduced
    return Layer(
        name=layer.name,
        forward_time=forward,
        backward_time=(BACKWARD_PER_FORWARD + again) * forward,
        output_bytes=size * batch * layer.output_elements,
        parameter_bytes=size * layer.parameters,
        tensor_bytes=size * batch * reduced if q > 1 else 0.0,
        expert_bytes=size * batch * layer.experts.routed_elements if layer.experts else 0.0,
        expert_parameter_bytes=size * expert_parameters,
    )


def _moved_elements(layer: LayerSpec, batch: int, parameters: float) -> float:
    """Numbers that a mini-batch moves; a lookup reads one row for each that it writes."""
    activations = batch * (layer.input_elements + layer.output_elements)
    return activations + (batch * layer.output_elements if layer.lookup else parameters)


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
