"""Numbers and arrays of numpy are taken wherever a caller gives numbers, and files stay plain."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import optsched
from optsched.errors import InputError
from optsched.generators.makespan import Workload, generate_makespan
from optsched.generators.online import WorkloadShape, generate_online, generate_workload
from optsched.generators.packing import generate_packing
from optsched.generators.placement import Hardware, generate_placement, instance_from_profile
from optsched.generators.rolling import generate_rolling, rolling_settings
from optsched.generators.selection import SelectionSettings, generate_selection
from optsched.generators.speed_profile import ProfileSettings, generate_speed_profile
from optsched.profiles import Training
from optsched.result import Outcome, Settings, Termination
from optsched.zoo import profile_model


def test_settings_become_pythons_own() -> None:
    settings = Settings(
        np.float32(2), np.int64(4), np.float64(0), threads=np.int32(1), seed=np.uint8(3)
    )
    plain = Settings(2.0, 4, 0.0, threads=1, seed=3)
    assert settings == plain
    assert repr(settings) == repr(plain)
    for bad in (np.float64(1.5), np.bool_(True), np.array([1, 2]), np.int64(-1)):
        with pytest.raises(InputError, match="settings: seed"):
            Settings(seed=bad)


def test_a_run_with_numpys_numbers_is_the_same_run() -> None:
    given: dict[str, Any] = {"seed": np.int64(3), "iterations": np.int64(50)}
    result = optsched.solve("makespan/contended-3x3", "local-search", **given)
    again = optsched.solve("makespan/contended-3x3", "local-search", seed=3, iterations=50)
    assert result.objective == again.objective
    assert json.loads(json.dumps(result.to_dict()))["seed"] == 3


def test_a_heuristic_from_outside_that_counts_in_numpy() -> None:
    best = optsched.solve("placement/fig2")

    def counting(instance: Any, options: Any, settings: Any) -> Outcome:
        document = best.solution.to_dict()
        lists = {name: np.array(v) for name, v in document.items() if isinstance(v, list)}
        assert lists
        return Outcome({**document, **lists}, Termination.FEASIBLE, bound=np.float32(0.01))

    result = optsched.solve("placement/fig2", counting)
    assert result.check.feasible
    assert result.objective == best.objective
    assert json.loads(json.dumps(result.to_dict()))["bound"] == pytest.approx(0.01)


def test_a_heuristic_from_outside_without_a_solution() -> None:
    def giving_up(instance: Any, options: Any, settings: Any) -> Outcome:
        return Outcome(None, Termination.NO_SOLUTION)

    result = optsched.solve("placement/fig2", giving_up, bound=False)
    assert (result.status, result.solution) == ("no-solution", None)
    row = optsched.compare("placement/fig2", [giving_up, "exact"]).iloc[0]
    assert (row["status"], row["checked"]) == ("no-solution", None)


DIRECT: dict[str, Callable[[Any, Any], Any]] = {
    "placement": lambda i, f: generate_placement(
        "VGG19",
        i(8),
        stages=i(2),
        hardware=Hardware(i(4), f(2.5e9), f(1e11)),
        training=Training(micro_batches=i(2)),
        seed=i(3),
    ),
    "placement of a profile": lambda i, f: instance_from_profile(
        profile_model("VGG19"), i(8), [i(5), i(3)], stages=i(2), hardware=Hardware(i(8), f(1.25e9))
    ),
    "makespan": lambda i, f: generate_makespan(
        i(3),
        i(2),
        server_sizes=(i(4), i(8)),
        largest_job=i(4),
        workload=Workload((i(100), i(200)), (f(0.01), f(0.05)), (f(2), f(5))),
        slot=f(0.5),
        horizon=i(100),
        seed=i(3),
    ),
    "makespan of sizes": lambda i, f: generate_makespan(i(3), i(2), sizes=(i(1), i(2)), seed=i(3)),
    "selection": lambda i, f: generate_selection(
        SelectionSettings(i(3), i(6), i(2), cost_spread=f(0.1), interval=f(60.0)), seed=i(3)
    ),
    "speed-profile": lambda i, f: generate_speed_profile(
        ProfileSettings(gpus=i(4), deadline=f(5000.0), power=f(200.0)), seed=i(3)
    ),
    "rolling": lambda i, f: generate_rolling(
        rolling_settings(i(3), jobs=i(6), arrivals="load", load=f(0.5), a100_speed=f(0.5)),
        seed=i(3),
    ),
    "rolling of a trace": lambda i, f: generate_rolling(
        rolling_settings(i(2), jobs=i(2)), seed=i(3), submit_times=[f(0.0), f(7.5)]
    ),
    "online": lambda i, f: generate_online(
        i(20),
        i(3),
        gpus_per_server=i(4),
        inter_bandwidth=f(1e9),
        shape=WorkloadShape(f(0.5), sizes=(i(2), i(4)), size_weights=(f(0.5), f(0.5)), users=i(5)),
        seed=i(3),
    ),
    "packing": lambda i, f: generate_packing(i(3), f(1.3), f(0.5), seed=i(3)),
    "workload": lambda i, f: generate_workload(
        i(20), shape=WorkloadShape(zipf=f(1.0), durations=(f(10), f(20))), seed=i(3)
    )[1],
}
"""A call of each generator, given its integers and its floats by two functions."""


@pytest.mark.parametrize("name", DIRECT)
@pytest.mark.parametrize("integer", [np.int64, np.int32])
def test_generators_called_directly(name: str, integer: Any) -> None:
    document = DIRECT[name](integer, np.float64).to_dict()
    assert json.dumps(document) == json.dumps(DIRECT[name](int, float).to_dict())
