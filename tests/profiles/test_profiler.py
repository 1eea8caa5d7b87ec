"""`optsched profile`: a module of three layers measured on the CPU; skipped without PyTorch."""

from pathlib import Path
from typing import Any

import pytest
from commands import json_of, refusal, run

import optsched
from optsched.profiles import profile_document, read_profile
from optsched.profiles.profile import Layer, LayerProfile

MODULE = '''
import torch
from torch import nn

class Residual(nn.Module):
    """Small, large, and a third layer that reads the sum of both outputs."""

    def __init__(self):
        super().__init__()
        self.small, self.large = nn.Linear(8, 256), nn.Linear(256, 256)
        self.last = nn.ReLU(inplace=True)

    def forward(self, x):
        small = self.small(x)
        return self.last(small + self.large(small))

def residual():
    return Residual(), torch.ones(512, 8)

def named():
    return Residual(), {"x": torch.ones(512, 8)}

def shared():
    layer = nn.Linear(8, 8)
    return nn.Sequential(nn.Embedding(5, 8), layer, nn.Dropout(), layer), torch.tensor([1, 4])

def attention():
    return nn.TransformerEncoderLayer(16, 2, 32), torch.ones(4, 3, 16)

def fails():
    return Residual(), torch.ones(512, 9)

def raises():
    raise OSError("no weights")

def one():
    return Residual()

def no_module():
    return 3, torch.ones(1)

number = 3
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("torch")
    (tmp_path / "network_of_three.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_three_layers(folder: Path) -> None:
    for function in ("residual", "named"):
        code, _, error = run(f"profile network_of_three:{function} --repeats 20 -o p.json")
        assert code == 0, error
        assert error.startswith("wrote p.json: Residual, 3 layers, ")
        measured = read_profile("p.json")
        assert [layer.name for layer in measured.layers] == [
            "small Linear", "large Linear", "last ReLU",
        ]  # fmt: skip
        assert measured.edges == ((0, 1), (0, 2), (1, 2))
        assert [layer.output_bytes for layer in measured.layers] == [512 * 256 * 4] * 3
        sizes = [layer.parameter_bytes for layer in measured.layers]
        assert sizes == [4 * 256 * 9, 4 * 256 * 257, 0]
        small, large, _ = measured.layers
        assert all(layer.forward_time > 0 < layer.backward_time for layer in measured.layers)
        assert large.forward_time + large.backward_time > small.forward_time  # 32 times the work
        assert measured.provenance["device"] in ("cpu", "cuda")
    assert run("import profile p.json --gpus 4 --servers 2,2 -o plan.json")[0] == 0
    assert optsched.solve("plan.json").proved


def test_a_layer_that_is_called_twice_has_its_parameters_once(folder: Path) -> None:
    assert run("profile network_of_three:shared --repeats 1 -o p.json")[0] == 0
    measured = read_profile("p.json")
    assert [layer.parameter_bytes for layer in measured.layers] == [160, 288, 0, 0]
    assert measured.edges == ((0, 1), (1, 2), (2, 3))


def test_a_module_whose_children_are_not_called_is_a_layer(folder: Path) -> None:
    """Attention uses its projection's weights without a call of it."""
    assert run("profile network_of_three:attention --repeats 1 -o p.json")[0] == 0
    measured = read_profile("p.json")
    attention, dropout = measured.layers[:2]
    assert (attention.name, dropout.name) == ("self_attn MultiheadAttention", "dropout1 Dropout")
    assert attention.parameter_bytes == 4 * 4 * (16 * 16 + 16)
    total = sum(layer.parameter_bytes for layer in measured.layers)
    assert total == 4 * (4 * (16 * 16 + 16) + 2 * 2 * 16 + 2 * 16 * 32 + 16 + 32)
    assert {(0, 1), (1, 2)} <= set(measured.edges)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("nosuch:f", "profile: nosuch:f: found \"No module named 'nosuch'\""),
        ("network_of_three:nosuch", "expected a name of network_of_three"),
        ("network_of_three", "found 'network_of_three', expected MODULE:FUNCTION"),
        ("network_of_three:number", "found 3, expected a function without arguments that returns"),
        ("network_of_three:raises", "found OSError: no weights, expected a function"),
        ("network_of_three:one", "expected a function without arguments that returns (module,"),
        ("network_of_three:no_module", "module: found 3, expected a torch.nn.Module"),
        ("network_of_three:fails", "profile: Residual: found RuntimeError: mat1 and mat2"),
    ],
)
def test_what_is_refused(folder: Path, reference: str, message: str) -> None:
    assert message in refusal(f"profile {reference} -o p.json")
    assert not (folder / "p.json").exists()


def profile_of(**edits: Any) -> dict[str, Any]:
    layers = (Layer("a", 1.0, 2.0, 8.0, 4.0), Layer("b", 1.0, 2.0, 8.0, 4.0))
    return profile_document(LayerProfile("two", layers, ((0, 1),), {"by": "hand"})) | edits


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    from optsched.files import write_document

    path = tmp_path / "p.json"
    write_document(path, profile_of())
    assert profile_document(read_profile(path)) == profile_of()
    command = f"import profile {path} --gpus 2 --servers 2 -o {tmp_path / 'plan.json'}"
    for edits, message in (
        ({"layers": []}, "layers"),
        ({"edges": [[1, 0]]}, "edge 0: found (1, 0)"),
        ({"schema": "optsched/plan"}, "schema: found 'optsched/plan'"),
        ({"layers": [{**profile_of()["layers"][0], "forward_time": -1}]}, "forward_time: found -1"),
    ):
        write_document(path, profile_of(**edits))
        assert message in refusal(command)
    write_document(path, profile_of())
    assert run(command)[0] == 0
    assert json_of(f"solve {tmp_path / 'plan.json'}")["objective"] > 0
