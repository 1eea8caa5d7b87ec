"""The files of models/PROBLEM are what `export` writes today, and have the stored optima."""

import json
from pathlib import Path
from typing import Any

import pytest
from models_room import TOP, optimum_in, pyomo_solve

from optsched.methods import export

MODELS = TOP / "models"
OBJECTIVE = {
    "makespan": "objective",
    "placement": "objective_units",
    "selection": "objective_units",
    "packing": "idle_gpus",
}
"""Key of a file's optimum in optimum.json; for the room of online see its own tests."""
OPTIMA: dict[str, dict[str, Any]] = {
    room: json.loads((MODELS / room / "optimum.json").read_text("utf-8")) for room in OBJECTIVE
}
FILES = [
    (room, method, name)
    for room, entries in OPTIMA.items()
    for method, entry in entries.items()
    for name in entry["files"]
]


@pytest.mark.parametrize("room", ["makespan", "placement"])
def test_a_room_holds_the_files_it_lists(room: str) -> None:
    readme = (MODELS / room / "README.md").read_text("utf-8")
    exported = {path.name for path in (MODELS / room).iterdir() if path.suffix in (".lp", ".mps")}
    assert exported == {name for of, _, name in FILES if of == room}
    for path in (MODELS / room).iterdir():
        assert path.name == "README.md" or f"`{path.name}`" in readme or path.is_dir()


@pytest.mark.parametrize(("room", "method", "name"), FILES)
def test_files_are_what_export_writes_and_have_the_optimum(
    room: str, method: str, name: str, tmp_path: Path
) -> None:
    """Otherwise: python -m optsched export, as the room's README.md says."""
    file, stored = MODELS / room / name, OPTIMA[room][method]
    export(MODELS / room / "tiny.json", method, file.suffix[1:], tmp_path / name)
    assert (tmp_path / name).read_bytes() == file.read_bytes()
    if file.suffix != ".nl":
        assert optimum_in(file) == pytest.approx(stored[OBJECTIVE[room]], rel=1e-6)
    if "relaxation_units" in stored:
        relaxation = optimum_in(file, relaxed=True)
        assert relaxation == pytest.approx(stored["relaxation_units"], rel=1e-6)


@pytest.mark.parametrize(
    ("room", "line", "method"),
    [
        *(("packing", line, "milp") for line in range(2)),
        *(
            pytest.param(room, line, method, marks=pytest.mark.full)
            for room, methods in (
                ("makespan", ("ilp", "ilp-relaxed")),
                ("placement", ("ilp", "ilp-vertex")),
            )
            for line, method in enumerate(methods)
        ),
    ],
)
def test_pyomo_solve_as_the_readme_states_it(
    room: str, line: int, method: str, tmp_path: Path
) -> None:
    readme = (MODELS / room / "README.md").read_text("utf-8")
    stored = OPTIMA[room][method][OBJECTIVE[room]]
    assert pyomo_solve(readme, line, tmp_path) == pytest.approx(stored, rel=1e-6)
