"""Single-job speed profiles as STS asks for them: all jobs of a GPU type in one compiled call."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optsched.selection.cost import Tables
from optsched.speed_profile.exact._hull_kernel import first_speeds
from optsched.uncertainty.survival import Curve, discrete_curve

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CurveBatch:
    """Survival curves of many jobs, one after another; see `first_speeds`."""

    knots: Floats
    high: Floats
    low: Floats
    start: NDArray[np.int64]

    @classmethod
    def of(cls, curves: list[Curve]) -> CurveBatch:
        """Lay curves out one after another."""
        sizes = [len(curve.high) for curve in curves]
        return cls(
            np.concatenate([curve.knots for curve in curves]),
            np.concatenate([curve.high for curve in curves]),
            np.concatenate([curve.low for curve in curves]),
            np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        )


@dataclass(frozen=True, eq=False)
class FirstSteps:
    """By job: GPUs of the first piece (index k - 1; -1 infeasible), least expected energy."""

    speed: NDArray[np.int64]
    energy: Floats


def curves_of(tables: Tables) -> CurveBatch:
    """F^c of every job's remaining epochs."""
    return CurveBatch.of([discrete_curve(work) for work in tables.works])


def first_steps(tables: Tables, curves: CurveBatch, kind: int) -> FirstSteps:
    """Solve (P3) for every job on the GPUs of one type, by its due date.

    The type's costs are those of its largest node (the cheapest of them for every k), so P(s_k)
    is c_nk and the energy is in dollars. Complexity: `hull_kernel.solve_profile` for each job.
    """
    most = tables.kinds[kind].gpus
    inverse = np.ascontiguousarray(tables.seconds[:, kind, :most])
    energy = np.where(np.isfinite(inverse), inverse, 0.0) * type_rates(tables, kind)
    usable = np.isfinite(tables.seconds[:, kind, 0])
    safe = np.where(usable[:, None], inverse, 1.0)
    speeds, costs = np.empty(len(safe), dtype=np.int64), np.empty(len(safe))
    first_speeds(
        curves.knots,
        curves.high,
        curves.low,
        curves.start,
        safe,
        energy,
        np.where(usable, deadlines(tables, kind), -1.0),
        speeds,
        costs,
    )
    return FirstSteps(speeds, costs)


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
