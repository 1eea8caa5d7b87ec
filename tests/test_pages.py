"""The site's pages: their code runs, and prints and draws what stands there."""

import re
import sys
from pathlib import Path

import pytest
from scripts import script

ROOT = Path(__file__).parents[1]


pages = script("pages", "docs")
NAMES = [str(page.relative_to(pages.DOCS)) for page in pages.PAGES]
SLOW = ("gallery.md", "how-to/own-policy.md", "problems/online.md", "problems/makespan.md")
"""With `-m full`."""


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.full if n in SLOW else ()) for n in NAMES]
)
def test_the_code_of_a_page_does_what_the_page_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib").rcParams["savefig.dpi"] = 20
    monkeypatch.setattr(sys, "path", [*sys.path])
    text = (pages.DOCS / name).read_text(encoding="utf-8")
    assert pages.fresh(text, tmp_path) == text
    drawn = {picture.name for picture in tmp_path.glob("*.png")}
    shown = set(re.findall(r"!\[[^\]]+\]\((?:\.\./)?pictures/([\w-]+\.png)\)", text))
    assert drawn == shown
    assert shown <= {picture.name for picture in pages.PICTURES.glob("*.png")}


def test_every_picture_that_is_kept_is_on_a_page() -> None:
    texts = "".join(page.read_text(encoding="utf-8") for page in pages.PAGES)
    kept = {picture.name for picture in pages.PICTURES.glob("*.png")}
    assert kept == set(re.findall(r"pictures/([\w-]+\.png)", texts))


def test_a_page_that_says_something_else_is_found(tmp_path: Path) -> None:
    stale = "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n"
    assert pages.fresh(stale, tmp_path) == stale.replace("3", "2")
    with_data = f"{stale}<!-- with traces/none.csv -->\n{stale}"
    assert pages.fresh(with_data, tmp_path) == with_data.replace("3", "2", 1)
    with pytest.raises(RuntimeError, match="exit code 2"):
        pages.fresh("```sh\noptsched solve nothing\n```\n", tmp_path)


def test_every_problem_has_a_page() -> None:
    from optsched.problems import PROBLEMS

    assert {page.stem for page in pages.PAGES if page.parent.name == "problems"} == set(PROBLEMS)


def test_the_gallery_has_every_picture() -> None:
    from optsched import plotting
    from optsched.problems import PROBLEMS

    text = (pages.DOCS / "gallery.md").read_text(encoding="utf-8")
    drawn = re.findall(r'picture="([\w-]+)"', text)
    for problem in PROBLEMS.values():
        assert set(list(problem.pictures)[1:]) <= set(drawn), problem.name
    functions = {name for name in vars(plotting) if name.startswith("plot_")}
    assert functions == set(re.findall(r": (plot_\w+)\]\(", text))


def test_links_of_pages_lead_somewhere() -> None:
    own = [page for page in pages.DOCS.rglob("*.md") if "site" not in page.parts]
    assert len(own) > 20
    for page in (*own, *ROOT.glob("*.md"), *ROOT.glob("*/*.md")):
        for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"
