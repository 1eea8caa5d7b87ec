"""The generator, and the shipped instances that came from it."""

import json
from typing import Any

import pytest
from small_instances import best_known

import optsched
from optsched.errors import InputError
from optsched.generators.placement import Hardware, generate_placement
from optsched.library import shipped_files
from optsched.profiles import Training
from optsched.zoo import MODELS

OVERSIZED = Training(oversized=True)
FILES = {name: path for name, path in shipped_files().items() if name.startswith("placement/")}
PLACEMENTS = sorted(FILES)


@pytest.mark.parametrize("model", MODELS)
def test_every_zoo_model_makes_an_instance(model: str) -> None:
    instance = generate_placement(model, 16, stages=3, training=OVERSIZED, seed=5)
    assert instance.job.model == model
    assert sum(instance.free_gpus) == instance.job.gpus == 16
    assert instance.provenance["profile"]["kind"].startswith("first-principles")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"model": "AlexNet"}, "one of VGG19"),
        ({"gpus": 0}, "1, 4096"),
        ({"gpus": 10**9}, "1, 4096"),
        ({"stages": 99}, "stages"),
        ({"all_reduce": "star"}, "ring or double-tree"),
        ({"hardware": {"gpus_per_server": 0}}, "gpus_per_server"),
        ({"hardware": {"inter_bandwidth": -1.0}}, "bandwidth"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict, expected: str) -> None:
    hardware = arguments.get("hardware", {})
    with pytest.raises(InputError, match=expected):
        generate_placement(**{**arguments, "hardware": Hardware(**hardware)})


LONG = ("inception-v3-128", "resnet152-128", "t5-11b-128", "gpt-175b-128")
"""Plans that take seconds each; the same models' smaller ones are made every time."""


def _marks(at: int, name: str) -> Any:
    if any(each in name for each in LONG):
        return pytest.mark.nightly
    return pytest.mark.full if at % 3 else ()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=_marks(at, name)) for at, name in enumerate(PLACEMENTS)]
)
def test_shipped_files_are_what_their_provenance_says(name: str) -> None:
    path = FILES[name]
    instance = optsched.load(name)
    assert instance.name == path.stem
    arguments = instance.provenance.get("arguments")
    if arguments is None:
        assert instance.name == "fig2" or instance.name.startswith("measured-")
        return
    again = generate_placement(
        **{**arguments, "training": Training(**arguments["training"])},
        all_reduce=instance.job.all_reduce,
        hardware=Hardware(**dict(instance.cluster)),
        name=instance.name,
    )
    assert json.dumps(again.to_dict()) == json.dumps(json.loads(path.read_text()))


def test_the_efficient_set() -> None:
    """Every model, and measured profiles, at 16 to 128 GPUs; GPT-175B where memory holds it."""
    sizes: dict[str, set[int]] = {}
    for path in FILES.values():
        if path.parent.name == "communication-bound":
            continue
        model, gpus, _ = path.stem.rsplit("-", 2)
        sizes.setdefault(model, set()).add(int(gpus))
    every = {16, 32, 64, 128}
    assert sizes.pop("gpt-175b") == {64, 128}
    assert {model.lower() for model in MODELS} - {"gpt-175b"} <= set(sizes)
    assert len([model for model in sizes if model.startswith("measured-")]) == 3
    assert all(found == every for found in sizes.values())


@pytest.mark.parametrize("name", PLACEMENTS)
def test_best_known_values_stand_up(name: str) -> None:
    instance, entry = optsched.load(name), best_known(name)
    result = optsched.solve(instance, entry["method"])
    value = optsched.check(instance, result.solution).objective
    assert value == pytest.approx(entry["objective"], rel=1e-9)
    assert result.bound == pytest.approx(entry["bound"], rel=1e-6)


def test_compare_shows_plans_that_one_would_run() -> None:
    """On 16 to 64 GPUs; the stress tests are in a folder of their own."""
    frame = optsched.compare("placement", ["repartition"], full=True)
    gpus = [optsched.load(f"placement/{name}").job.gpus for name in frame["instance"]]
    assert len(gpus) == 17
    assert set(gpus) == {16, 32, 64}
    assert frame["efficiency"].min() >= 0.5
