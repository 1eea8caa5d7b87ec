"""Shapes and edges of the networks."""

from __future__ import annotations

import networkx as nx
import pytest

from optsched.zoo.catalogue import MODELS
from optsched.zoo.language_models import t5_11b
from optsched.zoo.network import Network
from optsched.zoo.vision_models import inception_v3, resnet152, vgg19

CHAINS = ("VGG19", "BERT-large", "XLNet-large", "GPT-6.7B", "GPT-13B", "GPT-175B")


@pytest.mark.parametrize("name", MODELS)
def test_layers_are_in_topological_order_and_reach_the_end(name: str) -> None:
    net = MODELS[name].build()
    assert all(u < v for u, v in net.edges)
    assert len(set(net.edges)) == len(net.edges)
    last = len(net.layers) - 1
    assert nx.ancestors(_graph(net), last) == set(range(last))


@pytest.mark.parametrize("name", MODELS)
def test_names_are_unique(name: str) -> None:
    net = MODELS[name].build()
    assert len({layer.name for layer in net.layers}) == len(net.layers)


@pytest.mark.parametrize("name", CHAINS)
def test_chains_are_chains(name: str) -> None:
    net = MODELS[name].build()
    assert net.edges == tuple((u, u + 1) for u in range(len(net.layers) - 1))


@pytest.mark.parametrize("name", MODELS)
def test_a_layer_reads_what_its_predecessors_hand_on(name: str) -> None:
    net = MODELS[name].build()
    for index, layer in enumerate(net.layers):
        sources = [u for u, v in net.edges if v == index]
        if sources:
            assert layer.input_elements == sum(net.layers[u].output_elements for u in sources)


def test_layer_counts() -> None:
    assert len(vgg19().layers) == 16 + 5 + 3
    # Stem 2, fifty blocks of 3 convolutions and a sum, 4 projections, pooling and classifier.
    assert len(resnet152().layers) == 2 + 50 * 4 + 4 + 2
    # 151 convolutions and the classifier have weights, besides the 4 projections.
    assert sum(layer.parameters > 0 for layer in resnet152().layers) == 152 + 4


def test_resnet_skips() -> None:
    net = resnet152()
    pool, projection = _index(net, "pool1"), _index(net, "conv2_1.project")
    first, second = _index(net, "conv2_1.sum"), _index(net, "conv2_2.sum")
    assert {(pool, projection), (projection, first), (first, second)} <= set(net.edges)
    assert net.layers[_index(net, "conv5_3.sum")].output_shape == (2048, 7, 7)


def test_inception_shapes() -> None:
    net = inception_v3()
    shapes = {layer.name: layer.output_shape for layer in net.layers}
    assert shapes["stem.pool2"] == (192, 35, 35)
    assert shapes["mixed35_1.concat"] == (256, 35, 35)
    assert shapes["mixed35_3.concat"] == (288, 35, 35)
    assert shapes["reduce17.concat"] == shapes["mixed17_4.concat"] == (768, 17, 17)
    assert shapes["reduce8.concat"] == (1280, 8, 8)
    assert shapes["mixed8_2.concat"] == (2048, 8, 8)


def test_inception_branches() -> None:
    net = inception_v3()
    graph = _graph(net)
    # Four branches leave a 35 x 35 block and meet again; the 8 x 8 blocks fork to six ends.
    assert graph.out_degree(_index(net, "mixed35_1.concat")) == 4
    assert graph.in_degree(_index(net, "mixed35_2.concat")) == 4
    assert graph.in_degree(_index(net, "mixed8_1.concat")) == 6
    assert sum(layer.name.endswith(".concat") for layer in net.layers) == 11


def test_every_t5_decoder_block_reads_the_encoder() -> None:
    net = t5_11b()
    readers = {v for u, v in net.edges if u == _index(net, "encoder.norm")}
    expected = {_index(net, f"decoder{block}.cross_attention") for block in range(1, 25)}
    assert readers == expected


def _index(net: Network, name: str) -> int:
    return [layer.name for layer in net.layers].index(name)


def _graph(net: Network) -> nx.DiGraph[int]:
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(net.layers)))
    graph.add_edges_from(net.edges)
    return graph
