"""The least time of an iteration that can be proved, for the bounds.

alpha~ is an estimate that a balanced offer can beat, so it must not enter a bound. Proved, where
B_inter <= B_intra (a GPU's link inside a server is no slower than its server's NIC):

- g <= GPUs a server: all replicas on one server, where every byte takes the faster link;
- one stage of k replicas: ceil(k/g_server) servers or more hold it, so one of them has at most
  floor(k/ceil(k/g_server)) replicas, and fewer replicas have a smaller share of the NIC;
- otherwise the stage bound of the placement slice at a full server.

Without that order of bandwidths: the largest stage's computation.
Source: models/online/README.md.
"""

from __future__ import annotations

from optsched.placement.bounds._combinatorial_kernel import stage_bound
from optsched.placement.cost import cost_tables
from optsched.placement.heuristics.heavy_edge import estimated_minimum
from optsched.placement.instance import Cluster, Job


def least_iteration_time(job: Job, cluster: Cluster) -> float:
    """A lower bound on alpha over every placement of the job, in seconds."""
    if cluster.inter_bandwidth > cluster.intra_bandwidth:
        return max(stage.forward_time + stage.backward_time for stage in job.stages)
    if job.gpus <= cluster.gpus_per_server:
        return estimated_minimum(job, cluster)
    tables = cost_tables(job, cluster, cluster.gpus_per_server)
    if len(job.stages) == 1:
        servers = -(-job.gpus // cluster.gpus_per_server)
        return float(tables.base[0, job.gpus // servers])
    return float(stage_bound(tables.costs, cluster.gpus_per_server))
