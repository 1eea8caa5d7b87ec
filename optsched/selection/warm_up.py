"""Load compiled code before timing."""

from optsched.generators.selection import SelectionSettings, generate_selection
from optsched.result import Settings
from optsched.selection.heuristics.baselines import ordered_greedy
from optsched.selection.heuristics.dp import dp
from optsched.selection.heuristics.sts import sts
from optsched.selection.options import SelectionOptions


def warm_up() -> None:
    tiny = generate_selection(SelectionSettings(nodes=1, jobs=1, gpus_per_node=2))
    options, settings = SelectionOptions(), Settings()
    sts(tiny, options, settings)
    dp("dp", tiny, options, settings)
    ordered_greedy("edf", tiny, options, settings)
