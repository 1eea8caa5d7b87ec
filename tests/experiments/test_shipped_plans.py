"""The shipped plans: what docs/results.md and docs/gaps.md say of them is what they give."""

import re
from dataclasses import replace
from html import unescape
from itertools import pairwise
from pathlib import Path

import pytest
from processes import ROOT
from sampling import first
from scripts import script

from optsched import problems
from optsched.experiments import gap_table, read_plan, sweep
from optsched.experiments.report.table import FamilyTable
from optsched.library import shipped_plans

PAGE = (ROOT / "docs" / "gaps.md").read_text(encoding="utf-8")
RESULTS = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
TABLE = RESULTS.partition("<!-- gaps -->\n")[2].partition("<!-- /gaps -->")[0].splitlines()[2:]
RERUN = ("plans/placement", "plans/online")
"""Run again with `-m full`; others are only compared by the plan's hash."""
PROBLEMS = {f"plans/{name}" for name in problems.PROBLEMS}
SLOW = ("min-cut",)
"""Left out: its bound is never the best."""


@pytest.fixture(scope="module", params=first(0, RERUN))
def tables(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[FamilyTable]:
    """A plan's tables, its slow method left out."""
    plan, families = read_plan(request.param), []
    for family in plan.families:
        methods = tuple(method for method in family.methods if method not in SLOW)
        families.append(family.model_copy(update={"methods": methods}))
    path = tmp_path_factory.mktemp("plan") / "results.sqlite"
    sweep(replace(plan, families=tuple(families)), path, workers=0)
    return gap_table(path)


def test_the_readmes_table_is_the_commands(tables: list[FamilyTable]) -> None:
    stated = [line for line in TABLE if line.startswith(f"| {tables[0].plan} |")]
    assert stated == [row for table in tables for row in gaps.summary(table)]


def test_nothing_failed_and_everything_was_checked(tables: list[FamilyTable]) -> None:
    for table in tables:
        for line in table.lines:
            assert (line.failed, line.refused) == (0, 0)
            if line.method in problems.PROBLEMS[table.problem].bounds:
                assert line.bounds == line.planned
            else:
                assert line.checked == line.planned


def test_the_page_is_of_todays_plans() -> None:
    stated = dict(re.findall(r"^## (plans/\S+)\n\n\d+ runs; plan's sha256 (\w+)$", PAGE, re.M))
    assert set(RERUN) <= set(stated) == PROBLEMS <= set(shipped_plans())
    for name, sha256 in stated.items():
        assert read_plan(name).sha256.startswith(sha256), f"run docs/gaps.py --only {name}"


def test_the_readmes_table_is_the_pages() -> None:
    assert TABLE
    assert [line for line in PAGE.splitlines() if line in TABLE] == TABLE


@pytest.mark.parametrize("page", [PAGE, RESULTS], ids=["gaps", "results"])
def test_tables_are_narrow_and_words_come_first(page: str) -> None:
    blocks = re.sub(r"<!-- .* -->\n", "", page).split("\n\n")
    tables = [(said, block) for said, block in pairwise(blocks) if block.startswith("|")]
    assert len(tables) >= 5
    for said, table in tables:
        assert said.endswith((".", ":")), said
        rows = [line.strip("| ").split(" | ") for line in table.strip().splitlines()]
        assert max(map(len, rows)) <= 7
        assert max(len(cell) for row in rows for cell in row) <= 120


def test_what_first_fit_says_is_the_tables() -> None:
    section = PAGE.partition("\n## plans/makespan")[0]
    means = [gaps.means_of(part) for part in section.split("\n### ")[1:]]
    lower = sum(mean["first-fit"] < mean["heavy-edge"] for mean in means)
    said = f"has a lower mean than `heavy-edge` in {lower} of {len(means)} families"
    assert said in section
    assert said in (ROOT / "README.md").read_text(encoding="utf-8")


gap_picture, gaps = script("gap_picture", "docs"), script("gaps", "docs")
ROWS = [row for row in map(gap_picture.Row.of, TABLE) if row is not None]


def test_the_picture_is_of_the_table() -> None:
    assert len(ROWS) > 10
    (ax,) = gap_picture.draw(TABLE).axes
    drawn = {artist.get_gid(): artist for artist in ax.get_children() if artist.get_gid()}
    for row in ROWS:
        (mean,), bar = drawn[f"mean {row.label}"].get_segments(), drawn[f"interval {row.label}"]
        assert mean[0][0] == mean[1][0] == row.mean
        assert bar.get_x() == row.low <= row.mean <= row.high
        assert bar.get_x() + bar.get_width() == pytest.approx(row.high)
        assert list(drawn[f"largest {row.label}"].get_xdata()) == [row.mean, row.largest]
    assert len(drawn) == 3 * len(ROWS)


def test_the_picture_that_is_kept_is_of_the_table() -> None:
    """By its texts: where a line stands in a file is matplotlib's affair."""
    kept = unescape((ROOT / "docs" / "gaps.svg").read_text(encoding="utf-8"))
    texts = re.findall(r"<text [^>]*>([^<]*)</text>", kept)
    labels = [text for text in texts if text.split(":")[0] in problems.PROBLEMS]
    assert labels == [row.label for row in ROWS]
    means = [text for text in texts if re.fullmatch(r"mean [\d.]+", text)]
    assert means == [f"mean {row.mean:.1f}" for row in ROWS]


@pytest.mark.full
def test_the_small_plan_has_every_problem(tmp_path: Path) -> None:
    """Its own bounds and exact methods prove what a beginner sees first."""
    store = tmp_path / "results.sqlite"
    standing = sweep(read_plan("plans/small"), store, workers=0)
    assert (standing.run, standing.failed) == (standing.total, 0)
    tables = gap_table(store)
    assert [table.problem for table in tables] == list(problems.PROBLEMS)
    for table in tables:
        own = {line.method: line for line in table.lines}
        if "exact" in own:
            assert own["exact"].proved == 1.0
        for method, line in own.items():
            is_bound = method in problems.PROBLEMS[table.problem].bounds
            assert line.mean is None if is_bound else line.mean >= 0
