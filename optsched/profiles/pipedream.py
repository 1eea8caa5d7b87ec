r"""Reader and writer of PipeDream's layer profiles (``graph.txt``).

The format holds one layer or one edge per line; times are milliseconds, sizes bytes::

    node7 -- LSTM(8, 8) -- forward_compute_time=2.5, backward_compute_time=4.0, \
activation_size=[64.0; 8.0], parameter_size=128.000
    <tab>node7 -- node8

A layer line that ends in ``-- stage_id=3``, a partition made by PipeDream, is refused: the stages
are planned here, and would not be those of the file.

Source: D. Narayanan et al., "PipeDream: Generalized Pipeline Parallelism for DNN Training",
SOSP 2019, https://doi.org/10.1145/3341301.3359646.
"""

import hashlib
import io
import math
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from optsched.errors import InputError, one_line, shown
from optsched.io.numerals import parse_real
from optsched.io.reading import read_bytes
from optsched.io.writing import write_text
from optsched.profiles.profile import Layer, LayerProfile

MAX_BYTES = 16 * 2**20
MAX_LAYERS = 20_000
MAX_EDGES = 200_000

FIELDS = ("forward_compute_time", "backward_compute_time", "activation_size", "parameter_size")
LAYER_FORM = "nodeN -- description -- " + ", ".join(f"{name}=..." for name in FIELDS)
_MEASURED = re.compile(", ".join(f"{name}=([^,=]*)" for name in FIELDS))
_NODE = re.compile("node([0-9]{1,18})")
_STAGE = re.compile(r" -- (stage_id=-?[0-9]{1,18}) *$")


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
    source = str(path)
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe or a device could block
        raise InputError(source, "", "no regular file", "a readable file")
    data = read_bytes(path, MAX_BYTES)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(source, f"line {line}", "bytes that are not UTF-8", "UTF-8") from None
    nodes, lines_of_edges = _read_lines(source, text)
    order = _topological_order(source, nodes, lines_of_edges)
    position = {node: index for index, node in enumerate(order)}
    edges = tuple(sorted((position[u], position[v]) for u, v in lines_of_edges))
    layers = tuple(nodes[node] for node in order)
    provenance: dict[str, object] = {
        "source": "PipeDream layer profile",
        "file": path.name,
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    try:
        return LayerProfile(_model_name(path.name), layers, edges, provenance)
    except InputError as error:  # only sums that overflow are left to refuse: name the file
        raise error.at(source, error.where) from None


def write_pipedream(path: str | Path, profile: LayerProfile) -> None:
    """Write a profile without tensor slices and experts."""
    lines = []
    for number, layer in enumerate(profile.layers, start=1):
        times = (1e3 * layer.forward_time, 1e3 * layer.backward_time)
        values = zip(FIELDS, (*times, layer.output_bytes, layer.parameter_bytes), strict=True)
        measured = ", ".join(f"{name}={value!r}" for name, value in values)
        lines.append(f"node{number} -- {one_line(layer.name)} -- {measured}\n")
    lines += [f"\tnode{u + 1} -- node{v + 1}\n" for u, v in profile.edges]
    write_text(path, "".join(lines))


def _read_lines(source: str, text: str) -> tuple[dict[int, Layer], dict[tuple[int, int], int]]:
    """Return the layers by node number, and the line of each edge."""
    layers: dict[int, Layer] = {}
    edges: dict[tuple[int, int], int] = {}
    edge_lines = 0
    # Only "\n" ends a line: descriptions may hold other characters that Python takes for one.
    for number, line in enumerate(io.StringIO(text, newline="\n"), start=1):
        where = f"line {number}"
        if not line.strip():
            continue
        if line.startswith("\t"):
            edge_lines += 1
            if edge_lines > MAX_EDGES:
                raise InputError(source, where, "one edge more", f"at most {MAX_EDGES}")
            edges.setdefault(_parse_edge(source, where, line), number)
            continue
        node, layer = _parse_layer(source, where, line.rstrip("\r\n"))
        if node in layers:
            raise InputError(source, where, f"node{node} again", "each node once")
        if len(layers) == MAX_LAYERS:
            raise InputError(source, where, "one layer more", f"at most {MAX_LAYERS}")
        layers[node] = layer
    if not layers:
        raise InputError(source, "", "no layers", "at least one layer line")
    for edge, number in edges.items():
        for node in edge:
            if node not in layers:
                raise InputError(source, f"line {number}", f"unknown node{node}", "a listed node")
    return layers, edges


def _parse_layer(source: str, where: str, line: str) -> tuple[int, Layer]:
    if stage := _STAGE.search(line):
        expected = "a profile without PipeDream's partition: stages are planned anew, so remove it"
        raise InputError(source, where, shown(stage[1]), expected)
    # From the right: a description may itself hold the separator, the measurements may not.
    head, _, tail = line.rpartition(f" -- {FIELDS[0]}=")
    label, separator, description = head.partition(" -- ")
    node, measured = _NODE.fullmatch(label), _MEASURED.fullmatch(f"{FIELDS[0]}={tail}")
    if node is None or not separator or measured is None:
        raise InputError(source, where, shown(line), LAYER_FORM)
    forward, backward, output, parameters = (
        _size(source, f"{where}, {name}", text.strip(), listable=name == "activation_size")
        for name, text in zip(FIELDS, measured.groups(), strict=True)
    )
    name = f"node{int(node[1])} {description}"
    return int(node[1]), Layer(name, forward / 1e3, backward / 1e3, output, parameters)


def _parse_edge(source: str, where: str, line: str) -> tuple[int, int]:
    ends = [_NODE.fullmatch(label) for label in line.strip().split(" -- ")]
    if len(ends) != 2 or ends[0] is None or ends[1] is None:
        raise InputError(source, where, shown(line), "an edge nodeN -- nodeM")
    return int(ends[0][1]), int(ends[1][1])


def _size(source: str, where: str, text: str, *, listable: bool) -> float:
    """Return a number, or the sum of a list ``[a; b; c]`` where one may stand."""
    listed = listable and text.startswith("[") and text.endswith("]")
    total = 0.0
    for part in text[1:-1].split(";") if listed else [text]:
        value = parse_real(part.strip())
        if value is None or value < 0:
            raise InputError(source, where, shown(part.strip()), "a finite number of at least 0")
        total += value
    if not math.isfinite(total):
        raise InputError(source, where, shown(text), "a finite number")
    return total


def _topological_order(
    source: str, nodes: Iterable[int], edges: Mapping[tuple[int, int], int]
) -> list[int]:
    """Sort the nodes, the smallest number first where several may come next."""
    import networkx as nx

    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    try:
        return list(nx.lexicographical_topological_sort(graph))
    except nx.NetworkXUnfeasible:
        edge = nx.find_cycle(graph)[0]
        where, found = f"line {edges[edge]}", f"a cycle through node{edge[0]}"
        raise InputError(source, where, found, "an acyclic graph") from None


def _model_name(file_name: str) -> str:
    base = file_name.removesuffix(".graph.txt").removesuffix(".txt")
    return base.partition("__")[2] or base
