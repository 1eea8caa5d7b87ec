"""docs/reproduction.md: the verdict table, and a paragraph for each claim that fails."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from optsched import __version__
from optsched.experiments.artefacts import ARTEFACTS, Artefact
from optsched.experiments.verdict import Finding, Verdict
from optsched.files import write_text

COMMAND = "optsched reproduce all -o results --page docs/reproduction.md"
COLUMNS = ("artefact", "claim", "verdict", "paper", "ours", "spread", "setting", "runtime")


def write_page(path: str | Path, verdicts: Mapping[str, Verdict | None]) -> None:
    """Write the page; raises InputError."""
    write_text(path, page(verdicts))


def page(verdicts: Mapping[str, Verdict | None]) -> str:
    """The page as Markdown."""
    lines = [
        "# Do the papers' claims hold?",
        "",
        f"Written by `{COMMAND}` (optsched {__version__}); do not edit. Each row is made again by",
        "`optsched reproduce NAME -o results`, which leaves a CSV, a PNG and a PDF there.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        f"|{'---|' * len(COLUMNS)}",
        *(_row(artefact, verdicts.get(name)) for name, artefact in ARTEFACTS.items()),
        "",
    ]
    for name in ARTEFACTS:
        lines += _paragraph(verdicts.get(name))
    return "\n".join(lines).rstrip() + "\n"


def _row(artefact: Artefact, verdict: Verdict | None) -> str:
    found = ("not run", "", "", "", "")
    if verdict is not None:
        word = f"{verdict.finding}{' (smoke)' if verdict.smoke else ''}"
        found = (word, verdict.paper, verdict.ours, verdict.spread, verdict.setting)
    where = f"{artefact.where}: " if artefact.where else ""
    cells = (f"`{artefact.name}`", f"{where}{artefact.claim}", *found, artefact.runtime)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _paragraph(verdict: Verdict | None) -> list[str]:
    if verdict is None or verdict.finding is Finding.HOLDS:
        return []
    return [f"## {verdict.artefact}: {verdict.finding}", "", verdict.paragraph, ""]
