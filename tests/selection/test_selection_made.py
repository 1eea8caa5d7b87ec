"""What commands make: shipped instances again, generated profiles, energies by hand."""

import re
import shlex
from pathlib import Path

import pytest
from commands import printed
from oracles.selection_cases import document
from selection.small import at, solution

import optsched
from optsched.errors import InputError, NotApplicableError
from optsched.generators.speed_profile import ProfileSettings, generate_speed_profile
from optsched.selection.instance import SelectionInstance

ROOT = Path(__file__).resolve().parents[2]
BY_HAND = {"one-atom", "plateau", "printed-loops", "printed-no-root", "printed-wrong"}


@pytest.mark.parametrize("problem", ["selection", "speed-profile"])
def test_scripts_make_the_shipped_instances_again(problem: str, tmp_path: Path) -> None:
    name = f"make_{problem.replace('-', '_')}.sh"
    text = (ROOT / "instances" / name).read_text(encoding="utf-8")
    seed = ["--seed", "7"] if problem == "speed-profile" else []
    made = set()
    for line in re.findall(r"^make (\S+ .*)$", text, flags=re.M):
        key, *arguments = shlex.split(line)
        made.add(key)
        if "100x400" in key or key == "40x160":
            continue  # seconds, and nothing new
        printed(f"generate {problem} --name {key} -o {tmp_path}", *seed, *arguments)
        again = (tmp_path / f"{key}.json").read_bytes()
        assert again == (ROOT / "instances" / problem / f"{key}.json").read_bytes(), key
    shipped = {p.stem for p in (ROOT / "instances" / problem).glob("*.json")} - {"best_known"}
    assert made == shipped - BY_HAND


def test_generated_profiles() -> None:
    settings = ProfileSettings(network="ResNet", gpus=3, idle_power=50.0, epoch_time=10.0)
    instance = generate_speed_profile(settings, seed=4)
    assert instance == generate_speed_profile(settings, seed=4)
    assert instance.speeds[0] == pytest.approx(0.1)
    assert instance.power == (400.0, 650.0, 900.0)  # 300 W at work, 50 W idle, three GPUs
    assert sum(instance.work.probabilities) == pytest.approx(1.0)
    with pytest.raises(InputError, match="--gpus"):
        ProfileSettings(gpus=0)
    with pytest.raises(InputError, match="network"):
        generate_speed_profile(ProfileSettings(network="GPT"))


@pytest.mark.parametrize(
    "method", ["sts", "edf", "fifo", "rg", "dp", "avg-edf", "avg-rg", "avg-dp"]
)
def test_heuristics_refuse_an_exact_number_of_nodes_by_name(method: str) -> None:
    with pytest.raises(NotApplicableError, match=f"{method}: found node_opening=printed"):
        optsched.solve("selection/3x6", method, options={"node_opening": "printed"})


def test_energy_to_the_last_completion_by_hand() -> None:
    """Two GPUs for one job, a third shared by two: each is in use until its last job ends."""
    job = {
        "due_date": 1e4, "tardiness_weight": 0.1, "memory_bytes": 1.0,
        "epochs": {"values": [10, 30], "probabilities": [0.5, 0.5]},
    }  # fmt: skip
    types = {"A": {"memory_bytes": 10.0, "slowdown": {"0.5": 1.5}}}
    node = {"name": "n", "gpu_type": "A", "gpus": 3, "cost_rate": [1.0, 2.0, 4.0]}
    jobs = [
        {**job, "name": name, "epoch_time": {"A": [one, one / 2, one / 2]}}
        for name, one in (("x", 5.0), ("y", 2.0), ("z", 8.0))
    ]
    made = document("by-hand", types, [node], jobs, interval=0.0, postponement_penalty=1.0)
    shared = (at(name, "n", 2, fraction=0.5) for name in "yz")
    said = optsched.explain(
        SelectionInstance.from_dict(made), solution("by-hand", at("x", "n", 0, 1), *shared)
    )
    # x ends after 20 x 2.5 = 50 s, y after 20 x 2 x 1.5 = 60 s, z after 20 x 8 x 1.5 = 240 s
    assert said.energy == pytest.approx(50 * 4.0)
    assert said.full_run_energy == pytest.approx(50 * 4.0 + 190 * 1.0)
