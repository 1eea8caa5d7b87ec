"""Results of a store, to compare two sweeps."""

from pathlib import Path
from typing import Any

from optsched.experiments.store.store import COLUMNS, StoreReader

TIMES = ("build_time", "solve_time", "unit_time", "finished")
"""Columns that differ between two runs of one unit."""


def content(store: Path) -> list[tuple[Any, ...]]:
    """Every result without its times, by key: equal in two sweeps of the same plan."""
    columns = ", ".join(name for name in COLUMNS if name not in TIMES)
    with StoreReader(store) as base:
        return [
            (*row.values(),) for row in base.rows(f"SELECT {columns} FROM results ORDER BY key")
        ]
