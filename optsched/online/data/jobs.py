"""Simulation input: workload, configurations and cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from optsched.arrays import Floats, Ints
from optsched.errors import InputError, shown
from optsched.online.data.catalogue import Catalogue, single_stage
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.configurations import Configurations, prepare_configurations
from optsched.online.data.workload import Workload

SLOT_RTOL = 1e-9
"""Tolerance, in slots, within which a time or a length is a whole number of slots."""


@dataclass(frozen=True)
class Jobs:
    """Jobs in order of (submit_time, row), ready to run.

    `submit` are seconds since the first submission, `configuration` indexes `configurations`;
    `replaced` is the number of jobs whose configuration did not match their GPU count and was
    replaced by a single stage.
    """

    workload: Workload
    cluster: OnlineCluster
    submit: Floats
    configuration: Ints
    configurations: Configurations
    replaced: int

    def __len__(self) -> int:
        return len(self.submit)

    @property
    def gpus(self) -> Ints:
        return self.workload.gpus

    @property
    def iterations(self) -> Floats:
        return self.workload.iterations

    @property
    def first_submission(self) -> float:
        """Time 0 on the workload's clock, in seconds."""
        return float(self.workload.submit_time[0] - self.submit[0]) if len(self) else 0.0

    @property
    def estimate(self) -> Floats:
        """alpha~ by job, in seconds."""
        return np.asarray(self.configurations.estimate[self.configuration])

    @property
    def min_length(self) -> Floats:
        """n times the lower bound on alpha, by job, in seconds."""
        return self.iterations * self.configurations.alpha_lower_bound[self.configuration]

    def after(self, first_row: int) -> Jobs:
        """The jobs from `first_row` on; time 0 is their own first submission."""
        if first_row == 0:
            return self
        rows = np.arange(first_row, len(self), dtype=np.int64)
        submit = self.workload.submit_time[rows]
        return replace(
            self,
            workload=self.workload.rows(rows),
            submit=submit - (submit[0] if len(rows) else 0.0),
            configuration=self.configuration[rows],
        )

    def on_slots(self, slot: float) -> Jobs:
        """The jobs with submissions within 1e-9 slots of a multiple of the slot at that multiple.

        Seconds since the first submission have rounding errors: 0.4 - 0.3 is above 0.1.
        """
        if slot == 0:
            return self
        multiple = np.rint(self.submit / slot) * slot
        is_near = np.abs(self.submit - multiple) <= SLOT_RTOL * slot
        return replace(self, submit=np.where(is_near, multiple, self.submit))

    @property
    def load(self) -> float | None:
        """sum g n alpha~ / (G x submission span); None if all are submitted at once."""
        span = float(self.submit[-1] - self.submit[0]) if len(self) else 0.0
        if span == 0:
            return None
        work = float((self.gpus * self.iterations * self.estimate).sum())
        return work / (self.cluster.gpus * span)


def prepare_jobs(workload: Workload, catalogue: Catalogue, cluster: OnlineCluster) -> Jobs:
    """Sort a workload, check that every job can run, and prepare its configurations.

    Parameters
    ----------
    workload : Workload
        The table, in any order.
    catalogue : Catalogue
        The configuration of each model key.
    cluster : OnlineCluster
        The cluster that runs it.

    Returns
    -------
    Jobs
        In time order, with their configurations' iteration times.

    Raises
    ------
    InputError
        For a model that the catalogue lacks, or, by name, a job larger than the cluster or a quota
        of its user or group.

    Examples
    --------
    >>> import optsched
    >>> small = optsched.load("online/small-400x40")
    >>> jobs = prepare_jobs(small.workload, small.catalogue, small.cluster)
    >>> len(jobs), float(jobs.submit[0])
    (400, 0.0)
    """
    ordered = workload.in_row_order()
    too_large = ordered.gpus > cluster.gpus
    if too_large.any():
        row = int(np.argmax(too_large))
        place, found = f"job {ordered.job_id[row]}: gpus", str(ordered.gpus[row])
        raise InputError(workload.name, place, found, f"at most the cluster's {cluster.gpus}")
    _check_quotas(ordered, cluster)
    pairs = ordered.model.codes.astype(np.int64) * (int(cluster.gpus) + 1) + ordered.gpus
    distinct, configuration = np.unique(pairs, return_inverse=True)
    configurations, mismatched = [], np.zeros(len(distinct), dtype=bool)
    for index, pair in enumerate(distinct):
        code, gpus = divmod(int(pair), int(cluster.gpus) + 1)
        name = ordered.model.values[code]
        if name not in catalogue.models:
            row = int(np.argmax(configuration == index))
            place = f"job {ordered.job_id[row]}: model"
            raise InputError(workload.name, place, shown(name), "a model of the catalogue")
        job = catalogue.models[name]
        mismatched[index] = job.gpus != gpus
        configurations.append(single_stage(job, gpus) if mismatched[index] else job)
    first_submission = ordered.submit_time[0] if len(ordered) else 0.0
    return Jobs(
        ordered,
        cluster,
        ordered.submit_time - first_submission,
        configuration.astype(np.int64),
        prepare_configurations(configurations, cluster),
        int(mismatched[configuration].sum()) if len(ordered) else 0,
    )


def _check_quotas(workload: Workload, cluster: OnlineCluster) -> None:
    """Raise InputError for a job that needs more GPUs than the quota of its user or group."""
    for kind, labels, quotas in (
        ("user", workload.user, cluster.quotas.users),
        ("group", workload.group, cluster.quotas.groups),
    ):
        quota = np.array([quotas.get(name, cluster.gpus) for name in labels.values], dtype=np.int64)
        too_large = workload.gpus > quota[labels.codes] if len(workload) else np.empty(0)
        if too_large.any():
            row = int(np.argmax(too_large))
            code = labels.codes[row]
            place, found = f"job {workload.job_id[row]}: gpus", str(workload.gpus[row])
            expected = f"at most {quota[code]}, the quota of {kind} {shown(labels.values[code])}"
            raise InputError(workload.name, place, found, expected)
