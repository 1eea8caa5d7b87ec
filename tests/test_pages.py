"""The site's pages: their code does what they say; pictures are made and shown; none is stale."""

import re
import sys
from pathlib import Path

import pytest
from processes import ROOT
from sampling import first
from scripts import script

from optsched import plotting
from optsched.experiments import ARTEFACTS
from optsched.library.best_records import OPEN, best_records
from optsched.library.sets import all_entries, set_names
from optsched.problems import PROBLEMS

pages = script("pages", "docs")
SLOW = (
    "gallery.md",
    "how-to/own-policy.md",
    *(f"problems/{n}.md" for n in ("makespan", "online", "rolling")),
)
"""With `-m full`."""
NAMES = [str(page.relative_to(pages.DOCS)) for page in pages.PAGES]
QUICK = [name for name in NAMES if name not in SLOW]


@pytest.mark.parametrize("name", first(len(QUICK), [*QUICK, *SLOW]))
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


def test_every_problem_has_a_page_and_every_picture_is_in_the_gallery() -> None:
    assert {page.stem for page in pages.PAGES if page.parent.name == "problems"} == set(PROBLEMS)
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


def text_of(*patterns: str) -> str:
    paths = (path for pattern in patterns for path in ROOT.glob(pattern))
    return "\n".join(path.read_text(encoding="utf-8") for path in paths if "site" not in path.parts)


def test_each_picture_is_made_by_a_command_and_shown() -> None:
    pictures = [path for kind in ("png", "svg") for path in pages.DOCS.rglob(f"*.{kind}")]
    pictures = [path for path in pictures if not {"site", "_build"} & set(path.parts)]
    shown = text_of("*.md", "models/**/*.md", "docs/**/*.md")
    scripts = text_of("docs/*.py", "docs/beyond/*.py", "benchmarks/*.py")
    saved = {*re.findall(r'savefig\(\s*"([\w.-]+)"', shown)}
    drawn = {*re.findall(r"-o (?:docs/)?([\w.-]+\.png)", shown)}
    for path in pictures:
        assert path.name in shown, f"{path} is not shown"
        made = {
            "pictures": path.name in saved | drawn,
            "library": "draw_solution" in scripts and "draw_status" in scripts,
            "reproduction": path.stem in ARTEFACTS,
            "beyond": path.stem in scripts,
            "docs": path.name in drawn or path.stem in ARTEFACTS or path.stem in scripts,
        }
        assert made[path.parent.name], f"{path} is made by no command"
    assert len(pictures) > 40


def test_the_pages_of_the_library_are_not_stale() -> None:
    library, folder = script("library", "docs"), pages.DOCS / "library"
    written = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    assert written == library.pages(), "run python docs/library.py"
    pictures = {path.stem for path in folder.glob("*.png")}
    assert pictures == {library.page_name(name) for name in set_names()}
    assert (folder / "status.svg").exists()
    still_open = [each for each in best_records(all_entries()) if each.status == OPEN]
    assert len(written) == 1 + len(pictures) + len(still_open)
    for each in still_open:
        name = library.page_name(each.entry.name)
        of_set = written[f"{library.page_name(each.entry.set_name)}.md"]
        assert f"({name}.md)" in of_set
        assert f"\n{name}\n" in of_set  # in the contents, too
        assert f"optsched submit {each.entry.name} " in written[f"{name}.md"]


def test_the_readme_counts_the_instances() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"{len(list(all_entries()))} frozen instances of the seven problems" in readme
