"""Reading how many epochs real training runs took to reach a target.

The file is a CSV, plain or gzipped, with a row per run and a heading that names at least
``dataset``, ``network`` and ``target_epoch``. Runs are grouped by data set, network and, where the
file has it, ``target_metric``, or by other columns (batch_size, optimizer, learning_rate, run). A
run that never reached its target has an empty or non-finite epoch: it is counted, and left out of
the distribution, which is therefore that of the runs that did.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from optsched.errors import InputError, shown
from optsched.io.numerals import parse_real
from optsched.io.reading import csv_rows
from optsched.uncertainty.distribution import Distribution

MAX_FILE_BYTES = 256 * 2**20
UNFINISHED_MARKERS = ("", "nan", "inf")


@dataclass(frozen=True)
class EpochSamples:
    """Runs of one group: its key, epochs of those that reached the target, and how many did not."""

    key: tuple[str, ...]
    epochs: tuple[float, ...]
    unfinished: int

    @property
    def distribution(self) -> Distribution:
        return Distribution.from_samples(self.epochs)


def read_epoch_samples(path: str | Path, by: Sequence[str] | None = None) -> list[EpochSamples]:
    """Read a file of samples, grouped by columns, groups in the order of their keys."""
    rows = csv_rows(path, max_bytes=MAX_FILE_BYTES)
    _, header = next(rows, (1, []))
    if by is None:
        by = ("dataset", "network", *(name for name in header if name == "target_metric"))
    missing = {*by, "target_epoch"} - set(header)
    if missing:
        expected = f"the columns {', '.join((*by, 'target_epoch'))}"
        raise InputError(str(path), "line 1", f"no {', '.join(sorted(missing))}", expected)
    epochs: dict[tuple[str, ...], list[float]] = defaultdict(list)
    unfinished: dict[tuple[str, ...], int] = defaultdict(int)
    for line, cells in rows:
        if len(cells) != len(header):
            found, expected = f"{len(cells)} cells", f"{len(header)}, as in line 1"
            raise InputError(str(path), f"line {line}", found, expected)
        row = dict(zip(header, cells, strict=True))
        key = tuple(row[column] for column in by)
        value = _epoch(row["target_epoch"], str(path), line)
        if value is None:
            unfinished[key] += 1
        else:
            epochs[key].append(value)
    keys = sorted({*epochs, *unfinished})
    return [EpochSamples(key, tuple(epochs[key]), unfinished[key]) for key in keys]


def _epoch(text: str, source: str, line: int) -> float | None:
    if text.lower() in UNFINISHED_MARKERS:
        return None
    value = parse_real(text)
    if value is None or value <= 0:
        raise InputError(source, f"line {line}", shown(text), "a positive number of epochs")
    return value
