"""Online scheduling at cluster scale: A-SRPT, its baselines, and how far from optimal they are.

Source: a-srpt, IV-C and V, in the readings of models/online/README.md. Names are imported when
first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from optsched.online.auditing import audit as audit
    from optsched.online.bounds import flow_bounds as flow_bounds
    from optsched.online.catalogue import read_catalogue as read_catalogue
    from optsched.online.cluster import OnlineCluster as OnlineCluster
    from optsched.online.cluster import read_cluster as read_cluster
    from optsched.online.engine import simulate as simulate
    from optsched.online.jobs import prepare_jobs as prepare_jobs
    from optsched.online.metrics import compute_metrics as compute_metrics
    from optsched.online.policies import POLICIES as POLICIES
    from optsched.online.policies import Settings as Settings
    from optsched.online.prediction import predict as predict
    from optsched.online.protocol import simulate_policy as simulate_policy
    from optsched.online.workload import Workload as Workload
    from optsched.online.workload_files import read_workload as read_workload

_HOMES = {
    "OnlineCluster": "cluster",
    "POLICIES": "policies",
    "Settings": "policies",
    "Workload": "workload",
    "audit": "auditing",
    "compute_metrics": "metrics",
    "flow_bounds": "bounds",
    "predict": "prediction",
    "prepare_jobs": "jobs",
    "read_catalogue": "catalogue",
    "read_cluster": "cluster",
    "read_workload": "workload_files",
    "simulate": "engine",
    "simulate_policy": "protocol",
}
__all__ = [
    "POLICIES", "OnlineCluster", "Settings", "Workload", "audit", "compute_metrics", "flow_bounds",
    "predict", "prepare_jobs", "read_catalogue", "read_cluster", "read_workload", "simulate",
    "simulate_policy",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'optsched.online' has no attribute {name!r}")
    return getattr(import_module(f"optsched.online.{_HOMES[name]}"), name)
