"""What docs/reproduction.md states of a figure, setting by setting."""

import re

from processes import ROOT


def stated_at(reference: str, place: str) -> dict[tuple[str, str], str]:
    """Values at a place by claim and setting, from the folded table of a figure's section."""
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    section = page.partition(f"\n## {reference}\n")[2].partition("\n## ")[0]
    table = section[section.index("| claim | setting |") :]
    lines = re.findall(r"^\| (.*) \|$", table, re.MULTILINE)
    head, *rows = ([cell.strip() for cell in line.split(" | ")] for line in lines)
    column = head.index(place)
    return {(row[0], row[1]): row[column] for row in rows}
