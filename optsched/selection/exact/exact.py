"""Method ``exact``: patterns while they are few, else columns; the outcome says which it was."""

from __future__ import annotations

from dataclasses import replace

from optsched.backends.sizes import MOST_NONZEROS, fits
from optsched.result import Outcome, Settings
from optsched.selection.cost import Tables, tables_of
from optsched.selection.exact.packings import maximal_fills
from optsched.selection.exact.patterns import MOST_FILLS, nonzeros, pattern_count, patterns
from optsched.selection.instance import SelectionInstance
from optsched.selection.options import SelectionOptions

FEW_PATTERNS = 600
FEW_CLASSES = 6


def exact(instance: SelectionInstance, options: SelectionOptions, settings: Settings) -> Outcome:
    """Select resources optimally by whichever method fits, also in the time left."""
    tables = tables_of(instance, options)
    size = nonzeros(tables)
    small = size <= MOST_NONZEROS and fits(settings.deadline, 2 * size)
    if settings.solver != "highs" or (small and prefers_patterns(tables)):
        return replace(patterns(instance, options, settings), chosen="patterns")
    from optsched.selection.exact.columns import columns

    return replace(columns(instance, options, settings), chosen="columns")


def prefers_patterns(tables: Tables) -> bool:
    """Few patterns of few classes: where the compact model is the faster one."""
    few = len(tables.classes) <= FEW_CLASSES and pattern_count(tables) <= FEW_PATTERNS
    return few and all(
        maximal_fills(tuple(kind.configurations[c].fraction for c in kind.fractions), MOST_FILLS)
        is not None
        for kind in tables.kinds
    )
