r"""Reader of PipeDream's layer profiles (``graph.txt``).

The format holds one layer or one edge per line; times are milliseconds, sizes bytes::

    node7 -- LSTM(8, 8) -- forward_compute_time=2.5, backward_compute_time=4.0, \
activation_size=[64.0; 8.0], parameter_size=128.000
    <tab>node7 -- node8

A layer line that ends in ``-- stage_id=3``, a partition made by PipeDream, is refused: the stages
are planned here, and would not be those of the file.

Source: D. Narayanan et al., "PipeDream: Generalized Pipeline Parallelism for DNN Training",
SOSP 2019, https://doi.org/10.1145/3341301.3359646.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from optsched.errors import InputError, shown
from optsched.io.numerals import real_of
from optsched.io.reading import read_bytes
from optsched.profiles.profile import Layer, LayerProfile

if TYPE_CHECKING:
    import networkx as nx

MAX_BYTES = 16 * 2**20
"""Largest profile read, in bytes."""

MAX_LAYERS = 20_000
"""Most layers read."""

MAX_EDGES = 200_000
"""Most edge lines read."""


def read_pipedream(path: str | Path) -> LayerProfile:
    """Read a PipeDream layer profile.

    Parameters
    ----------
    path : str or Path
        A ``graph.txt``; its name gives the model's, so ``vision__vgg16.graph.txt`` is ``vgg16``.

    Returns
    -------
    LayerProfile
        Times in seconds, sizes in bytes. Layers stand in the lexicographically smallest
        topological order of their node numbers; several outputs of a layer are summed; a repeated
        edge counts once.

    Raises
    ------
    InputError
        Naming the file and, where there is one, the line: for a file that is missing, unreadable,
        empty, too large (`MAX_BYTES`, `MAX_LAYERS`, `MAX_EDGES`) or not UTF-8; a line in another
        form; a number that is negative or not finite; a repeated node; an edge to an unknown node;
        or a cycle.

    Notes
    -----
    O(L log L + E) for L layers and E edges.

    Examples
    --------
    >>> times = "forward_compute_time=1.0, backward_compute_time=2.0"
    >>> sizes = "activation_size=8.0, parameter_size=4.0"
    >>> _ = Path("graph.txt").write_text(f"node1 -- Linear -- {times}, {sizes}")
    >>> read_pipedream("graph.txt").layers[0].forward_time
    0.001
    """
    path = Path(path)
    if os.path.exists(path) and not os.path.isfile(
        path
    ):  # a pipe or a device could block or never end
        raise InputError(str(path), "", "no regular file", "a readable file")
    data = read_bytes(path, MAX_BYTES)
    listing = _read_lines(str(path), _decode(str(path), data))
    order = _topological_order(str(path), listing)
    position = {node: index for index, node in enumerate(order)}
    edges = tuple(sorted((position[u], position[v]) for u, v in listing.edges))
    layers = tuple(listing.layers[node] for node in order)
    sha256 = hashlib.sha256(data).hexdigest()
    provenance: dict[str, object] = {
        "source": "PipeDream layer profile",
        "file": path.name,
        "sha256": sha256,
    }
    try:
        return LayerProfile(_model_name(path.name), layers, edges, provenance)
    except InputError as error:  # only sums that overflow are left to refuse: name the file
        raise InputError(str(path), error.where, error.found, error.expected) from None


@dataclass
class _Listing:
    """The nodes of a file by number, and the line of each of its edges."""

    layers: dict[int, Layer] = field(default_factory=dict)
    edges: dict[tuple[int, int], int] = field(default_factory=dict)


def _decode(source: str, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(source, f"line {line}", "bytes that are not UTF-8", "UTF-8") from None


def _read_lines(source: str, text: str) -> _Listing:
    listing = _Listing()
    edge_lines = 0
    for where, line in _content_lines(text):
        if not line.startswith("\t"):
            _add_layer(source, where, line, listing)
            continue
        edge_lines += 1
        if edge_lines > MAX_EDGES:
            raise InputError(source, f"line {where}", "one edge more", f"at most {MAX_EDGES}")
        listing.edges.setdefault(_parse_edge(source, where, line), where)
    if not listing.layers:
        raise InputError(source, "", "no layers", "at least one layer line")
    for (u, v), where in listing.edges.items():
        for node in (u, v):
            if node not in listing.layers:
                raise InputError(source, f"line {where}", f"unknown node{node}", "a listed node")
    return listing


def _content_lines(text: str) -> Iterator[tuple[int, str]]:
    # Only "\n" ends a line: descriptions may hold other characters that Python takes for one.
    for where, line in enumerate(io.StringIO(text, newline="\n"), start=1):
        if line.strip():
            yield where, line.rstrip("\r\n")


def _add_layer(source: str, where: int, line: str, listing: _Listing) -> None:
    node, layer = _parse_layer(source, where, line)
    if node in listing.layers:
        raise InputError(source, f"line {where}", f"node{node} again", "each node once")
    if len(listing.layers) == MAX_LAYERS:
        raise InputError(source, f"line {where}", "one layer more", f"at most {MAX_LAYERS}")
    listing.layers[node] = layer


_FIELDS = ("forward_compute_time", "backward_compute_time", "activation_size", "parameter_size")


def _parse_layer(source: str, where: int, line: str) -> tuple[int, Layer]:
    # From the right: a description may itself hold the separator, the measurements may not.
    head, _, tail = line.rpartition(f" -- {_FIELDS[0]}=")
    label, separator, description = head.partition(" -- ")
    measured, staged, stage = tail.partition(" -- ")
    node = _node_number(label)
    texts = _field_texts(f"{_FIELDS[0]}={measured}")
    if staged and re.fullmatch(r"stage_id=-?[0-9]{1,18} *", stage):
        expected = "a profile without PipeDream's partition: stages are planned anew, so remove it"
        raise InputError(source, f"line {where}", shown(stage), expected)
    if node is None or not separator or texts is None or staged:
        form = "nodeN -- description -- " + ", ".join(f"{name}=..." for name in _FIELDS)
        raise InputError(source, f"line {where}", shown(line), form)
    forward, backward, output, parameters = (
        _size(source, f"line {where}, {name}", text, listable=name == "activation_size")
        for name, text in zip(_FIELDS, texts, strict=True)
    )
    layer = Layer(f"node{node} {description}", forward / 1e3, backward / 1e3, output, parameters)
    return node, layer


def _field_texts(measured: str) -> list[str] | None:
    parts = [part.partition("=") for part in measured.split(", ")]
    if tuple(name for name, _, _ in parts) != _FIELDS:
        return None
    return [text.strip() for _, _, text in parts]


def _parse_edge(source: str, where: int, line: str) -> tuple[int, int]:
    left, _, right = line.strip().partition(" -- ")
    u, v = _node_number(left), _node_number(right)
    if u is None or v is None:
        raise InputError(source, f"line {where}", shown(line), "an edge nodeN -- nodeM")
    return u, v


def _node_number(label: str) -> int | None:
    match = re.fullmatch(r"node([0-9]{1,18})", label)
    return int(match[1]) if match else None


def _size(source: str, where: str, text: str, *, listable: bool) -> float:
    """A number, or the sum of a list ``[a; b; c]`` where that may stand."""
    listed = listable and text.startswith("[") and text.endswith("]")
    values = text[1:-1].split(";") if listed else [text]
    total = sum(_number(source, where, value.strip()) for value in values)
    if not math.isfinite(total):
        raise InputError(source, where, shown(text), "a finite number")
    return total


def _number(source: str, where: str, text: str) -> float:
    value = real_of(text)
    if value is None:
        raise InputError(source, where, shown(text), "a finite number")
    if value < 0:
        raise InputError(source, where, shown(text), "a number of at least 0")
    return value


def _topological_order(source: str, listing: _Listing) -> list[int]:
    import networkx as nx

    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(listing.layers)
    graph.add_edges_from(listing.edges)
    order: list[int] = []
    try:
        order.extend(nx.lexicographical_topological_sort(graph))
    except nx.NetworkXUnfeasible:
        u, v = _edge_on_cycle(graph)
        where = f"line {listing.edges[u, v]}"
        raise InputError(source, where, f"a cycle through node{u}", "an acyclic graph") from None
    return order


def _edge_on_cycle(graph: nx.DiGraph[int]) -> tuple[int, int]:
    """An edge of some cycle of a graph that has one; O(V + E)."""
    import networkx as nx

    for component in nx.strongly_connected_components(graph):
        for u in sorted(component):
            for v in sorted(graph.successors(u)):
                if v in component:
                    return u, v
    raise AssertionError("the graph has no cycle")


def _model_name(file_name: str) -> str:
    base = file_name.removesuffix(".graph.txt").removesuffix(".txt")
    return base.partition("__")[2] or base
