"""Write docs/reproduction.md: `python docs/reproduction.py results [--page FILE]`.

The page has a section for each table or figure whose verdict is in a folder that `optsched
reproduce` wrote to, and a table of all; the pictures go into a folder beside it, named as the page.
Sections of artefacts without a verdict there stay as they are.
"""

import argparse
import re
from collections.abc import Mapping
from pathlib import Path

from PIL import Image

from optsched.experiments.papers.artefact import Artefact
from optsched.experiments.papers.artefacts import ARTEFACTS, OTHERS, verdicts
from optsched.experiments.papers.verdict import Verdict

PAGE = Path(__file__).parent / "reproduction.md"
HEAD = """# Do the papers' claims hold?

Each table and figure of the three papers that states a result is run again by one command.
A claim is split into parts, and each part is tested in every setting that the paper leaves open:
a load, a speed-up, the cost of communication. The first table says how many parts hold in all of
their settings, and in how many settings a part holds, over all parts. The sections below say where
the parts hold, and why. Times and their ratios are those of one machine. The page is written by
`optsched reproduce all -o results; python docs/reproduction.py results`.
"""
TAIL = """## Tables and figures that state no result

These are drawings, notation or prices. The last column says where the package has them.

| table or figure | what it is | here |
|---|---|---|
""" + "\n".join(f"| {' | '.join(other)} |" for other in OTHERS)
COMMAND = "optsched reproduce"
COLOURS = 48
"""Of the page's copies of the pictures, which are a third as large so."""
OVERVIEW = ("claim", "verdict", "section")
PARTS = ("part of the claim", "paper", "ours, over the settings", "holds in")
LEGEND = (
    "✓ the part holds in this setting, ✗ it does not. A value is the median or the mean over the "
    "draws, with the smallest and the largest in brackets."
)


def main() -> None:
    """Write the page of a folder's verdicts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="what `optsched reproduce -o` wrote to")
    parser.add_argument("--page", type=Path, default=PAGE)
    arguments = parser.parse_args()
    write_page(arguments.page, Path(arguments.folder))


def write_page(
    target: Path,
    folder: Path,
    artefacts: Mapping[str, Artefact] = ARTEFACTS,
    head: str = HEAD,
    tail: str = TAIL,
    command: str = COMMAND,
) -> None:
    """Write the page of a folder's verdicts, and copy its pictures."""
    found = verdicts(folder, artefacts)
    before = target.read_text("utf-8") if target.is_file() else ""
    pictures = target.with_suffix("")
    text = page(found, before, artefacts, head, tail, pictures.name, command)
    target.write_text(text, encoding="utf-8")
    for name, verdict in found.items():
        if verdict is not None:
            pictures.mkdir(exist_ok=True)
            with Image.open(folder / f"{name}.png") as drawn:
                few = drawn.convert("RGB").quantize(COLOURS)
                few.save(pictures / f"{name}.png", optimize=True)


def page(
    found: Mapping[str, Verdict | None],
    previous: str = "",
    artefacts: Mapping[str, Artefact] = ARTEFACTS,
    head: str = HEAD,
    tail: str = TAIL,
    pictures: str = PAGE.stem,
    command: str = COMMAND,
) -> str:
    """The page as Markdown; `previous` is the old page, `pictures` the folder of its pictures."""
    rows, sections = [], []
    for name, artefact in artefacts.items():
        verdict = found.get(name)
        row, section = _old(artefact, previous)
        if verdict is not None:
            row, section = _row(artefact, verdict), _section(artefact, verdict, pictures, command)
        rows.append(row or f"| {artefact.claim} | not run | |")
        sections += [section, ""] if section else []
    table = [f"| {' | '.join(OVERVIEW)} |", "|---|---|---|", *rows]
    return "\n".join([head, *table, "", *sections, tail]).rstrip() + "\n"


def anchor(artefact: Artefact) -> str:
    """The link to an artefact's section."""
    return re.sub(r"[^\w\- ]", "", artefact.reference.lower()).replace(" ", "-")


def _old(artefact: Artefact, previous: str) -> tuple[str, str]:
    """An artefact's row and section on the old page; both empty if it has none."""
    reference = re.escape(artefact.reference)
    row = re.search(rf"^\|.*\| \[{reference}\]\(.*$", previous, re.MULTILINE)
    section = re.search(rf"^## {reference}\n.*?(?=^## |\Z)", previous, re.MULTILINE | re.DOTALL)
    return (row[0], section[0].rstrip()) if row and section else ("", "")


def _row(artefact: Artefact, verdict: Verdict) -> str:
    parts = verdict.parts
    everywhere = sum(part.holds == part.settings for part in parts)
    holds, settings = sum(part.holds for part in parts), sum(part.settings for part in parts)
    smoke = " (smoke)" if verdict.smoke else ""
    word = f"{everywhere} of {len(parts)} parts everywhere; {holds} of {settings} settings"
    word = word if verdict.is_testable else verdict.finding
    link = f"[{artefact.reference}](#{anchor(artefact)})"
    return f"| {artefact.claim} | {word}{smoke} | {link} |"


def _section(artefact: Artefact, verdict: Verdict, pictures: str, command: str) -> str:
    parts = [(part.claim, part.paper, part.ours, part.count) for part in verdict.parts]
    lines = [
        f"## {artefact.reference}",
        "",
        f"The claim: {artefact.claim}.",
        "",
        *_table((PARTS, *parts)),
        "",
        *([verdict.why, ""] if verdict.why else []),
        f"`{command} {artefact.name} -o results` ({artefact.runtime})",
        "",
        "<details><summary>Settings and spreads</summary>",
        "",
        *([verdict.fixed, ""] if verdict.fixed else []),
    ]
    if verdict.table:
        picture = f"![{artefact.reference}: each part by setting]({pictures}/{artefact.name}.png)"
        lines += [LEGEND, "", *_table(verdict.table), "", picture, ""]
    return "\n".join([*lines, "</details>"])


def _table(rows: tuple[tuple[str, ...], ...]) -> list[str]:
    head, *body = (" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows)
    return [f"| {head} |", "|" + "---|" * len(rows[0]), *(f"| {row} |" for row in body)]


if __name__ == "__main__":
    main()
