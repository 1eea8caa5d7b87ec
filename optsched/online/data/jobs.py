"""A workload joined with its catalogue and cluster: what a simulation starts from."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from optsched.errors import InputError, shown
from optsched.online.data.catalogue import Catalogue, single_stage
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.configurations import Configurations, prepare_configurations
from optsched.online.data.workload import Workload

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Jobs:
    """Jobs in order of (submit_time, row), ready to run.

    `submit` are seconds since the first submission, `configuration` indexes `configurations`;
    `replaced` counts jobs whose configuration had another number of replicas than they ask GPUs
    for, and so became one stage.
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
        """g."""
        return self.workload.gpus

    @property
    def iterations(self) -> Floats:
        """True n."""
        return self.workload.iterations

    @property
    def estimate(self) -> Floats:
        """alpha~ by job, in seconds."""
        return np.asarray(self.configurations.estimate[self.configuration])

    @property
    def least(self) -> Floats:
        """The provably least alpha by job, in seconds."""
        return np.asarray(self.configurations.least[self.configuration])

    def after(self, cut: int) -> Jobs:
        """The jobs from row `cut` on; time 0 is their own first submission."""
        if cut == 0:
            return self
        kept = np.arange(cut, len(self), dtype=np.int64)
        submit = self.workload.submit_time[kept]
        return replace(
            self,
            workload=self.workload.rows(kept),
            submit=submit - (submit[0] if len(kept) else 0.0),
            configuration=self.configuration[kept],
        )

    @property
    def load(self) -> float | None:
        """sum g n alpha~ / (G x submission span); None if all are submitted at once."""
        span = float(self.submit[-1] - self.submit[0]) if len(self) else 0.0
        if span == 0:
            return None
        work = float((self.gpus * self.iterations * self.estimate).sum())
        return work / (self.cluster.gpus * span)


def prepare_jobs(workload: Workload, catalogue: Catalogue, cluster: OnlineCluster) -> Jobs:
    """Sort a workload, refuse what can never run, and prepare its configurations.

    Parameters
    ----------
    workload : Workload
        The table, in any order.
    catalogue : Catalogue
        The configuration of each model key.
    cluster : OnlineCluster
        Where it runs.

    Returns
    -------
    Jobs
        In time order, with their configurations' iteration times.

    Raises
    ------
    InputError
        For a model that the catalogue lacks, or, by name, a job larger than the cluster.

    Examples
    --------
    >>> import optsched
    >>> small = optsched.load("online/small-400x40")
    >>> jobs = prepare_jobs(small.workload, small.catalogue, small.cluster)
    >>> len(jobs), float(jobs.submit[0])
    (400, 0.0)
    """
    ordered = workload.in_row_order()
    _refuse_too_large(ordered, cluster)
    pairs = ordered.model.codes.astype(np.int64) * (int(cluster.gpus) + 1) + ordered.gpus
    distinct, configuration = np.unique(pairs, return_inverse=True)
    configurations, wrong = [], np.zeros(len(distinct), dtype=bool)
    for index, pair in enumerate(distinct):
        code, gpus = divmod(int(pair), int(cluster.gpus) + 1)
        name = ordered.model.values[code]
        if name not in catalogue.models:
            row = int(np.argmax(configuration == index))
            raise InputError(
                workload.name,
                f"job {ordered.job_id[row]}: model",
                shown(name),
                "a model of the catalogue",
            )
        job = catalogue.models[name]
        wrong[index] = job.gpus != gpus
        configurations.append(single_stage(job, gpus) if wrong[index] else job)
    start = ordered.submit_time[0] if len(ordered) else 0.0
    return Jobs(
        ordered,
        cluster,
        ordered.submit_time - start,
        configuration.astype(np.int64),
        prepare_configurations(configurations, cluster),
        int(wrong[configuration].sum()) if len(ordered) else 0,
    )


def _refuse_too_large(workload: Workload, cluster: OnlineCluster) -> None:
    too_large = workload.gpus > cluster.gpus
    if too_large.any():
        row = int(np.argmax(too_large))
        raise InputError(
            workload.name,
            f"job {workload.job_id[row]}: gpus",
            str(workload.gpus[row]),
            f"at most the cluster's {cluster.gpus}",
        )
