"""What a predictor learns from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optsched.online.data.jobs import Jobs

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Examples:
    """Users, groups (as codes) and iterations of past jobs; nothing that tells the future."""

    user: NDArray[np.int32]
    group: NDArray[np.int32]
    iterations: NDArray[np.float64]
    users: int
    groups: int

    def __len__(self) -> int:
        return len(self.iterations)

    @classmethod
    def of(cls, jobs: Jobs) -> Examples:
        """Every row."""
        table = jobs.workload
        return cls(
            table.user.codes,
            table.group.codes,
            table.iterations,
            len(table.user.values),
            len(table.group.values),
        )

    def rows(self, chosen: Rows) -> Examples:
        """Some rows."""
        return Examples(
            self.user[chosen], self.group[chosen], self.iterations[chosen], self.users, self.groups
        )

    def first(self, count: int) -> Examples:
        """The first rows."""
        return self.rows(np.arange(count, dtype=np.int64))
