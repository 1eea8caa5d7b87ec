"""Reading how many epochs real training runs took to reach a target.

The file is a CSV, plain or gzipped, with a heading that names at least ``network`` and
``target_epoch``; other columns (dataset, batch_size, optimizer, learning_rate, run, target_metric)
can be grouped by. A run that never reached its target has an empty or non-finite epoch: it is
counted, and left out of the distribution, which is therefore that of the runs that did.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from optsched.errors import InputError, shown
from optsched.selection.distribution import Distribution

LARGEST_TEXT = 256 * 2**20


@dataclass(frozen=True)
class EpochSamples:
    """Runs of one group: its key, epochs of those that reached the target, and how many did not."""

    key: tuple[str, ...]
    epochs: tuple[float, ...]
    unfinished: int

    @property
    def distribution(self) -> Distribution:
        """The empirical distribution of the epochs."""
        return Distribution.from_samples(self.epochs)


def read_epoch_samples(
    path: str | Path, by: Sequence[str] = ("dataset", "network")
) -> list[EpochSamples]:
    """Read a file of samples, grouped by columns, groups in the order of their keys.

    Raises
    ------
    InputError
        If the file cannot be read or a row cannot be used; with its line.
    """
    rows = csv.DictReader(io.StringIO(_text(Path(path))))
    missing = {*by, "target_epoch"} - set(rows.fieldnames or ())
    if missing:
        expected = f"the columns {', '.join((*by, 'target_epoch'))}"
        raise InputError(str(path), "line 1", f"no {', '.join(sorted(missing))}", expected)
    epochs: dict[tuple[str, ...], list[float]] = defaultdict(list)
    unfinished: dict[tuple[str, ...], int] = defaultdict(int)
    for row in rows:
        key = tuple(str(row[column]) for column in by)
        value = _epoch(row["target_epoch"], str(path), rows.line_num)
        if value is None:
            unfinished[key] += 1
        else:
            epochs[key].append(value)
    keys = sorted({*epochs, *unfinished})
    return [EpochSamples(key, tuple(epochs[key]), unfinished[key]) for key in keys]


def _epoch(text: str | None, source: str, line: int) -> float | None:
    try:
        value = float(text) if text else math.inf
    except ValueError:
        value = -1.0
    if not math.isfinite(value):
        return None
    if value <= 0:
        raise InputError(source, f"line {line}", shown(text), "a positive number of epochs")
    return value


def _text(path: Path) -> str:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            raw = stream.read(LARGEST_TEXT + 1)
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(str(path), "", reason, "a readable CSV file") from None
    if len(raw) > LARGEST_TEXT:
        raise InputError(str(path), "", "a larger file", f"at most {LARGEST_TEXT} bytes of text")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(str(path), f"byte {error.start}", "no UTF-8", "UTF-8 text") from None
