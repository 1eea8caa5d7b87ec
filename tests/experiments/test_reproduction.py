"""Artefacts as a product: files, verdicts, the page; generated pages are not stale."""

import csv
import re
import runpy
from dataclasses import replace
from pathlib import Path

import pytest
from commands import printed, quiet
from processes import ROOT
from sampling import first
from scripts import script

from optsched.errors import InputError
from optsched.experiments import ARTEFACTS
from optsched.experiments.papers.artefact import Finding, Verdict, read_verdict, write_verdict
from optsched.experiments.papers.artefacts import OTHERS, names_of, reproduce
from optsched.library import shipped_names

page_script = script("reproduction", "docs")
COLUMNS, HEAD, page = page_script.COLUMNS, page_script.HEAD, page_script.page
VERDICT = Verdict(Finding.PARTLY, "6%", "26%", "3-56%", "ours", "Because.", "a-srpt-table2")


@pytest.mark.full
def test_quick_reproduction_leaves_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "page.md"
    out = printed("reproduce all --quick -o", tmp_path / "r")
    monkeypatch.setattr("sys.argv", ["", str(tmp_path / "r"), "--page", str(target)])
    page_script.main()
    for name in ARTEFACTS:
        assert f"{name}: smoke: " in out
        for suffix in ("csv", "png", "pdf", "verdict.json"):
            assert (tmp_path / "r" / f"{name}.{suffix}").stat().st_size > 100
        with (tmp_path / "r" / f"{name}.csv").open(encoding="utf-8") as stream:
            assert len(list(csv.reader(stream))) > 2
    assert "(smoke)" in target.read_text(encoding="utf-8")


def test_list_names_claim_command_and_runtime() -> None:
    out = quiet("reproduce --list")
    assert re.match(r"a-srpt-table1 .*\n +optsched reproduce a-srpt-table1 -o results\n", out)
    assert "sts, Table III     prices of GPUs" in out
    for artefact in ARTEFACTS.values():
        for part in (artefact.name, artefact.claim, artefact.command, artefact.runtime):
            assert part in out


def test_a_verdict_is_kept_and_read(tmp_path: Path) -> None:
    assert read_verdict(tmp_path, VERDICT.artefact) is None
    write_verdict(tmp_path, VERDICT)
    assert read_verdict(tmp_path, VERDICT.artefact) == VERDICT
    line = "a-srpt-table2: partly; paper 6%; ours 26% (3-56%); ours"
    assert str(VERDICT) == line
    assert str(replace(VERDICT, smoke=True)) == line.replace("partly", "smoke: partly")
    (tmp_path / "a-srpt-table2.verdict.json").write_text('{"finding": "maybe"}', encoding="utf-8")
    with pytest.raises(InputError, match="expected a verdict"):
        read_verdict(tmp_path, VERDICT.artefact)


def test_a_claim_that_fails_gets_its_paragraph() -> None:
    text = page({VERDICT.artefact: VERDICT})
    assert "| partly | 6% | 26% | 3-56% | ours |" in text
    assert "## a-srpt-table2: partly\n\nBecause." in text
    assert "Because." not in page({VERDICT.artefact: replace(VERDICT, finding=Finding.HOLDS)})
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


def test_names() -> None:
    assert names_of(["all"]) == list(ARTEFACTS)
    assert names_of(["a-srpt-table2", "a-srpt-table2"]) == ["a-srpt-table2"]
    with pytest.raises(InputError, match="expected one of a-srpt-table1, a-srpt-table2"):
        names_of(["table3"])
    with pytest.raises(InputError, match=r"reproduction\.py"):  # a file is no folder
        reproduce("sts-fig2", __file__, quick=True)


@pytest.mark.parametrize("name", ["reproduction", "beyond"])
def test_the_pages_of_verdicts_are_not_stale(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    artefacts, head = ARTEFACTS, HEAD
    if name == "beyond":
        monkeypatch.syspath_prepend(ROOT / "docs" / "beyond")
        make = runpy.run_path(str(ROOT / "docs" / "beyond" / "make.py"))
        artefacts, head = make["ARTEFACTS"], make["HEAD"]
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    assert text.startswith("\n".join(head))
    assert f"| {' | '.join(COLUMNS)} |" in text
    rows = re.findall(r"^\| `([\w-]+)` \| (.*) \|$", text, re.MULTILINE)
    assert [name for name, _ in rows] == list(artefacts)
    for name, cells in rows:
        values = cells.split(" | ")
        assert len(values) == len(COLUMNS) - 1
        assert artefacts[name].claim in values[0]
        assert values[1] in {finding.value for finding in Finding}
        assert values[-1] == artefacts[name].runtime
        if values[1] != Finding.HOLDS:
            assert f"## {name}: {values[1]}" in text


def test_the_page_of_benchmarks_is_not_stale() -> None:
    script = runpy.run_path(str(ROOT / "benchmarks" / "page.py"))
    scripts = {command.split()[0] for _, command in script["SECTIONS"].values()}
    assert scripts.isdisjoint(script["WITHOUT_SECTION"])
    every = {path.name for path in (ROOT / "benchmarks").glob("*.py")}
    assert every == scripts | set(script["WITHOUT_SECTION"])
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert text.startswith(script["HEAD"])
    found = script["sections"](text)
    assert list(found) == list(script["SECTIONS"])
    for name, section in found.items():
        heading, command = script["SECTIONS"][name]
        assert section.startswith(f"## {heading}\n\n`python benchmarks/{command}`, 20")
        assert section.count("```") == 2, "what was printed once, and nothing beside it"


def test_the_page_of_generators_is_not_stale() -> None:
    script = runpy.run_path(str(ROOT / "docs" / "generators.py"))
    text = (ROOT / "docs" / "generators.md").read_text(encoding="utf-8")
    assert text == script["page"](), "run python docs/generators.py"
