"""Compile or load the online kernels."""

from optsched.generators.online import generate_workload
from optsched.online.bounds.flow import flow_bounds
from optsched.online.bounds.gang import gang_bound
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.jobs import prepare_jobs
from optsched.online.metrics import compute_metrics
from optsched.online.simulator.engine import simulate_online


def warm_up() -> None:
    """Run every compiled loop once on a tiny case."""
    cluster = OnlineCluster.of(2, 2)
    jobs = prepare_jobs(*generate_workload(4, cluster), cluster)
    for policy in ("a-srpt", "fair-share", "las"):
        compute_metrics(simulate_online(jobs, policy))
    flow_bounds(jobs)
    gang_bound(jobs)
