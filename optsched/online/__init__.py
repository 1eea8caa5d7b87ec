"""Online scheduling at cluster scale: A-SRPT, its baselines, and lower bounds on the flow time.

Source: a-srpt, IV-C and V, as interpreted in models/online/README.md. Names are imported when
first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optsched.lazy_names import importer_of

if TYPE_CHECKING:
    from optsched.online.bounds.flow import flow_bounds as flow_bounds
    from optsched.online.data.catalogue import read_catalogue as read_catalogue
    from optsched.online.data.cluster import OnlineCluster as OnlineCluster
    from optsched.online.data.cluster import read_cluster as read_cluster
    from optsched.online.data.jobs import prepare_jobs as prepare_jobs
    from optsched.online.data.workload import Workload as Workload
    from optsched.online.data.workload_files import read_workload as read_workload
    from optsched.online.metrics import compute_metrics as compute_metrics
    from optsched.online.policies.by_name import POLICIES as POLICIES
    from optsched.online.policies.by_name import PolicyOptions as PolicyOptions
    from optsched.online.prediction.predictors import predict as predict
    from optsched.online.simulator.engine import simulate_online as simulate_online
    from optsched.online.simulator.own_policy import simulate_policy as simulate_policy

_MODULE_OF = {
    "OnlineCluster": "data.cluster",
    "POLICIES": "policies.by_name",
    "PolicyOptions": "policies.by_name",
    "Workload": "data.workload",
    "compute_metrics": "metrics",
    "flow_bounds": "bounds.flow",
    "predict": "prediction.predictors",
    "prepare_jobs": "data.jobs",
    "read_catalogue": "data.catalogue",
    "read_cluster": "data.cluster",
    "read_workload": "data.workload_files",
    "simulate_online": "simulator.engine",
    "simulate_policy": "simulator.own_policy",
}
__all__ = [*_MODULE_OF]
__getattr__ = importer_of(__name__, _MODULE_OF)
