"""Online instances for sweeps: `generate_workload` on so many equal servers."""

from __future__ import annotations

from optsched.declared import Seed
from optsched.generators.arguments import checked
from optsched.generators.workload import AllReduce, Count, WorkloadShape, generate_workload
from optsched.online.data.cluster import OnlineCluster
from optsched.online.instance import OnlineInstance


@checked("generate workload")
def generate_online(
    jobs: Count = 1000,
    servers: int = 250,
    *,
    gpus_per_server: int = 8,
    inter_bandwidth: float = 1.25e9,
    intra_bandwidth: float = 3e11,
    all_reduce: AllReduce = "ring",
    shape: WorkloadShape | None = None,
    seed: Seed = 0,
    name: str | None = None,
) -> OnlineInstance:
    """Generate one workload with its cluster; equal arguments give equal instances.

    Parameters
    ----------
    jobs, servers, gpus_per_server : int
        How many.
    inter_bandwidth, intra_bandwidth : float
        Of a server's NIC, and between its GPUs; bytes/s.
    all_reduce : str
        "ring" or "double-tree".
    shape : WorkloadShape, optional
        The load, the jobs' sizes and durations, and how they recur.
    seed : int, optional
        Of every random choice.
    name : str, optional
        Of the instance; by default one that says its arguments.
    """
    cluster = OnlineCluster.of(servers, gpus_per_server, inter_bandwidth, intra_bandwidth)
    shape = shape or WorkloadShape()
    workload, catalogue = generate_workload(jobs, cluster, shape, seed=seed, all_reduce=all_reduce)
    made = name or f"{jobs}-{servers}x{gpus_per_server}-rho{shape.load:g}-s{seed}"
    provenance = {
        "generator": "optsched.generators.online:generate_online",
        "arguments": {"jobs": jobs, "servers": servers, "seed": seed, **shape.to_dict()},
    }
    return OnlineInstance(workload.named(made), catalogue, cluster, provenance)
