"""Small online workloads for the tests: jobs of one stage that take a second an iteration."""

from functools import cache
from typing import Any

import numpy as np

from optsched.online.data.catalogue import Catalogue
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.jobs import Jobs, prepare_jobs
from optsched.online.data.workload import Workload
from optsched.online.instance import OnlineInstance
from optsched.online.policies.by_name import PolicyOptions
from optsched.online.records import Records
from optsched.placement.instance import Job, Stage

SILENT = {"input_bytes": 0.0, "output_bytes": 0.0, "parameter_bytes": 0.0}


@cache
def one_stage(replicas: int, name: str = "", **fields: Any) -> Job:
    """A model of one stage that sends nothing, named m<replicas> unless said otherwise."""
    times = {"forward_time": 1.0, "backward_time": 0.0}
    stage = Stage(name="s", replicas=replicas, **{**times, **SILENT, **fields})
    return Job(model=name or f"m{replicas}", all_reduce="ring", stages=(stage,))


def instance_of(
    *rows: Any, servers: int = 1, per_server: int = 2, links: tuple[float, ...] = (), **columns: Any
) -> OnlineInstance:
    """Jobs of (submission, GPUs or model, iterations); columns are more of the workload's.

    Links are the bandwidths between servers and inside one, if not the usual.
    """
    models = [one_stage(row[1]) if isinstance(row[1], int) else row[1] for row in rows]
    workload = Workload.of(
        submit_time=[float(row[0]) for row in rows],
        gpus=[model.gpus for model in models],
        iterations=[float(row[2]) for row in rows],
        model=[model.model for model in models],
        **columns,
    )
    catalogue = Catalogue.of({model.model: model for model in models})
    return OnlineInstance(workload, catalogue, OnlineCluster.of(servers, per_server, *links))


def prepared(instance: OnlineInstance) -> Jobs:
    """The instance's jobs as the simulator takes them."""
    return prepare_jobs(instance.workload, instance.catalogue, instance.cluster)


def jobs_of(*rows: tuple[Any, ...], **world: Any) -> Jobs:
    """`instance_of`, prepared."""
    return prepared(instance_of(*rows, **world))


def records_of(
    *rows: dict[str, Any],
    policy: str = "own",
    servers: int = 3,
    per_server: int = 4,
    **more: Any,
) -> Records:
    """Records of jobs a, b...; what a row leaves out is one GPU of server 0 for a second."""
    usual = {"submit": 0.0, "start": 0.0, "alpha": 1.0, "estimate": 1.0, "predicted": 1.0}
    usual["iterations"] = 1.0
    rows = tuple(
        {**usual, "name": chr(97 + i), "on": {0: 1}, "end": row.get("start", 0.0) + 1, **row}
        for i, row in enumerate(rows)
    )
    pieces = [piece for row in rows for piece in row["on"].items()]
    return Records(
        policy=policy,
        options=PolicyOptions(**more),
        server_gpus=np.full(servers, per_server),
        job_id=np.array([row["name"] for row in rows], dtype=object),
        gpus=np.array([sum(row["on"].values()) for row in rows], dtype=np.int64),
        first=np.cumsum([0, *(len(row["on"]) for row in rows)]),
        server=np.array([server for server, _ in pieces], dtype=np.int64),
        taken=np.array([taken for _, taken in pieces], dtype=np.int64),
        **{key: np.array([row[key] for row in rows], dtype=float) for key in (*usual, "end")},
    )
