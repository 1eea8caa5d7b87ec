"""The PipeDream reader: hand-written files, damaged files, and the published profiles."""

import hashlib
import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched.errors import InputError
from optsched.profiles import pipedream
from optsched.profiles.pipedream import read_pipedream
from optsched.profiles.profile import Layer, LayerProfile


def line(node: int, description: str = "ReLU()", tail: str = "", **changed: str) -> str:
    times = {"forward_compute_time": "1.500", "backward_compute_time": "2.500"}
    numbers = {**times, "activation_size": "64.000", "parameter_size": "0.000", **changed}
    fields = ", ".join(f"{name}={value}" for name, value in numbers.items())
    return f"node{node} -- {description} -- {fields}{tail}\n"


def edge(u: int, v: int) -> str:
    return f"\tnode{u} -- node{v}\n"


def read(folder: Path, content: str | bytes, name: str = "task__net.graph.txt") -> LayerProfile:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_pipedream(path)


def refuse(folder: Path, content: str | bytes) -> InputError:
    with pytest.raises(InputError) as caught:
        read(folder, content)
    assert caught.value.source == str(folder / "task__net.graph.txt")
    return caught.value


def test_reads_layers_in_seconds_and_bytes(tmp_path: Path) -> None:
    # Edges may precede layers, and 10 must sort after 2 as a number, not before it as a text.
    text = edge(10, 2) + edge(1, 10) + line(10, "Conv2d(3, 64)", parameter_size="128.000")
    text += line(2, activation_size="[6.5; 1.0; 0.5]") + line(1, "Input")
    profile = read(tmp_path, text)
    assert profile.layers == (
        Layer("node1 Input", 0.0015, 0.0025, 64.0, 0.0),
        Layer("node10 Conv2d(3, 64)", 0.0015, 0.0025, 64.0, 128.0),
        Layer("node2 ReLU()", 0.0015, 0.0025, 8.0, 0.0),  # 6.5 + 1.0 + 0.5
    )
    assert profile.edges == ((0, 1), (1, 2))
    assert profile.model == "net"
    source = {"source": "PipeDream layer profile", "file": "task__net.graph.txt"}
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    assert profile.provenance == {**source, "sha256": sha256}


BAD_SECOND_LINES = {
    "no numbers": "node2 -- ReLU()\n",
    "no node": line(2).replace("node2", "layer2"),
    "no description": line(2).replace(" -- ReLU()", ""),
    "a field missing": line(2).replace(", parameter_size=0.000", ""),
    "a field more": line(2, tail=", extra=1"),
    "fields swapped": line(2).replace("parameter_size", "backward_compute_time"),
    "stage without a number": line(2, tail=" -- stage_id=x"),
    "something after": line(2, tail=" -- colour=3"),
    "half an edge": "\tnode1 --\n",
    "a three-way edge": "\tnode1 -- node1 -- node1\n",
    "an edge of names": "\tinput -- node1\n",
    "nan": line(2, forward_compute_time="nan"),
    "inf": line(2, backward_compute_time="inf"),
    "overflow": line(2, parameter_size="1e999"),
    "negative": line(2, parameter_size="-1.0"),
    "negative in a list": line(2, activation_size="[4.0; -1.0]"),
    "underscore": line(2, parameter_size="1_0"),
    "other digits": line(2, parameter_size="\u0663"),
    "expression": line(2, parameter_size="2*3"),
    "empty number": line(2, activation_size=""),
    "empty list": line(2, activation_size="[]"),
    "open list": line(2, activation_size="[1.0; 2.0"),
    "list of times": line(2, forward_compute_time="[1.0; 2.0]"),
    "list overflow": line(2, activation_size="[1e308; 1e308]"),
    "endless literal": line(2, parameter_size="1" * 5000),
    "endless node number": line(2).replace("node2", "node" + "2" * 5000),
    "duplicate": line(1),
    "duplicate by number": line(1).replace("node1", "node01"),
    "unknown node": edge(1, 5),
    "self-loop": edge(1, 1),
}


@pytest.mark.parametrize("bad", BAD_SECOND_LINES.values(), ids=BAD_SECOND_LINES.keys())
def test_refuses_a_bad_line_by_its_number(tmp_path: Path, bad: str) -> None:
    error = refuse(tmp_path, line(1) + bad + line(3))
    assert error.where.split(",")[0] == "line 2"
    assert "\n" not in str(error)
    assert len(str(error)) < 1000


