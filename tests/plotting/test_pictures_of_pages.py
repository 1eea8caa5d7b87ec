"""Every picture of the README and of the site is made by a command of the repository, and shown."""

from __future__ import annotations

import re
from pathlib import Path

from optsched.experiments import ARTEFACTS

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "models").rglob("*.md"), *(ROOT / "docs").rglob("*.md")]
SCRIPTS = [
    path
    for folder in ("docs", "docs/beyond", "benchmarks")
    for path in (ROOT / folder).glob("*.py")
]


def test_each_picture_is_made_by_a_command_and_shown() -> None:
    docs = ROOT / "docs"
    found = [path for kind in ("png", "svg") for path in docs.rglob(f"*.{kind}")]
    found = [path for path in found if not {"site", "_build"} & set(path.parts)]
    pages = "\n".join(
        path.read_text(encoding="utf-8") for path in PAGES if "site" not in path.parts
    )
    scripts = "\n".join(path.read_text(encoding="utf-8") for path in SCRIPTS)
    saved = set(re.findall(r'savefig\(\s*"([\w.-]+)"', pages))
    drawn = set(re.findall(r"-o (?:docs/)?([\w.-]+\.png)", pages))
    for path in found:
        name, where = path.name, path.parent.name
        assert name in pages, f"{path} is not shown"
        made = {
            "pictures": name in saved | drawn,
            "library": "draw_solution" in scripts and "draw_status" in scripts,
            "docs": name in drawn
            or path.stem in ARTEFACTS
            or f'name="{path.stem}"' in scripts
            or name in scripts,
        }
        assert made[where], f"{path} is made by no command"
    assert len(found) > 40
