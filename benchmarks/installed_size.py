"""Installed size: `python benchmarks/installed_size.py`, in an environment with every extra.

Follows the requirements that the installed packages declare and sums the files they list: the base
set, and what each extra adds to it. Extras that are not installed are left out.
"""

import re
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
OURS = "optsched"


def main() -> None:
    """Print megabytes and the number of packages: the base, then each extra beyond it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    base = closure(project["dependencies"], extras)
    print(f"{'part':12} {'MB':>8} {'packages':>9}")
    print(f"{'base':12} {megabytes(base):8.0f} {len(base):9}")
    for name, wanted in extras.items():
        added = closure(wanted, extras)
        shown = {key: found for key, found in added.items() if key not in base}
        if None in added.values():
            print(f"{name:12} not installed")
        else:
            print(f"{name:12} {'+' + format(megabytes(shown), '.0f'):>8} {len(shown):9}")


def closure(wanted: list[str], extras: dict[str, list[str]]) -> dict[str, Distribution | None]:
    """Every package that requirements bring, by its canonical name; None if it is not there."""
    found: dict[str, Distribution | None] = {}
    todo = [Requirement(text) for text in wanted]
    while todo:
        requirement = todo.pop()
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        if name == OURS:
            todo += [Requirement(text) for extra in requirement.extras for text in extras[extra]]
            continue
        if name in found:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            found[name] = None
            continue
        todo += [
            inner
            for inner in map(Requirement, found[name].requires or [])
            if inner.marker is None
            or any(inner.marker.evaluate({"extra": e}) for e in requirement.extras or {""})
        ]
    return found


def megabytes(packages: dict[str, Distribution | None]) -> float:
    """Size of the files that packages list."""
    files = [
        path
        for found in packages.values()
        if found is not None
        for entry in found.files or []
        if (path := Path(str(found.locate_file(entry)))).is_file()
    ]
    return sum(path.stat().st_size for path in set(files)) / 1e6


if __name__ == "__main__":
    main()
