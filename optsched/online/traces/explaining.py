"""Which importer fits a file, found by trying each on its first rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from optsched.errors import InputError
from optsched.online.traces import FORMATS
from optsched.online.traces.cells import open_table
from optsched.online.traces.formats import LAYOUTS, specificity
from optsched.online.traces.importing import rows_of
from optsched.online.traces.trace import collect

MAX_TRIED_ROWS = 20_000


@dataclass(frozen=True)
class Explanation:
    """What an importer makes of a file.

    Attributes
    ----------
    name : str
        Its name in `FORMATS`.
    fits : bool
        Whether it finds jobs.
    reason : str
        How many of which columns, or why it is refused.
    rank : tuple
        Larger for importers that are made for such files.
    """

    name: str
    fits: bool
    reason: str
    rank: tuple[bool, int] = (False, 0)


def explain_trace(path: str | Path) -> list[Explanation]:
    """Try each importer on the first rows of a file, those that fit first."""
    explanations = []
    for name in FORMATS:
        try:
            trace = collect(islice(rows_of(name, [path]), MAX_TRIED_ROWS), str(path))
            columns, rank = _columns(name, path)
            kept = f"{trace.report.kept} of the first {trace.report.rows} rows are jobs"
            dropped = "; ".join(trace.report.reasons(trace.report.dropped))
            reason = kept + (f" (not {dropped})" if dropped else "") + columns
            explanations.append(Explanation(name, True, reason, rank))
        except InputError as error:
            reason = f"{error.where}: {error.message}" if error.where else error.message
            explanations.append(Explanation(name, False, reason))
    return sorted(explanations, key=lambda row: (not row.fits, not row.rank[0], -row.rank[1]))


def best_importer(explanations: Sequence[Explanation]) -> str | None:
    """The importer made for such files, else csv, else any that fits."""
    fitting = [row.name for row in explanations if row.fits]
    made_for_it = [row.name for row in explanations if row.fits and row.rank[0]]
    return next(iter([*made_for_it, *(["csv"] if "csv" in fitting else fitting)]), None)


def _columns(name: str, path: str | Path) -> tuple[str, tuple[bool, int]]:
    """The columns that an importer of tables uses, and its rank."""
    if name not in LAYOUTS:
        return "", (True, 0)
    table = open_table(path)
    used = ", ".join(f"{role}={table.header[at]}" for role, at in table.positions.items())
    return f"; columns {used}", specificity(name, table.positions)
