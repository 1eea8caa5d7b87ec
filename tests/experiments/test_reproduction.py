"""Artefacts as a product: files, verdicts, the page; generated pages are not stale."""

import csv
import re
import runpy
from dataclasses import replace
from pathlib import Path

import pytest
from commands import printed
from processes import ROOT
from sampling import first
from scripts import script

from optsched.errors import InputError
from optsched.experiments import ARTEFACTS
from optsched.experiments.papers.artefacts import OTHERS, reproduce
from optsched.experiments.papers.claims import Claim, cells_of, judge
from optsched.experiments.papers.pictures import maps
from optsched.experiments.papers.verdict import Finding, Part, Verdict, read_verdict, write_verdict
from optsched.library import shipped_names
from optsched.plotting.axes import house_style

page_script = script("reproduction", "docs")
HEAD, page = page_script.HEAD, page_script.page
CLAIMS = (
    Claim("cheaper", "by 6%", "cost below EDF's"),
    Claim("never late", "none", "late", "jobs"),
)
CELLS = cells_of(
    [
        ("cheaper", "4 GPUs", "0.5", [3.0, 7.0, 20.4], True),
        ("cheaper", "4 GPUs", "1", [-2.0], False),
        ("never late", "4 GPUs", "1", [0.0], True),
    ]
)
VERDICT = judge(CLAIMS, CELLS, "rho", why="Because.", fixed="H is 1 h.", artefact="sts-fig4")


@pytest.mark.full
def test_quick_reproduction_leaves_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "page.md"
    out = printed("reproduce all --quick -o", tmp_path / "r")
    monkeypatch.setattr("sys.argv", ["", str(tmp_path / "r"), "--page", str(target)])
    page_script.main()
    for name in ARTEFACTS:
        assert f"{name}: smoke: " in out
        for suffix in ("csv", "md", "png", "pdf", "verdict.json"):
            assert (tmp_path / "r" / f"{name}.{suffix}").stat().st_size > 100
        with (tmp_path / "r" / f"{name}.csv").open(encoding="utf-8") as stream:
            assert len(list(csv.reader(stream))) > 2
    assert "(smoke)" in target.read_text(encoding="utf-8")


def test_a_claim_is_counted_over_its_settings() -> None:
    """Medians 7 and -2 give 2.5 over both settings; one of two holds, and the other part does."""
    cheaper, never = VERDICT.parts
    assert cheaper == Part("cheaper", "by 6%", "cost below EDF's 2% (-2 to 7)", 1, 2)
    assert (never.ours, never.count) == ("late 0 jobs", "1 of 1")
    assert VERDICT.table == (
        ("claim", "setting", "rho 0.5", "rho 1"),
        ("cheaper", "4 GPUs", "✓ 7% (3 to 20)", "✗ -2%"),
        ("never late", "4 GPUs", "", "✓ 0 jobs"),
    )
    with house_style():
        axes = maps(CLAIMS, CELLS, "rho").axes
    assert [[text.get_text() for text in ax.texts] for ax in axes] == [["7", "-2"], ["0"]]
    faces = [patch.get_facecolor() for patch in axes[0].patches]
    assert faces[0] != faces[1]


@pytest.mark.parametrize(
    ("holds", "finding"),
    [((2, 3), Finding.HOLDS), ((1, 3), Finding.PARTLY), ((0, 0), Finding.FAILS)],
)
def test_a_verdict_is_that_of_its_parts(holds: tuple[int, int], finding: Finding) -> None:
    parts = tuple(Part("c", "p", "o", number, of) for number, of in zip(holds, (2, 3), strict=True))
    assert Verdict(parts).finding is finding
    assert Verdict(parts, is_testable=False).finding is Finding.NOT_TESTABLE


def test_a_verdict_is_kept_and_read(tmp_path: Path) -> None:
    assert read_verdict(tmp_path, VERDICT.artefact) is None
    write_verdict(tmp_path, VERDICT)
    assert read_verdict(tmp_path, VERDICT.artefact) == VERDICT
    line = "sts-fig4: partly; cheaper: 1 of 2 (ours cost below EDF's 2% (-2 to 7)); never late: 1"
    assert str(VERDICT).startswith(line)
    assert str(replace(VERDICT, smoke=True)) == str(VERDICT).replace("partly", "smoke: partly")
    (tmp_path / "sts-fig4.verdict.json").write_text('{"parts": "maybe"}', encoding="utf-8")
    with pytest.raises(InputError, match="expected a verdict"):
        read_verdict(tmp_path, VERDICT.artefact)


def test_a_section_has_parts_reason_command_and_settings() -> None:
    text = page({VERDICT.artefact: VERDICT})
    assert "| 1 of 2 parts everywhere; 2 of 3 settings | [sts, Fig. 4](#sts-fig-4) |" in text
    section = text.partition("\n## sts, Fig. 4\n")[2].partition("\n## ")[0]
    for words in (
        "| cheaper | by 6% | cost below EDF's 2% (-2 to 7) | 1 of 2 |",
        "\nBecause.\n",
        "`optsched reproduce sts-fig4 -o results`",
        "<details><summary>Settings and spreads</summary>\n\nH is 1 h.",
        "| cheaper | 4 GPUs | ✓ 7% (3 to 20) | ✗ -2% |",
        "](reproduction/sts-fig4.png)",
    ):
        assert words in section
    assert "| not run |" in page({})
    assert page({}, text) == text


