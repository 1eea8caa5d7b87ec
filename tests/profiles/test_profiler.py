"""`optsched profile`: a module of three layers measured on the CPU; skipped without PyTorch."""

from pathlib import Path

import pytest
from commands import refusal, run

import optsched
from optsched.profiles import read_pipedream

MODULE = '''
import time
import torch
from torch import nn

class Slow(nn.ReLU):
    def forward(self, x):
        time.sleep(0.01)
        return super().forward(x)

class Residual(nn.Module):
    """Small, large, and a third layer that reads the sum of both outputs."""

    def __init__(self):
        super().__init__()
        self.small, self.large = nn.Linear(8, 256), nn.Linear(256, 256)
        self.last = Slow(inplace=True)

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
        code, _, error = run(f"profile network_of_three:{function} --repeats 20 -o p.txt")
        assert code == 0, error
        assert error.startswith("wrote p.txt: Residual, 3 layers, ")
        measured = read_pipedream("p.txt")
        assert [layer.name for layer in measured.layers] == [
            "node1 small Linear", "node2 large Linear", "node3 last Slow",
        ]  # fmt: skip
        assert measured.edges == ((0, 1), (0, 2), (1, 2))
        assert [layer.output_bytes for layer in measured.layers] == [512 * 256 * 4] * 3
        sizes = [layer.parameter_bytes for layer in measured.layers]
        assert sizes == [4 * 256 * 9, 4 * 256 * 257, 0]
        assert all(layer.forward_time > 0 < layer.backward_time for layer in measured.layers)
        assert measured.layers[2].forward_time >= 0.01
    assert run("import pipedream p.txt --gpus 4 --servers 2,2 -o plan.json")[0] == 0
    assert optsched.solve("plan.json").proved


def test_a_layer_that_is_called_twice_has_its_parameters_once(folder: Path) -> None:
    assert run("profile network_of_three:shared --repeats 1 -o p.txt")[0] == 0
    measured = read_pipedream("p.txt")
    assert [layer.parameter_bytes for layer in measured.layers] == [160, 288, 0, 0]
    assert measured.edges == ((0, 1), (1, 2), (2, 3))


def test_a_module_whose_children_are_not_called_is_a_layer(folder: Path) -> None:
    """Attention uses its projection's weights without a call of it."""
    assert run("profile network_of_three:attention --repeats 1 -o p.txt")[0] == 0
    measured = read_pipedream("p.txt")
    attention, dropout = measured.layers[:2]
    assert attention.name == "node1 self_attn MultiheadAttention"
    assert dropout.name == "node2 dropout1 Dropout"
    assert attention.parameter_bytes == 4 * 4 * (16 * 16 + 16)
    total = sum(layer.parameter_bytes for layer in measured.layers)
    assert total == 4 * (4 * (16 * 16 + 16) + 2 * 2 * 16 + 2 * 16 * 32 + 16 + 32)
    assert {(0, 1), (1, 2)} <= set(measured.edges)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("nosuch:f", "profile: nosuch:f: found \"No module named 'nosuch'\""),
        ("network_of_three:nosuch", "expected a name of network_of_three"),
        ("network_of_three", "profile: network_of_three: found no '', expected a name"),
        ("network_of_three:number", "found TypeError: 'int' object is not callable, expected a"),
        ("network_of_three:raises", "found OSError: no weights, expected a function"),
        ("network_of_three:one", "expected a function without arguments that returns (module,"),
        ("network_of_three:no_module", "module: found 3, expected a torch.nn.Module"),
        ("network_of_three:fails", "profile: Residual: found RuntimeError: mat1 and mat2"),
    ],
)
def test_what_is_refused(folder: Path, reference: str, message: str) -> None:
    assert message in refusal(f"profile {reference} -o p.txt")
    assert not (folder / "p.txt").exists()
