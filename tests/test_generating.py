"""`optsched.generate`: every problem's generator, with the arguments of the command."""

import math
from pathlib import Path

import pytest
from commands import printed

import optsched
from optsched.errors import InputError
from optsched.generators.makespan import CONTENTION
from optsched.problems import PROBLEMS

ARGUMENTS: dict[str, dict] = {
    "placement": {"model": "VGG19", "gpus": 8, "gpus_per_server": 4},
    "makespan": {"jobs": 6, "servers": 3, "server_sizes": [4, 8], "exchange": [0.1, 0.2]},
    "selection": {"nodes": 3, "jobs": 6, "overdue": 0.5},
    "speed-profile": {"network": "VGG16", "gpus": 4},
    "rolling": {"nodes": 3, "jobs": 7, "arrivals": "load", "load": 0.4},
    "online": {"jobs": 30, "servers": 4, "load": 0.5},
    "packing": {"nodes": 5, "sharing": 0.7, "one_model": 0.2},
}
NUMBERS = {"contention_share": 0.75, "degradation": 0.3, "overhead": 0.01, "exchange": [0.2, 0.3]}
"""Numbers of the cost of spanning servers that no world has."""


def test_every_problem_generates() -> None:
    assert set(ARGUMENTS) == set(PROBLEMS)


@pytest.mark.parametrize("problem", ARGUMENTS)
def test_it_is_what_the_command_writes(problem: str, tmp_path: Path) -> None:
    made = optsched.generate(problem, seed=3, **ARGUMENTS[problem])
    options: list[str] = []
    for name, value in ARGUMENTS[problem].items():
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        options += [f"--{name.replace('_', '-')}", text]
    kind = "workload" if problem == "online" else problem
    printed(f"generate {kind} --seed 3 -o {tmp_path}", *options)
    written = optsched.load(tmp_path if problem == "online" else next(tmp_path.iterdir()))
    ours, theirs = made.to_dict(), written.to_dict()
    if problem == "online":  # a folder has its own name, and no provenance
        assert ours["cluster"] == theirs["cluster"]
        assert ours["workload"] == theirs["workload"]
    else:
        assert ours == theirs
    assert made.to_dict() != optsched.generate(problem, seed=4, **ARGUMENTS[problem]).to_dict()


@pytest.mark.parametrize("world", ["strong", "prohibitive"])
def test_worlds_of_contention_are_points_of_a_space(world: str) -> None:
    numbers = CONTENTION[world]
    given = {name: getattr(numbers, name) for name in NUMBERS} | {"horizon": int(numbers.horizon)}
    by_name = optsched.generate("makespan", contention=world, name="same").to_dict()
    by_numbers = optsched.generate("makespan", **given, name="same").to_dict()
    assert by_numbers.pop("provenance").items() >= {"contention": "mild", "overhead": 1e-3}.items()
    assert by_numbers == {key: value for key, value in by_name.items() if key != "provenance"}


@pytest.mark.parametrize(("name", "value"), NUMBERS.items())
def test_each_number_of_contention_counts_and_is_in_the_name(name: str, value: object) -> None:
    usual = optsched.generate("makespan", jobs=4, servers=2)
    other = optsched.generate("makespan", jobs=4, servers=2, **{name: value})
    stated = value if isinstance(value, float) else "0.2-0.3"
    assert other.name == f"makespan-4x2-mild-{name}={stated}-s0"
    assert (other.network, other.jobs) != (usual.network, usual.jobs)
    if name != "exchange":
        key = "overhead_per_server" if name == "overhead" else name
        assert other.network == usual.network.with_(**{key: value})


@pytest.mark.parametrize(
    ("problem", "arguments", "line"),
    [
        ("placements", {}, "generate: problem: found 'placements', expected 'placement'"),
        (3, {}, "generate: problem: found 3, expected one of placement"),
        ("placement", {"gpu": 8}, "generate: found unknown key 'gpu', expected 'gpus'"),
        ("placement", {"gpus": "8"}, "generate: gpus: found '8', expected an integer"),
        ("placement", {"gpus": 0}, "generate: gpus: found 0, expected an integer in [1, 4096]"),
        ("selection", {"nodes": 0}, "generate: nodes: found 0, expected an integer in [1, 20000]"),
        ("makespan", {"sizes": [0]}, "generate: sizes: found (0,), expected each an integer in [1"),
        ("makespan", {"sizes": []}, "generate: sizes: found no size, expected sizes to draw from"),
        (
            "makespan",
            {"contention": "no"},
            "generate: contention: found 'no', expected mild, strong",
        ),
        ("makespan", {"horizon": "1"}, "generate: horizon: found '1', expected an integer"),
        (
            "makespan",
            {"contention_share": 1.5},
            "generate: contention_share: found 1.5, expected a",
        ),
        ("makespan", {"degradation": -1}, "generate: degradation: found -1, expected a finite"),
        ("makespan", {"overhead": math.nan}, "generate: overhead: found nan, expected a finite"),
        ("makespan", {"exchange": [1]}, "generate: exchange: found (1,), expected at least 2 v"),
        ("makespan", {"exchange": [0, 1, 2]}, "generate: exchange: found (0, 1, 2), expected at m"),
        ("makespan", {"exchange": [2, 1]}, "generate: exchange: found (2, 1), expected a range, l"),
        ("placement", {"seed": -1}, "generate: seed: found -1"),
        ("placement", {"name": 3}, "generate: name: found 3, expected a string"),
    ],
)
def test_faults_are_one_line(problem: str, arguments: dict, line: str) -> None:
    with pytest.raises(InputError) as raised:
        optsched.generate(problem, **arguments)
    assert str(raised.value).startswith(line)
    assert "\n" not in str(raised.value)
