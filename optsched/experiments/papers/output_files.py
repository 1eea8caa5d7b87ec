"""What an artefact leaves in its folder: a CSV of its rows, its text, its picture, its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched.experiments.papers.pictures import save
from optsched.experiments.papers.verdict import Verdict, write_verdict
from optsched.writing import csv_text, write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def leave(
    folder: Path, verdict: Verdict, lines: Sequence[str], rows: Sequence[Any], figure: Figure
) -> str:
    """Write ``NAME.csv``, ``.md``, ``.png``, ``.pdf`` and ``.verdict.json``; returns the text.

    Parameters
    ----------
    folder : Path
        Where they go.
    verdict : Verdict
        It names the artefact.
    lines : sequence of str
        The text, Markdown.
    rows : sequence of dataclass instances of one type
        The CSV; its columns are their fields.
    figure : Figure
        The picture.

    Raises
    ------
    InputError
        If the folder cannot be written.
    """
    name, text = verdict.artefact, "\n".join(lines)
    write_rows(folder, name, rows)
    write_text(folder / f"{name}.md", text + "\n")
    save(figure, folder, name)
    write_verdict(folder, verdict)
    return text


def write_rows(folder: Path, name: str, rows: Sequence[Any]) -> None:
    """Data class instances of one type as ``NAME.csv``: a column a field."""
    write_csv(folder, name, [f.name for f in fields(rows[0])], [astuple(row) for row in rows])


def write_csv(
    folder: Path, name: str, header: Sequence[str], rows: Sequence[Sequence[object]]
) -> None:
    """A table as ``NAME.csv``."""
    write_text(folder / f"{name}.csv", csv_text(header, rows))
