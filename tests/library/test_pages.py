"""docs/library/ is what its script writes from the records that ship."""

import runpy
from pathlib import Path
from types import SimpleNamespace

from optsched.library.best_records import OPEN, best_records
from optsched.library.sets import all_entries, set_names

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "library"


def test_the_pages_are_not_stale() -> None:
    script = SimpleNamespace(**runpy.run_path(str(ROOT / "docs" / "library.py")))
    written = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    assert written == script.pages(), "run python docs/library.py"
    pictures = {path.stem for path in FOLDER.glob("*.png")}
    assert pictures == {script.page_name(name) for name in set_names()}
    assert (FOLDER / "status.svg").exists()
    still_open = [each for each in best_records(all_entries()) if each.status == OPEN]
    assert len(written) == 1 + len(pictures) + len(still_open)
    for each in still_open:
        name = script.page_name(each.entry.name)
        of_set = written[f"{script.page_name(each.entry.set_name)}.md"]
        assert f"({name}.md)" in of_set
        assert f"\n{name}\n" in of_set  # in the contents, too
        assert f"optsched submit {each.entry.name} " in written[f"{name}.md"]


def test_the_readme_counts_the_instances() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"{len(list(all_entries()))} frozen instances of the six problems" in readme
