"""Pictures of instances, solutions and results; each function returns its Axes.

They need matplotlib, ``pip install 'optsched[plot]'``, and raise MissingExtraError without it;
InputError for a file that cannot be used or a solution that violates a rule.
"""

from optsched.plotting.makespan import plot_contention as plot_contention
from optsched.plotting.makespan import plot_gantt as plot_gantt
from optsched.plotting.online import plot_flow as plot_flow
from optsched.plotting.online import plot_online_over_time as plot_online_over_time
from optsched.plotting.online import plot_queue as plot_queue
from optsched.plotting.online import plot_utilisation as plot_utilisation
from optsched.plotting.packing import plot_allocation as plot_allocation
from optsched.plotting.placement import plot_breakdown as plot_breakdown
from optsched.plotting.placement import plot_placement as plot_placement
from optsched.plotting.results import plot_excess as plot_excess
from optsched.plotting.results import plot_gaps as plot_gaps
from optsched.plotting.results import plot_profile as plot_profile
from optsched.plotting.results import plot_trace as plot_trace
from optsched.plotting.rolling import plot_cost_by_policy as plot_cost_by_policy
from optsched.plotting.rolling import plot_nodes_in_use as plot_nodes_in_use
from optsched.plotting.rolling import plot_rolling_over_time as plot_rolling_over_time
from optsched.plotting.rolling import plot_run as plot_run
from optsched.plotting.selection import plot_cost_split as plot_cost_split
from optsched.plotting.selection import plot_selection as plot_selection
from optsched.plotting.speed_profile import plot_speed_profile as plot_speed_profile
