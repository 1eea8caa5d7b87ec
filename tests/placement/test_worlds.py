"""The shipped placement sets stay within what is said of them."""

import pytest
from scripts import script
from small_instances import best_known

import optsched
from optsched.library import shipped_files
from optsched.placement.options import measures

FILES = {name: path for name, path in shipped_files().items() if name.startswith("placement/")}
BOUND = {name for name, path in FILES.items() if path.parent.name == "communication-bound"}
EFFICIENT = sorted(set(FILES) - BOUND)
GBITS = (10, 25, 50, 100, 200)


@pytest.mark.parametrize("name", EFFICIENT)
def test_efficient_plans_are_worth_their_gpus(name: str) -> None:
    """Half of their GPUs' speed or more, at a NIC there is, in a GPU's memory, as they state."""
    instance = optsched.load(name)
    efficiency = measures(instance, best_known(name)["objective"])["efficiency"]
    assert 0.5 <= efficiency <= 1
    stated = instance.provenance["scaling"]
    assert stated["efficiency"] == pytest.approx(efficiency, rel=0.01)
    assert stated["efficiency"] <= efficiency * (1 + 1e-9)
    assert round(8e-9 * instance.cluster.inter_bandwidth) in GBITS
    assert instance.job.gpus in (16, 32, 64, 128)
    memory = instance.provenance["memory"]
    assert 0 < memory["bytes_per_gpu"] <= memory["gpu_memory"]
    assert instance.provenance["plan"]["batch"] == "per-gpu"


@pytest.mark.parametrize("name", sorted(BOUND - {"placement/fig2"}))
def test_communication_bound_plans_say_what_they_are(name: str) -> None:
    """One mini-batch for all GPUs at 10 Gbit/s; but for GPT-175B less than half as fast."""
    instance = optsched.load(name)
    efficiency = measures(instance, best_known(name)["objective"])["efficiency"]
    assert (efficiency < 0.5) == (instance.job.model != "GPT-175B")
    assert instance.provenance["plan"]["batch"] == "global"
    assert instance.cluster.inter_bandwidth == 1.25e9
    assert instance.provenance["memory"]["bytes_per_gpu"] > 0


def test_a_row_for_each(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["worlds.py", "placement"])
    script("worlds").main()
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line for line in lines if line.startswith("placement/")}
    assert set(rows) == set(FILES)
    assert rows["placement/resnet152-16"].endswith("slower than one GPU")
    assert not any("slower" in rows[name] for name in EFFICIENT)
