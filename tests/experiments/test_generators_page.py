"""docs/generators.md is what its script writes from the generators as they are."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_not_stale() -> None:
    place = ROOT / "docs" / "generators.py"
    spec = importlib.util.spec_from_file_location("generators_page", place)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    page = (ROOT / "docs" / "generators.md").read_text(encoding="utf-8")
    assert page == script.page(), "run python docs/generators.py"
