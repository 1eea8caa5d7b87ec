"""Parts of artefacts that are run again, and what docs/reproduction.md states of them."""

import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from processes import ROOT

from optsched import read_store
from optsched.experiments.papers.artefact import STORE, Artefact, Scale
from optsched.experiments.plans.plan import Family, Plan
from optsched.experiments.run.runner import sweep
from optsched.external import module_of


def families_of(artefact: Artefact, start: str, scale: Scale) -> list[Family]:
    families = artefact.plan(scale) if artefact.plan else []
    return [family for family in families if family.name.startswith(start)]


def rows_of(
    artefact: Artefact, families: Sequence[Family], folder: Path, scale: Scale | None = None
) -> pd.DataFrame:
    names = {name for family in families for name in (*family.methods, family.generator or "")}
    allow = {module for name in names if (module := module_of(name)) is not None}
    sweep(Plan("p", tuple(families), "", "test"), folder / STORE, workers=0, allow=allow)
    return artefact.rows(read_store(folder / STORE), scale or Scale())


def stated_at(reference: str, place: str) -> dict[tuple[str, str], str]:
    """Values at a place by claim and setting, from the folded table of a figure's section."""
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    section = page.partition(f"\n## {reference}\n")[2].partition("\n## ")[0]
    table = section[section.index("| claim | setting |") :]
    lines = re.findall(r"^\| (.*) \|$", table, re.MULTILINE)
    head, *rows = ([cell.strip() for cell in line.split(" | ")] for line in lines)
    column = head.index(place)
    return {(row[0], row[1]): row[column] for row in rows}


def measured_and_stated(
    artefact: Artefact, start: str, place: str, folder: Path
) -> tuple[dict[tuple[str, str], str], dict[tuple[str, str], str]]:
    """What the families whose names start so give, and what the page has of it at a place."""
    page = stated_at(artefact.reference, place)
    rows = rows_of(artefact, families_of(artefact, start, Scale()), folder)
    table = artefact.judge(rows, Scale()).table[1:]
    measured = {(claim, world): value for claim, world, value in table}
    assert measured
    return measured, {key: page[key] for key in measured}
