"""Which of many equal schedules to look at: (17)-(18) of models/makespan/README.md.

Swapping two servers of one size, or two jobs that are alike, turns a schedule into another of the
same makespan. Servers of one size are ordered by the GPU-slots they give, jobs that are alike by
their starts; the first order does not depend on which of two jobs is which, nor the second on
servers, so both can be asked for at once.
"""

from __future__ import annotations

from itertools import pairwise

import pyomo.environ as pyo

from optsched.backends.relations import stated
from optsched.makespan.models.data import MakespanModelData
from optsched.makespan.models.model_terms import family, grouped


def equal_servers_are_ordered(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    """(17), between neighbours among the servers of one size."""
    by_server = grouped((s, (j, a)) for j, s, a in model.INSIDE_RUNS)
    sizes = grouped((data.capacity(s), s) for s in data.servers)
    model.EQUAL_SERVERS = pyo.Set(
        dimen=2,
        initialize=[pair for servers in sizes.values() for pair in pairwise(servers)],
        doc="neighbours among servers of one size",
    )

    def given(s: int) -> pyo.Expression:
        inside = sum(
            data.gpus(j) * (data.inside(j) or 0) * model.inside_run[j, s, a]
            for j, a in by_server.get(s, ())
        )
        return inside + sum(model.held[j, s, t] for j in model.SPANNERS for t in model.SLOTS)

    @family(model, data, model.EQUAL_SERVERS, doc="(17) of equal servers the first gives more")
    def server_order(model: pyo.ConcreteModel, s: int, other: int) -> pyo.Expression:
        return stated(model, given(s) >= given(other))


def equal_jobs_are_ordered(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    """(18), between neighbours among the jobs that are alike."""
    inside = grouped((j, (s, a)) for j, s, a in model.INSIDE_RUNS)
    spanning = grouped((j, (k, a, d)) for j, k, a, d in model.SPANNING_RUNS)
    alike = grouped((data.likeness(j), j) for j in data.jobs)
    model.EQUAL_JOBS = pyo.Set(
        dimen=2,
        initialize=[pair for jobs in alike.values() for pair in pairwise(jobs)],
        doc="neighbours among jobs that are alike",
    )

    def start(j: int) -> pyo.Expression:
        alone = sum(a * model.inside_run[j, s, a] for s, a in inside.get(j, ()))
        return alone + sum(a * model.spanning_run[j, k, a, d] for k, a, d in spanning.get(j, ()))

    @family(model, data, model.EQUAL_JOBS, doc="(18) of jobs that are alike the first starts first")
    def job_order(model: pyo.ConcreteModel, j: int, other: int) -> pyo.Expression:
        return stated(model, start(j) <= start(other))
