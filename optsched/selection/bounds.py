"""A lower bound on the expected cost for every row of a table: prices after a few rounds.

The bound is the price certificate of `columns` after some rounds of column generation, so it holds
whatever their number. Complexity: a linear programme a round.
"""

from __future__ import annotations

import time

import numpy as np

from optsched.errors import NotApplicableError
from optsched.result import Settings
from optsched.selection.arc_arrays import skeleton_of
from optsched.selection.columns import Clock, generate_columns
from optsched.selection.cost import Tables, tables_of
from optsched.selection.grouping import grouped_classes
from optsched.selection.instance import SelectionInstance
from optsched.selection.options import SelectionOptions

ROUNDS = 12


def quick_bound(instance: SelectionInstance, options: SelectionOptions) -> tuple[float, str]:
    """The bound in dollars, and where it comes from."""
    tables = tables_of(instance, options)
    try:
        skeleton = skeleton_of(tables, grouped_classes(tables))
    except NotApplicableError:
        return tardiness_bound(tables), "least tardiness of each job"
    settings = Settings(iterations=ROUNDS, gap=1e-4)
    found = generate_columns(skeleton, settings, Clock(time.perf_counter(), None))
    return max(found.bound, 0.0), f"price certificate after {found.rounds} rounds"


def tardiness_bound(tables: Tables) -> float:
    """Each job postponed or at its least expected tardiness, energy left out."""
    least = tables.late.reshape(tables.jobs, -1).min(axis=1)
    return float(np.minimum(least, tables.postponed).sum())
