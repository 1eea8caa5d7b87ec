"""Pictures of instances, solutions and results: one function a picture, each returns its Axes.

They need matplotlib: ``pip install 'optsched[plot]'``.
"""

from optsched.plotting.breakdown import plot_breakdown
from optsched.plotting.gaps import plot_excess, plot_gaps
from optsched.plotting.makespan import plot_contention, plot_gantt, plot_sweep
from optsched.plotting.online import plot_flow, plot_queue, plot_utilisation
from optsched.plotting.placement import plot_placement
from optsched.plotting.rolling import (
    plot_cost_by_policy,
    plot_late_by_load,
    plot_nodes_in_use,
    plot_run,
)
from optsched.plotting.selection import (
    plot_cost_against_deadline,
    plot_cost_split,
    plot_selection,
)
from optsched.plotting.speed_profile import plot_speed_profile
from optsched.plotting.trace import plot_trace

__all__ = [
    "plot_breakdown",
    "plot_contention",
    "plot_cost_against_deadline",
    "plot_cost_by_policy",
    "plot_cost_split",
    "plot_excess",
    "plot_flow",
    "plot_gantt",
    "plot_gaps",
    "plot_late_by_load",
    "plot_nodes_in_use",
    "plot_placement",
    "plot_queue",
    "plot_run",
    "plot_selection",
    "plot_speed_profile",
    "plot_sweep",
    "plot_trace",
    "plot_utilisation",
]
