"""Declared ranges: files, options and settings validate alike."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from commands import refusal

import optsched
from optsched.declared import Options, declared, expected_of, require_declared
from optsched.errors import InputError
from optsched.experiments.plans.plan import Limits, read_plan
from optsched.placement.instance import PlacementInstance
from optsched.problem import resolve
from optsched.problems import PROBLEMS
from optsched.result import Settings
from optsched.schema import Between


@dataclass(frozen=True)
class Inner(Options):
    share: Annotated[float, Between(0, 1, below=True)] = 0.5


@dataclass(frozen=True)
class Some(Options):
    omitted_defaults = ("word",)

    count: Annotated[int, Between(1, 2**63 - 1)] | None = None
    word: Literal["on", "off"] = "on"
    lambda_: Annotated[float, Between(0, 10, above=True)] = 1.0
    inner: Inner = Inner(0.25)


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"count": 0}, "options: count: found 0, expected an integer in [1, 2^63 - 1]"),
        ({"count": 2.0}, "options: count: found 2.0, expected an integer in [1, 2^63 - 1]"),
        ({"count": True}, "options: count: found True, expected an integer in [1, 2^63 - 1]"),
        ({"count": "1e3"}, "options: count: found '1e3', expected an integer in [1, 2^63 - 1]"),
        ({"word": "no"}, "options: word: found 'no', expected on or off"),
        ({"lambda": 0}, "options: lambda: found 0, expected a finite number in (0, 10]"),
        (
            {"lambda": float("nan")},
            "options: lambda: found nan, expected a finite number in (0, 10]",
        ),
        ({"lambda": 10**400}, f"options: lambda: found {'1' + 56 * '0'}..."),
        ({"share": 1}, "options: share: found 1, expected a finite number in [0, 1)"),
        (
            {"lambda_": 2},
            "options: 'lambda_': found an unknown option, expected 'lambda'",
        ),
        ({"inner": {}}, "options: 'inner': found an unknown option"),
    ],
)
def test_what_is_not_as_declared_is_refused(values: dict[str, Any], line: str) -> None:
    with pytest.raises(InputError) as caught:
        Some.from_dict(values)
    assert str(caught.value).startswith(line)


def test_defaults_are_validated_too() -> None:

    @dataclass(frozen=True)
    class Wrong(Options):
        count: Annotated[int, Between(1, 9)] = 0

    with pytest.raises(InputError, match="count: found 0, expected an integer in"):
        Wrong.from_dict({})


@pytest.mark.parametrize("found", [True, 2.0, "2", None, 0, 10**30, np.int64(0), float("nan")])
def test_files_and_options_take_the_same_integers(found: object) -> None:
    """From 1 on, and nothing that merely equals one."""
    document = optsched.load("placement/fig2").to_dict()
    document["cluster"]["gpus_per_server"] = found
    with pytest.raises(InputError) as caught:
        PlacementInstance.from_dict(document)
    assert str(caught.value).endswith("expected an integer in [1, 1024]")
    assert caught.value.where == "cluster.gpus_per_server"
    with pytest.raises(InputError, match=r"expected an integer in \[1, 1024\]"):
        Settings(threads=found)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", PROBLEMS)
def test_options_of_every_problem_come_back(name: str) -> None:
    made = resolve(PROBLEMS[name].options)
    assert made.from_dict(made().to_dict()) == made()


@pytest.mark.parametrize("name", ["iterations", "time_limit", "gap", "threads"])
@pytest.mark.parametrize("value", [-1, 10**19])
def test_solve_and_plans_refuse_alike(name: str, value: int, tmp_path: Path) -> None:
    plan = tmp_path / "p.toml"
    plan.write_text(
        f'[[families]]\nname = "a"\ninstances = ["makespan/fig2"]\n[limits]\n{name} = {value}\n'
    )
    with pytest.raises(InputError) as planned:
        read_plan(plan)
    with pytest.raises(InputError) as solved:
        optsched.solve("makespan/fig2", **{name: value})
    assert planned.value.expected == solved.value.expected
    assert planned.value.where == f"limits.{name}"
    assert solved.value.where == name


def test_limits_declare_what_settings_do() -> None:
    both = set(Limits.model_fields) & {each.name for each in fields(Settings)}
    assert both == {"iterations", "time_limit", "gap", "threads", "solver", "bound"}
    for name in both:
        assert expected_of(declared(Limits)[name], -1) == expected_of(declared(Settings)[name], -1)
    require_declared("limits", Limits(unit_time=1.0))
    with pytest.raises(InputError, match="unit_time"):
        require_declared("limits", Limits(unit_time=0.0))


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("roll rolling/light-6x60 --bound -1", "roll: --bound: found -1, expected an"),
        ("sweep plans/small --workers -1 --store", "sweep: workers: found -1, expected an int"),
        ("sweep plans/small --workers 1025 --store", "found 1025, expected an integer in [0, 1"),
        ("sweep plans/small --retry all --store", "--retry: found 'all', expected errors"),
    ],
)
def test_commands_keep_to_what_is_declared(command: str, line: str, tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    assert line in refusal(command, *([store] if command.startswith("sweep") else []))
    assert not store.exists()
