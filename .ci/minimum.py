"""Print pyproject's own lower bounds as pip constraints: ``name>=x`` becomes ``name==x``.

Of the package's dependencies and of every extra, so that an install under these constraints is the
oldest one the project says it runs on. A dependency without a lower bound is an error.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"
NOTEBOOKS = {"ipykernel", "ipywidgets", "jupyterlab", "nbclient", "nbformat"}
SKIPPED = {"mypy", "ruff", "pandas-stubs", *NOTEBOOKS}
"""Of the linters' and the notebooks' steps alone."""


def main() -> None:
    """Print a constraint a line."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    extras = [entry for extra in project["optional-dependencies"].values() for entry in extra]
    for entry in sorted({*project["dependencies"], *extras}):
        name = re.match(r"[A-Za-z0-9._-]+", entry)
        assert name is not None, entry
        if name.group() in SKIPPED or name.group() == project["name"]:
            continue
        lower = re.fullmatch(r"[A-Za-z0-9._-]+>=([0-9.]+)(?:,<[0-9.]+)?", entry)
        if lower is None:
            raise SystemExit(f"{PYPROJECT}: {entry!r} has no lower bound of its own")
        print(f"{name.group()}=={lower.group(1)}")


if __name__ == "__main__":
    main()
