"""Pages of verdicts, such as docs/reproduction.md: a table, and a paragraph per failing claim."""

import re
from collections.abc import Mapping
from pathlib import Path

from optsched import __version__
from optsched.experiments.papers.artefact import Artefact, Finding, Verdict
from optsched.experiments.papers.artefacts import ARTEFACTS
from optsched.io.writing import write_text

COMMAND = "optsched reproduce all -o results --page docs/reproduction.md"
OTHERS = (
    ("a-srpt, Fig. 1", "three kinds of parallelism, drawn", "the job model of models/placement"),
    ("a-srpt, Fig. 2", "an example of a placement", "the instance placement/fig2"),
    ("a-srpt, Fig. 3", "the idea of A-SRPT, drawn", "models/online"),
    ("sjf-bco, Table 1", "notation", "models/makespan"),
    ("sjf-bco, Fig. 1", "a ring of three workers, drawn", "models/makespan"),
    ("sjf-bco, Fig. 2", "two ways to place two jobs", "the instance makespan/fig2"),
    ("sjf-bco, Fig. 3", "the idea of SJF-BCO, drawn", "models/makespan"),
    ("sts, Fig. 1", "the framework, drawn", "models/rolling"),
    ("sts, Tables I, II", "notation", "models/selection"),
    (
        "sts, Table III",
        "prices of GPUs by the hour",
        "what `optsched generate selection` draws from",
    ),
    ("sts, Table IV", "fractions of GPUs", "what `optsched generate selection` draws from"),
)
"""Tables and figures without a testable result, and where this package covers them."""
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


def write_page(path: str | Path, verdicts: Mapping[str, Verdict | None]) -> None:
    """Write the page; artefacts without a new verdict keep their text; raises InputError."""
    before = Path(path)
    write_text(path, page(verdicts, before.read_text("utf-8") if before.is_file() else ""))


def page(
    verdicts: Mapping[str, Verdict | None],
    previous: str = "",
    artefacts: Mapping[str, Artefact] = ARTEFACTS,
    head: tuple[str, ...] = HEAD,
    tail: tuple[str, ...] = TAIL,
) -> str:
    """The page as Markdown; `previous` is the old page."""
    rows, paragraphs = [], []
    for name, artefact in artefacts.items():
        verdict = verdicts.get(name)
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
