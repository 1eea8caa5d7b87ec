"""Write docs/reproduction.md: `python docs/reproduction.py results [--page FILE]`.

The page has a table of the verdicts in a folder that `optsched reproduce` wrote to, and a paragraph
for each claim that does not hold everywhere. Artefacts without a verdict there keep their text.
"""

import argparse
import re
from collections.abc import Mapping
from pathlib import Path

from optsched import __version__
from optsched.experiments.papers.artefact import Artefact, Finding, Verdict
from optsched.experiments.papers.artefacts import ARTEFACTS, OTHERS, verdicts

PAGE = Path(__file__).parent / "reproduction.md"
COMMAND = "optsched reproduce all -o results; python docs/reproduction.py results"
COLUMNS = ("artefact", "claim", "verdict", "paper", "ours", "spread", "setting", "runtime")
HEAD = (
    "# Do the papers' claims hold?",
    "",
    f"Written by `{COMMAND}`",
    f"(optsched {__version__}); do not edit. Each row is made again by",
    "`optsched reproduce NAME -o results`, which leaves a CSV, a PNG and a PDF there.",
)
TAIL = (
    "## Tables and figures that state no result",
    "",
    "| table or figure | what it is | here |",
    "|---|---|---|",
    *(f"| {' | '.join(other)} |" for other in OTHERS),
)


def main() -> None:
    """Write the page of a folder's verdicts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="what `optsched reproduce -o` wrote to")
    parser.add_argument("--page", type=Path, default=PAGE)
    arguments = parser.parse_args()
    before = arguments.page.read_text("utf-8") if arguments.page.is_file() else ""
    arguments.page.write_text(page(verdicts(arguments.folder), before), encoding="utf-8")


def page(
    found: Mapping[str, Verdict | None],
    previous: str = "",
    artefacts: Mapping[str, Artefact] = ARTEFACTS,
    head: tuple[str, ...] = HEAD,
    tail: tuple[str, ...] = TAIL,
) -> str:
    """The page as Markdown; `previous` is the old page."""
    rows, paragraphs = [], []
    for name, artefact in artefacts.items():
        verdict = found.get(name)
        row, section = _old(name, previous) if verdict is None else ("", [])
        rows.append(row or _row(artefact, verdict))
        paragraphs += section or _paragraph(verdict)
    table = [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}", *rows]
    return "\n".join([*head, "", *table, "", *paragraphs, *tail]).rstrip() + "\n"


def _old(name: str, previous: str) -> tuple[str, list[str]]:
    """An artefact's row and paragraph on the old page; both empty if it has none."""
    row = re.search(rf"^\| `{re.escape(name)}` \|.*$", previous, re.MULTILINE)
    section = re.search(
        rf"^## {re.escape(name)}: .*?(?=^## |\Z)", previous, re.MULTILINE | re.DOTALL
    )
    if row is None or "| not run |" in row[0]:
        return "", []
    return row[0], [section[0].rstrip(), ""] if section else []


def _row(artefact: Artefact, verdict: Verdict | None) -> str:
    cells = ("not run", "", "", "", "")
    if verdict is not None:
        word = f"{verdict.finding}{' (smoke)' if verdict.smoke else ''}"
        cells = (word, verdict.paper, verdict.ours, verdict.spread, verdict.setting)
    claim = f"{artefact.reference}: {artefact.claim}"
    row = (f"`{artefact.name}`", claim, *cells, artefact.runtime)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def _paragraph(verdict: Verdict | None) -> list[str]:
    if verdict is None or verdict.finding is Finding.HOLDS:
        return []
    return [f"## {verdict.artefact}: {verdict.finding}", "", verdict.paragraph, ""]


if __name__ == "__main__":
    main()
