"""Method ``exact``: patterns if few or HiGHS is not the solver, else columns, as `chosen` says."""

from __future__ import annotations

from dataclasses import replace

from optsched.result import Outcome, Settings
from optsched.selection.cost import tables_of
from optsched.selection.instance import SelectionInstance
from optsched.selection.models.patterns import are_few, patterns
from optsched.selection.options import SelectionOptions

FEW_PATTERNS = 600
FEW_CLASSES = 6


def exact(instance: SelectionInstance, options: SelectionOptions, settings: Settings) -> Outcome:
    """Select resources optimally by whichever method fits, also in the time left.

    The compact model of patterns is the faster one where classes are few, too.
    """
    tables = tables_of(instance, options)
    few = len(tables.classes) <= FEW_CLASSES and are_few(tables, settings.deadline, FEW_PATTERNS)
    if few or settings.solver != "highs":
        return replace(patterns(instance, options, settings), chosen="patterns")
    from optsched.selection.exact.columns import columns

    return replace(columns(instance, options, settings), chosen="columns")
