"""Tables show the excess over the library's bound, where it is one on the same objective."""

from typing import Any

import pytest

import optsched
from optsched.experiments.report.table import best_bound
from optsched.library.best_records import best_records, known_bound
from optsched.library.sets import entry_of, library_set, load_entry

NAME = "placement/slices-1/007"
"""The quick bound of a heuristic's row is below the best known one."""


def best(name: str) -> Any:
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
