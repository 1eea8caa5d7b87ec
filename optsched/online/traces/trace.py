"""What every importer yields, and the trace made of it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.errors import InputError
from optsched.online.data.workload import Labels

MOST_ROWS = 20_000_000
MOST_GPUS = 2**15
LATEST = 1e15


@dataclass(frozen=True)
class TraceRow:
    """One job of a trace; None where the trace has no value.

    Attributes
    ----------
    line : int
        Where it stands.
    submit, duration : float
        Seconds, on the trace's clock.
    gpus : float
        As asked for; may be fractional.
    iterations : float or None
        Where a trace states iterations and no duration.
    """

    line: int
    job_id: str
    submit: float | None
    duration: float | None
    gpus: float | None
    user: str = ""
    group: str = ""
    iterations: float | None = None


@dataclass(frozen=True)
class Rejected:
    """A row that could not be read."""

    line: int
    reason: str


@dataclass
class ImportReport:
    """What happened to a trace's rows: counts, and the first line of each kind."""

    rows: int = 0
    kept: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)
    first_line: dict[str, int] = field(default_factory=dict)

    def drop(self, reason: str, line: int) -> None:
        """Count a row that is left out."""
        self.dropped[reason] = self.dropped.get(reason, 0) + 1
        self.first_line.setdefault(reason, line)

    def change(self, reason: str, line: int) -> None:
        """Count a row that is kept in another form."""
        self.changed[reason] = self.changed.get(reason, 0) + 1
        self.first_line.setdefault(reason, line)

    def lines(self) -> list[str]:
        """The report, a line a fact."""
        made = [f"{self.rows} rows, {self.kept} kept"]
        for what, counts in (("dropped", self.dropped), ("changed", self.changed)):
            made += [
                f"{what} {count}: {reason} (first at line {self.first_line[reason]})"
                for reason, count in sorted(counts.items())
            ]
        return made

    def to_dict(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return {
            "rows": self.rows,
            "kept": self.kept,
            "dropped": dict(self.dropped),
            "changed": dict(self.changed),
            "first_line": dict(self.first_line),
        }


@dataclass(frozen=True)
class Trace:
    """The jobs of a trace, sorted by (submission, row); its first submission is at 0.

    Exactly one of `duration` and `iterations` of a row is positive.
    """

    name: str
    job_id: NDArray[np.object_]
    submit: NDArray[np.float64]
    duration: NDArray[np.float64]
    iterations: NDArray[np.float64]
    gpus: NDArray[np.int64]
    user: Labels
    group: Labels
    report: ImportReport

    def __len__(self) -> int:
        return len(self.submit)

    def take(self, rows: NDArray[np.int64]) -> Trace:
        """Some rows, in time order; the first of them is submitted at 0."""
        return Trace(
            self.name,
            self.job_id[rows],
            self.submit[rows] - self.submit[rows[0]],
            self.duration[rows],
            self.iterations[rows],
            self.gpus[rows],
            self.user.take(rows),
            self.group.take(rows),
            self.report,
        )


def collect(rows: Iterable[TraceRow | Rejected], source: str) -> Trace:
    """Apply the rules to rows as they stream by. O(n log n) time, about 200 bytes per row."""
    report, kept, last = ImportReport(), [], -math.inf
    for row in rows:
        report.rows += 1
        if report.rows > MOST_ROWS:
            raise InputError(source, "", "more rows", f"at most {MOST_ROWS}")
        if isinstance(row, Rejected):
            report.drop(row.reason, row.line)
            continue
        reason = _fault(row)
        if reason is not None:
            report.drop(reason, row.line)
            continue
        submit, gpus = float(row.submit or 0.0), float(row.gpus or 0.0)
        if gpus != math.floor(gpus):
            report.change("fractional GPUs rounded up", row.line)
        if submit < last:
            report.change("submitted before the row above; sorted", row.line)
        last = submit
        kept.append((row, submit, math.ceil(gpus)))
    if not kept:
        raise InputError(source, "", f"no usable job in {report.rows} rows", "at least one job")
    report.kept = len(kept)
    return _trace(kept, source, report)


def _fault(row: TraceRow) -> str | None:
    if row.submit is None or not 0 <= row.submit <= LATEST:
        return "no submission time"
    if row.gpus is None or not math.isfinite(row.gpus) or row.gpus < 0:
        return "no number of GPUs"
    if row.gpus == 0:
        return "0 GPUs"
    if row.gpus > MOST_GPUS:
        return f"more than {MOST_GPUS} GPUs"
    if row.iterations is not None:
        return None if 0 < row.iterations <= LATEST else "no positive number of iterations"
    if row.duration is None or not math.isfinite(row.duration):
        return "no duration"
    return None if 0 < row.duration <= LATEST else "no positive duration"


def _trace(kept: list[tuple[TraceRow, float, int]], source: str, report: ImportReport) -> Trace:
    kept.sort(key=lambda each: each[1])  # stable: ties stay in row order
    first = kept[0][1]
    seen: dict[str, int] = {}
    names = []
    for row, _, _ in kept:
        count = seen[row.job_id] = seen.get(row.job_id, 0) + 1
        if count > 1:
            report.change("job id met before; a number added", row.line)
        names.append(row.job_id if count == 1 else f"{row.job_id}#{count}")
    return Trace(
        source,
        np.array([_clean(name) for name in names], dtype=object),
        np.array([submit - first for _, submit, _ in kept]),
        np.array([0.0 if row.iterations is not None else row.duration for row, _, _ in kept]),
        np.array([row.iterations or 0.0 for row, _, _ in kept]),
        np.array([gpus for _, _, gpus in kept], dtype=np.int64),
        Labels.of([_clean(row.user) for row, _, _ in kept]),
        Labels.of([_clean(row.group) for row, _, _ in kept]),
        report,
    )


def _clean(text: str) -> str:
    return "".join(c for c in text if c.isprintable())[:200]