def test_every_table_and_figure_is_named_once() -> None:
    """Results by an artefact, the rest by where it is; the papers' own numbering has no holes."""
    named = [artefact.reference for artefact in ARTEFACTS.values()]
    assert len(set(named)) == len(named)
    listed = " ".join([*named, *(where for where, _, _ in OTHERS)])
    for paper, figures in (("a-srpt", 9), ("sjf-bco", 7), ("sts", 7)):
        for figure in range(1, figures + 1):
            assert len(re.findall(rf"{paper}, Fig. {figure}\b", listed)) == 1
    for _, _, home in OTHERS:
        if home.startswith("the instance "):
            assert home.removeprefix("the instance ") in shipped_names()
        for folder in re.findall(r"models/[a-z-]+", home):
            assert (ROOT / folder / "README.md").is_file()


@pytest.mark.parametrize("name", first(2, ["a-srpt-table1", "sts-fig2", "sjf-bco-fig7"]))
def test_the_page_says_what_the_command_finds(name: str, tmp_path: Path) -> None:
    """Seconds each, and the same on every machine; the others are run before a release."""
    reproduce(name, tmp_path)
    text = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    assert page({name: read_verdict(tmp_path, name)}, text) == text


@pytest.mark.parametrize("name", ["reproduction", "beyond"])
def test_the_pages_of_verdicts_are_not_stale(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every artefact has its row and section, and no cell is too long to read."""
    artefacts, head = ARTEFACTS, HEAD
    if name == "beyond":
        monkeypatch.syspath_prepend(ROOT / "docs" / "beyond")
        make = runpy.run_path(str(ROOT / "docs" / "beyond" / "make.py"))
        artefacts, head = make["ARTEFACTS"], make["HEAD"]
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    assert text.startswith(head)
    for artefact in artefacts.values():
        assert f"| [{artefact.reference}](#{page_script.anchor(artefact)}) |" in text
        section = text.partition(f"\n## {artefact.reference}\n\nThe claim: {artefact.claim}.\n")[2]
        assert f"{artefact.name} -o results` ({artefact.runtime})" in section
    assert "not run" not in text
    assert "(smoke)" not in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert max(len(cell.strip()) for row in rows for cell in row.split(" | ")) <= 120


def test_the_page_of_benchmarks_is_not_stale() -> None:
    script = runpy.run_path(str(ROOT / "benchmarks" / "page.py"))
    scripts = {command.split()[0] for _, command in script["SECTIONS"].values()}
    assert scripts.isdisjoint(script["WITHOUT_SECTION"])
    every = {path.name for path in (ROOT / "benchmarks").glob("*.py")}
    assert every == scripts | set(script["WITHOUT_SECTION"])
    found = script["stored"]()
    assert list(found) == list(script["SECTIONS"])
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert text == script["summary"](found), "run python benchmarks/page.py --summary"
    assert len(text.split()) <= 3500
    for problem in script["PROBLEMS"]:
        page = (ROOT / "docs" / "benchmarks" / f"{problem}.md").read_text(encoding="utf-8")
        assert page == script["printouts"](problem, found)
    for name, section in found.items():
        heading, command = script["SECTIONS"][name]
        assert section.startswith(f"## {heading}\n\n`python benchmarks/{command}`, 20")
        assert section.count("```") == 2, "what was printed once, and nothing beside it"


def test_every_headline_number_of_the_benchmarks_stands_in_the_printout() -> None:
    script = runpy.run_path(str(ROOT / "benchmarks" / "page.py"))
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    by_name = script["stored"]()
    headlines = re.findall(r"(?m)^### .*\n((?:.*\n)*?)\[All rows\]\(benchmarks/(.*)\.md#", text)
    names = [name for of in script["PROBLEMS"] for name in by_name if script["problem"](name) == of]
    for (shown, page), name in zip(headlines, names, strict=True):
        assert page == script["problem"](name)
        numbers, printed = (
            re.findall(r"\d+(?:\.\d+)?(?:e[+-]\d+)?", part.replace(",", ""))
            for part in (shown, by_name[name])
        )
        assert set(numbers) <= set(printed), name
        tables = [line for line in shown.splitlines() if line.startswith("|")]
        assert len(tables) >= 3, name
        assert max(line.count("|") for line in tables) <= 8, name


def test_the_page_of_generators_is_not_stale() -> None:
    script = runpy.run_path(str(ROOT / "docs" / "generators.py"))
    text = (ROOT / "docs" / "generators.md").read_text(encoding="utf-8")
    assert text == script["page"](), "run python docs/generators.py"
