"""The models of the zoo, and the layer profile of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from optsched.errors import InputError, shown
from optsched.profiles.profile import Layer, LayerProfile
from optsched.zoo.bert import bert_large
from optsched.zoo.device import BACKWARD_PER_FORWARD, BYTES_PER_NUMBER, V100, Device
from optsched.zoo.gpt import GPT_6_7B, GPT_13B, GPT_175B, gpt
from optsched.zoo.inception import inception_v3
from optsched.zoo.network import LayerSpec, Network
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
    """

    name: str
    build: Callable[[], Network]
    batch_size: int
    published_parameters: float
    source: str
    note: str = ""


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
"""Every model, by name."""


def profile_model(
    name: str, *, device: Device = V100, batch_size: int | None = None
) -> LayerProfile:
    """Profile a model from first principles: nothing in it is measured.

    Parameters
    ----------
    name : str
        A key of `MODELS`.
    device : Device
        What runs the layers, one at a time.
    batch_size : int, optional
        Samples in a mini-batch; by default the model's.

    Returns
    -------
    LayerProfile
        Times in seconds and sizes in bytes, of a mini-batch.

    Raises
    ------
    InputError
        For an unknown model, or a batch size that is not a whole number from 1 up.

    Notes
    -----
    A layer's forward time is the device's roofline of its FLOPs and of the least it can move: its
    inputs and outputs once a sample, its parameters once a mini-batch, as if everything inside
    the layer stayed on chip. A batch twice as large thus takes twice as long where FLOPs or
    activations decide, and less where reading the parameters does. The backward time is twice
    the forward time, also in the first layer.
    """
    model = MODELS.get(name)
    if model is None:
        raise InputError("zoo", "model", shown(name), f"one of {', '.join(MODELS)}")
    batch = model.batch_size if batch_size is None else batch_size
    if not isinstance(batch, int) or batch < 1:
        raise InputError("zoo", "batch_size", shown(batch), "a whole number from 1 up")
    network = model.build()
    return LayerProfile(
        model=name,
        layers=tuple(_timed(layer, device, batch) for layer in network.layers),
        edges=network.edges,
        provenance=_provenance(model, network, device, batch),
    )


def _timed(layer: LayerSpec, device: Device, batch: int) -> Layer:
    moved = BYTES_PER_NUMBER * _moved_elements(layer, batch)
    forward = device.seconds(batch * layer.forward_flops, moved)
    return Layer(
        name=layer.name,
        forward_time=forward,
        backward_time=BACKWARD_PER_FORWARD * forward,
        output_bytes=float(BYTES_PER_NUMBER * batch * layer.output_elements),
        parameter_bytes=float(BYTES_PER_NUMBER * layer.parameters),
    )


def _moved_elements(layer: LayerSpec, batch: int) -> int:
    """Numbers that a mini-batch moves; a lookup reads one row for each that it writes."""
    activations = batch * (layer.input_elements + layer.output_elements)
    read = batch * layer.output_elements if layer.lookup else layer.parameters
    return activations + read


def _provenance(model: ZooModel, network: Network, device: Device, batch: int) -> dict[str, object]:
    return {
        "kind": "first-principles model: computed from the architecture, not measured",
        "sample": network.sample,
        "batch_size": batch,
        "bytes_per_number": BYTES_PER_NUMBER,
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