# Each number is finite; 2 * 1.7e308 is beyond the largest float, 1.8e308.
OVERFLOW = "".join(line(n, parameter_size="1.7e308") for n in (1, 2))
# The cycle is 3, 4; its way out to 1 and its way in from 5 (lines 5 and 6) are not to blame.
CYCLE = "".join(map(line, (1, 3, 4, 5))) + edge(3, 1) + edge(5, 3) + edge(3, 4) + edge(4, 3)
# Repeated almost-matches make a backtracking pattern quadratic; the suite would hang here.
ALMOST = " -- forward_compute_time=1, backward_compute_time=1, activation_size=["
HOSTILE = "node1" + 100_000 * ALMOST


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (line(1, tail=" -- stage_id=3"), "found 'stage_id=3', expected a profile without"),
        (CYCLE, "line [78]: found a cycle"),
        (OVERFLOW, "infinite"),
        *((content, "at least one layer line") for content in ("", "\n\n", edge(1, 2))),
        (line(1).encode() + b"\n\xff\n", "line 3"),
        (HOSTILE, "line 1: "),
    ],
    ids=lambda value: str(value)[:20],
)
def test_refuses_other_files(tmp_path: Path, content: str | bytes, reason: str) -> None:
    assert re.search(reason, str(refuse(tmp_path, content)))


def test_refuses_what_is_not_a_readable_file(tmp_path: Path) -> None:
    for path in (tmp_path / "none.graph.txt", tmp_path, str(tmp_path / "a\0b")):
        with pytest.raises(InputError, match="expected a readable file"):
            read_pipedream(path)


def test_limits_refuse_one_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = line(1) + line(2) + line(3) + edge(1, 2) + edge(2, 3)
    monkeypatch.setattr(pipedream, "MAX_LAYERS", 3)
    monkeypatch.setattr(pipedream, "MAX_EDGES", 2)
    monkeypatch.setattr(pipedream, "MAX_BYTES", len(text) + len(line(4)))
    assert len(read(tmp_path, text).layers) == 3
    assert refuse(tmp_path, text + line(4)).where == "line 6"
    assert refuse(tmp_path, text + edge(1, 3)).where == "line 6"
    assert "bytes" in refuse(tmp_path, text + line(4) + "\n").found


@settings(derandomize=True, max_examples=200, deadline=None, database=None)
@given(
    nodes=st.lists(st.integers(0, 8), max_size=8),
    edges=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=8),
)
def test_any_graph_is_read_exactly_when_it_is_sound(
    tmp_path_factory: pytest.TempPathFactory, nodes: list[int], edges: list[tuple[int, int]]
) -> None:
    folder = tmp_path_factory.getbasetemp()
    text = "".join(map(line, nodes)) + "".join(edge(u, v) for u, v in edges)
    known = bool(nodes) and {n for pair in edges for n in pair} <= set(nodes)
    sound = known and len(set(nodes)) == len(nodes) and acyclic(set(nodes), set(edges))
    if not sound:
        refuse(folder, text)
        return
    profile = read(folder, text)
    number = [int(layer.name.split()[0][4:]) for layer in profile.layers]
    assert sorted(number) == sorted(nodes)
    assert {(number[u], number[v]) for u, v in profile.edges} == set(edges)


def acyclic(nodes: set[int], edges: set[tuple[int, int]]) -> bool:
    while nodes:
        sources = nodes - {v for u, v in edges if u in nodes}
        if not sources:
            return False
        nodes = nodes - sources
    return True


def published(pattern: str) -> list[Path]:
    folder = Path(os.environ.get("OPTSCHED_DATA", "nowhere"), "profiles", "pipedream")
    return sorted(folder.glob(pattern)) or pytest.skip(f"OPTSCHED_DATA holds no {pattern}")


@pytest.mark.parametrize(
    ("model", "parameters"),
    # VGG16 and ResNet50 as published; GNMT by its layers' own dimensions (8 LSTM layers of 1024,
    # two 32320 x 1024 embeddings, attention, classifier).
    [("vgg16", 138.36e6), ("resnet50", 25.56e6), ("gnmt", 193.8e6)],
)
def test_published_profiles_hold_the_known_parameters(model: str, parameters: float) -> None:
    (path,) = published(f"*__{model}.graph.txt")
    profile = read_pipedream(path)
    assert profile.model == model
    assert profile.prefix_sum("parameter_bytes")[-1] == pytest.approx(4 * parameters, rel=0.02)


def test_every_published_profile_is_read_in_full() -> None:
    for path in published("*.graph.txt"):
        lines = path.read_text().splitlines()
        edges = [text for text in lines if text.startswith("\t")]
        profile = read_pipedream(path)
        assert len(profile.layers) == len(lines) - len(edges)
        assert len(profile.edges) == len(set(edges))
        assert profile.prefix_sum("forward_time")[-1] > 0
        assert profile.cut_bytes().max() > 0
