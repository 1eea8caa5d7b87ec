"""The audit's own alpha: Heavy-Edge and the cost of the placement slice, nothing compiled here."""

from __future__ import annotations

from optsched.online.jobs import Jobs
from optsched.placement.cost import cost_tables, time_matrix
from optsched.placement.heavy_edge import graph_arrays, heavy_edge_counts
from optsched.placement.options import PlacementOptions


def recomputed_time(jobs: Jobs, configuration: int, held: tuple[int, ...]) -> float:
    """Seconds of an iteration on servers that give `held` GPUs, in descending order."""
    job = jobs.configurations.jobs[configuration]
    counts = heavy_edge_counts(graph_arrays(job), held)
    tables = cost_tables(job, jobs.cluster.hardware, max(held))
    return float(time_matrix(tables, counts, PlacementOptions()).max())
