"""Single-job speed profiles as STS asks for them: all jobs of a GPU type in one compiled call."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from optsched.selection.cost import Tables
from optsched.speed_profile.exact._hull_kernel import FirstPieces, Speeds, first_pieces
from optsched.uncertainty.survival import Curves

Floats = NDArray[np.float64]


def first_steps(
    tables: Tables,
    curves: Curves,
    kind: int,
    least: NDArray[np.int64] | None = None,
    shortest: float = 0.0,
) -> FirstPieces:
    """Solve (P3) for every job on the GPUs of one type, by its due date; speed k - 1 is k GPUs.

    The type's costs are those of its largest node (the cheapest of them for every k), so P(s_k)
    is c_nk and the energy is in dollars. Speeds below ``least`` and first pieces of less than
    ``shortest`` seconds are left out. Complexity: `solve_profile` for each job.
    """
    most, jobs = tables.kinds[kind].gpus, tables.jobs
    inverse = np.ascontiguousarray(tables.seconds[:, kind, :most])
    energy = np.where(np.isfinite(inverse), inverse, 0.0) * type_rates(tables, kind)
    usable = np.isfinite(tables.seconds[:, kind, 0])
    first_pieces(
        curves,
        Speeds(np.where(usable[:, None], inverse, 1.0), energy),
        np.where(usable, deadlines(tables, kind), -1.0),
        np.zeros(jobs, dtype=np.int64) if least is None else least,
        shortest,
        found := FirstPieces(np.empty(jobs, dtype=np.int64), np.empty(jobs), np.empty(jobs)),
    )
    return found


def deadlines(tables: Tables, kind: int) -> Floats:
    """Seconds to each due date; to the fastest completion where only rounding makes that late."""
    fastest = tables.worst[:, kind, : tables.kinds[kind].gpus].min(axis=1)
    missed = (fastest > tables.due) & (fastest <= tables.in_time)
    return np.where(missed, fastest, tables.due)


def type_rates(tables: Tables, kind: int) -> Floats:
    """Dollars per second with 1..K GPUs of a type: those of its largest node, the cheapest one."""
    most = tables.kinds[kind].gpus
    rates = [c.cost_rate for c in tables.classes if c.kind == kind and c.gpus == most]
    return np.array(min(rates))
