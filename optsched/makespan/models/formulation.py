"""The exact MILP of the makespan problem, and its contention-free relaxation, stated in Pyomo.

The mathematics, with the symbol table, is models/makespan/README.md; each component's ``doc``
carries the number of its equation there. Time is slots 0..H-1, so it is for "floor" only. Jobs in
one server have a fixed duration; only runs that span servers need contention levels.
"""

from __future__ import annotations

import pyomo.environ as pyo

from optsched.makespan.contention import Schedule
from optsched.makespan.models.data import MakespanModelData
from optsched.makespan.models.model_contention import (
    declare_levels,
    iterations_are_done,
    levels_count_contending_jobs,
    links_are_in_use,
)
from optsched.makespan.models.model_placements import (
    a_placement_is_held_while_running,
    a_spanning_job_gets_its_gpus,
    declare_placements,
    servers_hold_their_gpus,
)
from optsched.makespan.models.model_runs import (
    declare_runs,
    declare_sets,
    every_job_runs_once,
    the_last_end_counts,
)
from optsched.makespan.models.model_symmetry import (
    equal_jobs_are_ordered,
    equal_servers_are_ordered,
)


def build(data: MakespanModelData) -> pyo.ConcreteModel:
    """State the model; see `models/makespan/README.md`."""
    model = pyo.ConcreteModel(name="makespan" if data.contention else "makespan-relaxed")
    declare_sets(model, data)
    declare_runs(model, data)
    declare_placements(model, data)
    model.makespan = pyo.Objective(expr=model.last_end, doc="min C")
    every_job_runs_once(model, data)
    the_last_end_counts(model, data)
    a_spanning_job_gets_its_gpus(model, data)
    a_placement_is_held_while_running(model, data)
    servers_hold_their_gpus(model, data)
    if data.contention:
        declare_levels(model, data)
        links_are_in_use(model, data)
        levels_count_contending_jobs(model, data)
        iterations_are_done(model, data)
    equal_servers_are_ordered(model, data)
    equal_jobs_are_ordered(model, data)
    return model


def read_schedule(model: pyo.ConcreteModel, data: MakespanModelData) -> Schedule:
    """Starts and placements of the values in the model."""
    starts = [0.0] * len(data.jobs)
    placed: list[dict[int, int]] = [{} for _ in data.jobs]
    for j, s, a in model.INSIDE_RUNS:
        if pyo.value(model.inside_run[j, s, a]) > 0.5:
            starts[j], placed[j] = float(a), {s: data.gpus(j)}
    for j, k, a, d in model.SPANNING_RUNS:
        if pyo.value(model.spanning_run[j, k, a, d]) > 0.5:
            starts[j] = float(a)
            counts = {s: round(pyo.value(model.gpus[j, s])) for s in data.servers}
            placed[j] = {s: count for s, count in counts.items() if count}
    return Schedule(tuple(starts), tuple(placed))
