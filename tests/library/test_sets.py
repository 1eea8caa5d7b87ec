"""Sets: made again bit for bit, by name wherever an instance is asked for, refused otherwise."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import json_of, printed, refusal
from sampling import first

import optsched
from optsched.errors import InputError
from optsched.experiments.report.table import best_bound
from optsched.files import instance_sha256
from optsched.library import find
from optsched.library.best_records import best_records, known_bound
from optsched.library.sets import (
    Entry,
    all_entries,
    entry_of,
    library_folder,
    library_set,
    load_entry,
    set_names,
)

EVERY = list(all_entries())
DRAWN = [EVERY[i] for i in np.random.default_rng(15).permutation(len(EVERY))[:8]]


def test_there_are_300_instances_of_all_problems_in_small_files() -> None:
    assert len(EVERY) >= 300
    assert {entry.problem for entry in EVERY} == set(optsched.METHODS)
    for key in ("sha256", "name"):
        assert len({getattr(entry, key) for entry in EVERY}) == len(EVERY)
    files = [path for path in library_folder().rglob("*") if path.is_file()]
    assert 0 < sum(path.stat().st_size for path in files) < 12_000_000


@pytest.mark.parametrize("entries", first(1, [DRAWN, EVERY]), ids=["drawn", "all"])
def test_instances_are_made_again(entries: list[Entry]) -> None:
    for entry in entries:
        made = load_entry(entry)
        assert made.name == entry.file_name
        assert instance_sha256(made.to_dict()) == entry.sha256, entry.name


@pytest.mark.parametrize("name", ["selection/interval-1/001", "rolling/three-types-1/001"])
def test_instances_made_on_demand_have_no_digit_that_depends_on_the_processor(name: str) -> None:
    """Powers and draws differ in their last bit between processors: they are rounded to decimals.

    Probabilities are quotients of integers, which every processor rounds alike.
    """
    document = load_entry(entry_of(name)).to_dict()
    floats = [value for value in leaves(document) if isinstance(value, float)]
    assert len(floats) > 100
    assert [value for value in floats if round(value, 10) != value] == []


def leaves(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return [leaf for name, part in value.items() for leaf in leaves(part, name)]
    if isinstance(value, list | tuple):
        return [] if key == "probabilities" else [leaf for v in value for leaf in leaves(v, key)]
    return [] if key in ("probabilities", "provenance") else [value]


def test_another_instance_is_refused() -> None:
    changes = {"selection": {"seed": 10**6}, "speed-profile": {"sha256": "0" * 64}}
    for problem, changed in changes.items():
        drawn = next(entry for entry in EVERY if entry.problem == problem)
        with pytest.raises(InputError, match="another version of the generator") as caught:
            load_entry(replace(drawn, **changed))
        assert caught.value.source == drawn.name


def test_a_set_is_named_wherever_instances_are() -> None:
    name = "speed-profile/fig2-1"
    assert [path.as_posix() for path in find(name)] == [e.name for e in library_set(name).entries]
    one = library_set(name).entries[4]
    assert optsched.load(one.name).to_dict() == load_entry(one).to_dict()
    with pytest.raises(InputError, match="no such file"):
        optsched.load(f"{name}/999")
    assert entry_of("speed-profile/fig2-1") is None


def test_make_writes_files_that_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("online/mixed-1", "placement/measured-1", "speed-profile/fig2-1"):
        few = replace(library_set(name), entries=library_set(name).entries[:3])
        monkeypatch.setattr("optsched.library.sets.library_set", {name: few}.__getitem__)
        printed("library make", name, tmp_path / "made")
        for entry in few.entries:
            at = tmp_path / "made" / entry.file_name
            read = optsched.load(at if at.is_dir() else f"{at}.json")
            assert instance_sha256(read.to_dict()) == entry.sha256
    assert "expected an empty folder" in refusal("library make", name, tmp_path / "made")


def test_list_names_sets_and_instances() -> None:
    listed = [line.split()[0] for line in printed("library list").splitlines()]
    assert listed == list(set_names())
    names = printed("library list", listed[0]).split()
    assert names == [e.name for e in library_set(listed[0]).entries]
    refusal("library list placement/nothing-1")


def test_counts_and_histories_are_json() -> None:
    counts = json_of("library status")
    assert {"instances", "proved", "within_1_percent", "certified", "open"} <= set(counts)
    assert counts["instances"] == len(EVERY) == counts["easy"] + counts["hard"] + counts["open"]
    shown = json_of("library show", EVERY[0].name)
    assert {"name", "sha256", "status", "best", "history"} <= set(shown)
    assert shown["name"] == EVERY[0].name
    assert shown["history"]
    assert shown["best"]["bound"] <= shown["best"]["value"]


# --- tables show the excess over the library's bound, where it is one on the same objective


NAME = "placement/slices-1/007"
"""The quick bound of a heuristic's row is below the best known one."""


def best(name: str) -> float:
    (found,) = best_records([entry_of(name)])
    return found.bound.value


def test_compare_takes_a_set_and_shows_its_bounds() -> None:
    frame = optsched.compare(NAME, ["heavy-edge"], full=True)
    assert frame["bound"][0] == pytest.approx(best(NAME), rel=1e-12)
    assert frame["bound_source"][0].startswith("library, ")
    other = {"all_reduce_overlap": 0.5}
    changed = optsched.compare(NAME, ["heavy-edge"], options=other, full=True)
    assert not changed["bound_source"][0].startswith("library")
    few = [entry.name for entry in library_set("speed-profile/fig2-1").entries[:3]]
    table = optsched.compare(few, ["hull"], full=True)
    assert all(bound >= best(name) for bound, name in zip(table["bound"], few, strict=True))


def test_a_bound_holds_for_its_instance_options_and_draw_alone() -> None:
    entry = library_set("rolling/three-types-1").entries[0]
    stored = library_set("placement/measured-1").entries[0]
    cases: list[tuple[bool, str, str, str, dict[str, str], int]] = [
        (True, "rolling", entry.file_name, entry.sha256, {}, 0),
        (False, "rolling", entry.file_name, entry.sha256, {}, 1),
        (False, "rolling", entry.file_name, entry.sha256, {"sharing": "off"}, 0),
        (False, "rolling", entry.file_name, "0" * 64, {}, 0),
        (False, "rolling", "my-own-007", entry.sha256, {}, 0),
        (True, "placement", load_entry(stored).name, stored.sha256, {}, 0),
    ]
    for is_known, *arguments in cases:
        assert (known_bound(*arguments) is not None) == is_known


def test_a_sweeps_table_shows_them_too() -> None:
    entry = entry_of(NAME)
    said = {"problem": "placement", "instance": entry.file_name, "sha256": entry.sha256, "seed": 0}
    known = best_bound({**said, "options": "{}"}, None)
    assert known == best_bound({**said, "options": "{}"}, (1.0, "a weak one"))
    assert known[0] == best(NAME)
    strong = (best(NAME) * 1.001, "a strong one")
    assert best_bound({**said, "options": "{}"}, strong) == strong
