"""Compile or load the online kernels."""

from __future__ import annotations

import time

from optsched.online.bounds.flow import flow_bounds
from optsched.online.bounds.gang import gang_bound
from optsched.online.data.catalogue import Catalogue
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.jobs import prepare_jobs
from optsched.online.data.workload import Workload
from optsched.online.metrics import compute_metrics
from optsched.online.policies.by_name import PolicyOptions
from optsched.online.simulator.engine import simulate_online
from optsched.placement.instance import Job, Stage

PREEMPTING_OPTIONS = PolicyOptions(checkpoint=0.0, round=0.5)
"""Short rounds, so that the tiny case preempts."""


def warm_up() -> float:
    """Run every compiled loop once on a tiny case; return the seconds it took."""
    began = time.perf_counter()
    stages = tuple(
        Stage(
            name="s",
            replicas=k,
            forward_time=1,
            backward_time=1,
            input_bytes=0,
            output_bytes=0,
            parameter_bytes=1,
        )
        for k in (2, 1)
    )
    models = {"m": Job(model="m", all_reduce="ring", stages=stages)}
    workload = Workload.of(
        submit_time=[0.0, 0.0, 1.0], gpus=[3, 3, 3], iterations=[1.0, 2.0, 3.0], model=["m"] * 3
    )
    jobs = prepare_jobs(workload, Catalogue.of(models), OnlineCluster.of(2, 2, 1.0, 2.0))
    for policy in ("a-srpt", "wcs-subtime", "las"):
        compute_metrics(simulate_online(jobs, policy, options=PREEMPTING_OPTIONS))
    flow_bounds(jobs)
    gang_bound(jobs)
    return time.perf_counter() - began
