"""The workload table: one row a job, in columns, as `Workload` describes them.

Text columns are kept as codes into a list of distinct values. Reading and writing:
`optsched.online.data.workload_files`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.arrays import Floats, Ints
from optsched.errors import InputError

Codes = NDArray[np.int32]
COLUMNS = ("job_id", "submit_time", "gpus", "iterations", "user", "group", "model")
OPTIONAL = WALLTIME, START = "walltime", "start_time"
"""Optional columns, of numbers; NaN for a job without one."""
RANGES = {
    "submit_time": (-1e15, 1e15, "a finite number of seconds"),
    "gpus": (1, 2**24, "an integer in [1, 16777216]"),
    "iterations": (5e-324, 1e18, "a number in (0, 1e18]"),
    WALLTIME: (5e-324, 1e15, "seconds in (0, 1e15]"),
    START: (-1e15, 1e15, "a finite number of seconds"),
}
"""Smallest and largest number of each column, and their description; 5e-324: positive."""


@dataclass(frozen=True)
class Labels:
    """A text column: the code of each row, and the distinct values in order of appearance."""

    codes: Codes
    values: tuple[str, ...]

    @classmethod
    def of(cls, column: Sequence[str]) -> Labels:
        code_of: dict[str, int] = {}
        codes = (code_of.setdefault(value, len(code_of)) for value in column)
        return cls(np.fromiter(codes, np.int32, len(column)), tuple(code_of))

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Ints) -> Labels:
        return Labels(self.codes[rows], self.values)

    def text(self) -> list[str]:
        return [self.values[code] for code in self.codes]


@dataclass(frozen=True)
class Workload:
    """Jobs in file order.

    Attributes
    ----------
    name : str
        Workload name or source.
    job_id : (n,) array of str
        Names, distinct.
    submit_time : (n,) float
        Submission times in seconds, from any origin.
    gpus : (n,) int
        g, GPUs of the job (gang-scheduled).
    iterations : (n,) float
        n, positive, real and never rounded.
    user, group, model : Labels
        User, recurring job, key of a configuration of the catalogue.
    walltime : (n,) float or None
        The user's estimate, seconds; NaN if there is none. `easy` uses it.
    start_time : (n,) float or None
        When the job really started, on the clock of `submit_time`; NaN if unknown.
    """

    name: str
    job_id: NDArray[np.object_]
    submit_time: Floats
    gpus: Ints
    iterations: Floats
    user: Labels
    group: Labels
    model: Labels
    walltime: Floats | None = None
    start_time: Floats | None = None

    def __post_init__(self) -> None:
        # pandas gives read-only columns, for which numba would compile every loop once more
        for name in ("submit_time", "gpus", "iterations", *OPTIONAL):
            if (column := getattr(self, name)) is not None:
                object.__setattr__(self, name, np.require(column, requirements="W"))

    def __len__(self) -> int:
        return len(self.submit_time)

    @classmethod
    def of(
        cls,
        *,
        submit_time: Sequence[float],
        gpus: Sequence[int],
        iterations: Sequence[float],
        model: Sequence[str],
        user: Sequence[str] | None = None,
        group: Sequence[str] | None = None,
        job_id: Sequence[str] | None = None,
        walltime: Sequence[float | None] | None = None,
        start_time: Sequence[float | None] | None = None,
        name: str = "workload",
    ) -> Workload:
        """Create a workload of columns as above; raises InputError for numbers out of range.

        By default there is one user, a group per model, and ids j0, j1, ...; None or NaN is a job
        without a walltime or a real start.

        Examples
        --------
        >>> columns = {"submit_time": [0.0, 5.0], "gpus": [1, 8], "iterations": [100.0, 20.5]}
        >>> Workload.of(**columns, model=["VGG19-1", "VGG19-8"]).job_id.tolist()
        ['j0', 'j1']
        """
        rows = len(submit_time)
        workload = cls(
            name,
            np.array([f"j{i}" for i in range(rows)] if job_id is None else job_id, dtype=object),
            np.asarray(submit_time, dtype=np.float64),
            np.asarray(gpus, dtype=np.int64),
            np.asarray(iterations, dtype=np.float64),
            Labels.of(user if user is not None else ["u"] * rows),
            Labels.of(group if group is not None else list(model)),
            Labels.of(model),
            optional_numbers(walltime),
            optional_numbers(start_time),
        )
        workload.check()
        return workload

    def columns(self) -> dict[str, Any]:
        """The columns that the table has, by name."""
        columns = {name: getattr(self, name) for name in (*COLUMNS, *OPTIONAL)}
        return {name: column for name, column in columns.items() if column is not None}

    def lists(self) -> dict[str, list[Any]]:
        """The columns as lists of texts and numbers, None for a job without a number."""
        lists: dict[str, list[Any]] = {
            name: column.text() if isinstance(column, Labels) else column.tolist()
            for name, column in self.columns().items()
        }
        for name in lists.keys() & {*OPTIONAL}:
            lists[name] = [None if isnan(value) else value for value in lists[name]]
        return lists

    def check(self) -> None:
        """Raise InputError for columns of unequal lengths and numbers out of range."""
        columns = self.columns()
        if any(len(column) != len(self) for column in columns.values()):
            raise InputError(self.name, "", "columns of unequal lengths", "one value a job each")
        for name in (name for name in RANGES if name in columns):
            (low, high, expected), values = RANGES[name], columns[name]
            valid = (values >= low) & (values <= high)
            if name in OPTIONAL:
                valid |= np.isnan(values)
            if name == START:
                valid &= ~(values < self.submit_time)
                expected += " from the submission on"
            if not valid.all():
                row = int(np.argmin(valid))
                raise InputError(self.name, f"row {row + 1}: {name}", f"{values[row]}", expected)

    def rows(self, chosen: Ints) -> Workload:
        return replace(self, **{name: column[chosen] for name, column in self.columns().items()})

    def in_row_order(self) -> Workload:
        """Sorted by (submit_time, row): the order that all ties refer to."""
        if len(self) < 2 or bool((np.diff(self.submit_time) >= 0).all()):
            return self
        return self.rows(np.argsort(self.submit_time, kind="stable").astype(np.int64))

    def named(self, name: str) -> Workload:
        """The same jobs under another name."""
        return replace(self, name=name)


def optional_numbers(column: Sequence[float | None] | Floats | None) -> Floats | None:
    """The column as numbers, NaN for None; None for a column without a value."""
    if column is None:
        return None
    values = np.array(column, dtype=np.float64)
    return None if np.isnan(values).all() else values
