"""Profiles by hand, the checker, bad files; Algorithm 1 as printed fails."""

import itertools

import pytest
from oracles.rolling_policies import first_piece_of
from oracles.selection_cases import tiny
from oracles.speed_profile_cases import document

import optsched
from optsched import solve
from optsched.errors import InputError
from optsched.result import Termination
from optsched.selection.cost import tables_of, type_rates
from optsched.selection.options import SelectionOptions
from optsched.speed_profile.instance import SpeedProfileInstance
from optsched.speed_profile.power import energy_per_epoch, node_power


def test_profile_by_hand() -> None:
    # two atoms, Q = 1, 2: epochs 0-10 matter with probability 1, 10-20 with 1/2: the later the fast
    result = solve("speed-profile/printed-wrong")
    assert result.solution.status == "slack"
    assert [(p.from_, p.to, p.speed) for p in result.solution.pieces] == [(0.0, 10.0, 1)]
    assert result.objective == pytest.approx(3.0 * 5.0)  # 3 J an epoch, F^c falls from 1 to 0


@pytest.mark.parametrize(
    ("name", "says"), [("printed-loops", "loops forever"), ("printed-no-root", "no root")]
)
def test_algorithm_1_as_printed_fails(name: str, says: str) -> None:
    result = solve(f"speed-profile/{name}", "dichotomy", options={"algorithm": "printed"})
    assert result.termination is Termination.ERROR
    assert says in result.details["message"]


def test_algorithm_1_as_printed_is_wrong_with_idle_power() -> None:
    name = "speed-profile/printed-wrong"
    printed = solve(name, "dichotomy", options={"algorithm": "printed"})
    assert printed.check.feasible
    assert printed.objective > 1.4 * solve(name).objective


def test_power_model() -> None:
    assert node_power(3, 10.0, 1.0) == (12.0, 21.0, 30.0)
    assert energy_per_epoch((1.0, 2.0), (12.0, 21.0)) == (12.0, 10.5)


def test_the_first_piece_that_sts_uses_is_that_of_the_profile() -> None:
    for seed in range(10):
        tables = tables_of(tiny(seed), SelectionOptions())
        name = tables.kinds[0].name
        for j, job in enumerate(tables.instance.jobs):
            times, due = job.epoch_time.get(name, ()), float(tables.due[j])
            if not times or due < 0 or any(b >= a for a, b in itertools.pairwise(times)):
                continue
            speed, _, energy = first_piece_of(tables, j, 0, 0, 0.0)
            work = job.epochs.model_dump(mode="json")
            made = document("one", [1 / t for t in times], type_rates(tables, 0), work)
            made |= {"deadline": due, "completed": job.completed_epochs}
            single = solve(SpeedProfileInstance.from_dict(made))
            if single.objective is None:
                assert speed == -1
                continue
            assert energy == pytest.approx(single.objective, rel=1e-9)
            assert speed == single.solution.pieces[0].speed


@pytest.mark.parametrize(
    ("work", "where"),
    [
        ({"points": [0, 1], "survival": [0.9, 0]}, "work.points: found 0.9 at 0"),
        ({"points": [0, 1], "survival": [1, -0.1]}, "work.survival[1]: found -0.1"),
        ({"survival": [1, 0]}, "work.points: missing required field"),
        ({"points": [0, 1], "survival": [1, 0], "values": [1]}, "work.values: found [1]"),
        ({"values": [1.0], "probabilities": [0.9]}, "work.probabilities: found a sum of 0.9"),
        ({"values": [1.0, "q"], "probabilities": [0.5, 0.5]}, "work.values[1]: found 'q'"),
        (5, "work: found 5, expected an object"),
    ],
)
def test_bad_work_is_refused_by_its_own_key(work: object, where: str) -> None:
    given = {**optsched.load("speed-profile/plateau").to_dict(), "work": work}
    with pytest.raises(InputError) as error:
        SpeedProfileInstance.from_dict(given)
    assert where in str(error.value)
    assert "function-after" not in str(error.value)
