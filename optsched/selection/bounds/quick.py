"""A lower bound on the expected cost for every row of a table: prices after a few rounds.

The bound is the price certificate of `columns` after some rounds of column generation, so it holds
whatever their number. Complexity: a linear programme a round.
"""

from __future__ import annotations

from optsched.deadline import Deadline
from optsched.errors import NotApplicableError
from optsched.result import Settings
from optsched.selection.bounds.price_search import best_prices
from optsched.selection.cost import tables_of
from optsched.selection.exact.grouping import grouped_classes
from optsched.selection.instance import SelectionInstance
from optsched.selection.models.arcs import skeleton_of
from optsched.selection.models.outcomes import TARDINESS, tardiness_bound
from optsched.selection.options import SelectionOptions

ENOUGH = 5e-6
"""Relative distance from the best bound that prices prove."""


def quick_bound(
    instance: SelectionInstance, options: SelectionOptions, deadline: Deadline | None = None
) -> tuple[float, str]:
    """The bound in dollars, and where it comes from: least tardiness once the deadline passed."""
    tables, deadline = tables_of(instance, options), deadline or Deadline()
    if deadline.is_over:
        return tardiness_bound(tables), TARDINESS
    try:
        skeleton = skeleton_of(tables, grouped_classes(tables))
    except NotApplicableError:
        return tardiness_bound(tables), TARDINESS
    found = best_prices(skeleton, Settings().within(deadline), ENOUGH)
    if found.rounds == 0:
        return tardiness_bound(tables), TARDINESS
    return max(found.bound, 0.0), f"price certificate after {found.rounds} rounds"
