"""Every picture of the README and of the site is made by a command of the repository, and shown."""

import re
from pathlib import Path

from optsched.experiments import ARTEFACTS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BUILT = {"site", "_build"}


def _text(*patterns: str) -> str:
    paths = (path for pattern in patterns for path in ROOT.glob(pattern))
    return "\n".join(path.read_text(encoding="utf-8") for path in paths if "site" not in path.parts)


def test_each_picture_is_made_by_a_command_and_shown() -> None:
    pictures = [path for kind in ("png", "svg") for path in DOCS.rglob(f"*.{kind}")]
    pictures = [path for path in pictures if not BUILT & set(path.parts)]
    pages = _text("*.md", "models/**/*.md", "docs/**/*.md")
    scripts = _text("docs/*.py", "docs/beyond/*.py", "benchmarks/*.py")
    saved = {*re.findall(r'savefig\(\s*"([\w.-]+)"', pages)}
    drawn = {*re.findall(r"-o (?:docs/)?([\w.-]+\.png)", pages)}
    for path in pictures:
        assert path.name in pages, f"{path} is not shown"
        made = {
            "pictures": path.name in saved | drawn,
            "library": "draw_solution" in scripts and "draw_status" in scripts,
            "docs": path.name in drawn or path.stem in ARTEFACTS or path.stem in scripts,
        }
        assert made[path.parent.name], f"{path} is made by no command"
    assert len(pictures) > 40
