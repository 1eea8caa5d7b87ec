"""docs/library/ is what its script writes from the records that ship."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from optsched.library.sets import entries

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "library"


def test_the_pages_are_not_stale() -> None:
    spec = importlib.util.spec_from_file_location("library_pages", ROOT / "docs" / "library.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    written = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    assert written == script.pages(), "run python docs/library.py"
    pictures = {path.stem for path in FOLDER.glob("*.png")}
    assert pictures == {name.removesuffix(".md") for name in written} - {"index"}
    assert (FOLDER / "status.svg").exists()


def test_the_readme_counts_the_instances() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"{len(list(entries()))} frozen instances of the six problems" in readme
