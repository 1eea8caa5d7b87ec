"""Costs and counts of a run, from its records and the instance alone, and the offered load."""

from collections import defaultdict
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from optsched.checking import slack
from optsched.rolling.instance import RollingInstance
from optsched.rolling.records import Records
from optsched.selection.cost import tables_of
from optsched.selection.instance import SelectionInstance
from optsched.selection.options import SelectionOptions


@dataclass(frozen=True)
class Metrics:
    """Dollars and counts of a run."""

    energy_cost: float  # integral of c_nk over the node intervals
    tardiness_cost: float  # sum of eta_j (C_j - d_j)^+
    late_jobs: int  # jobs completed after their due date (beyond rounding)
    most_jobs: int  # largest number of jobs that have arrived and are not done
    tardiness: float  # sum, seconds
    flow_time: float  # sum, seconds
    preemptions: int
    migrations: int
    # GPUs in use over GPUs, by type, from the first arrival to the last completion
    utilisation: dict[str, float]
    decisions: int
    decision_time: float  # wall-clock seconds in the policy in total
    longest_decision: float  # the same at one decision

    @property
    def total_cost(self) -> float:
        return self.energy_cost + self.tardiness_cost


def compute_metrics(instance: RollingInstance, run: Records) -> Metrics:
    """Compute the metrics of a run.

    Parameters
    ----------
    instance : RollingInstance
        The instance.
    run : Records
        Its records.

    Returns
    -------
    Metrics
        Dollars by part, late jobs, times and utilisation.

    Examples
    --------
    >>> from optsched.library import load
    >>> from optsched.rolling.runs import run_policies
    >>> by_hand = load("rolling/three-by-hand")
    >>> (run,) = run_policies(by_hand, ["sts"])
    >>> compute_metrics(by_hand, run.records).tardiness_cost
    70.0
    """
    energy = 0.0
    used: dict[str, float] = defaultdict(float)
    for interval in run.nodes:
        node, length = instance.nodes[interval.node], interval.end - interval.start
        energy += length * node.cost_rate[interval.used - 1]
        used[node.gpu_type] += length * interval.used
    jobs = instance.jobs
    flow = {record.job: record.completion - jobs[record.job].submit_time for record in run.jobs}
    late = {r.job: max(r.completion - jobs[r.job].due_date, 0.0) for r in run.jobs}
    rounding = {r.job: slack(flow[r.job], r.completion, jobs[r.job].due_date) for r in run.jobs}
    begin = min(job.submit_time for job in jobs)
    length = max(record.completion for record in run.jobs) - begin
    gpus: dict[str, int] = defaultdict(int)
    for node in instance.nodes:
        gpus[node.gpu_type] += node.gpus
    return Metrics(
        energy_cost=energy,
        tardiness_cost=sum(jobs[j].tardiness_weight * t for j, t in late.items()),
        late_jobs=sum(seconds > rounding[job] for job, seconds in late.items()),
        most_jobs=_max_jobs_present(instance, run),
        tardiness=sum(late.values()),
        flow_time=sum(flow.values()),
        preemptions=sum(r.preemptions for r in run.jobs),
        migrations=sum(r.migrations for r in run.jobs),
        utilisation={name: used[name] / (count * length) for name, count in gpus.items()},
        decisions=len(run.decisions),
        decision_time=sum(d.seconds for d in run.decisions),
        longest_decision=max((d.seconds for d in run.decisions), default=0.0),
    )


def _max_jobs_present(instance: RollingInstance, run: Records) -> int:
    """At equal times completions count before arrivals."""
    changes = [(instance.jobs[r.job].submit_time, 1) for r in run.jobs]
    changes += [(r.completion, -1) for r in run.jobs]
    return max(accumulate(change for _, change in sorted(changes)))


def cost_reduction(target: float, other: float) -> float:
    """Cost reduction (30) in percent, (C_o - C_t) / C_o x 100; positive if the target is cheaper.

    Parameters
    ----------
    target : float
        C_t, dollars.
    other : float
        C_o, dollars.

    Returns
    -------
    float
        Percent.

    Examples
    --------
    >>> cost_reduction(60.0, 100.0)
    40.0
    """
    return (other - target) / other * 100.0


def offered_load(instance: SelectionInstance, *, mean_interarrival: float | None = None) -> float:
    """Return the load, arrival rate x E[W x base epoch time] / sum of GPU speeds.

    It assumes a uniform spread over GPU types; see
    `optsched.rolling.bounds.clairvoyant.clairvoyant_utilisation` for the optimal spread.
    """
    tables = tables_of(instance, SelectionOptions(sharing="off"))
    single = tables.seconds[:, :, 0]
    base = np.array([row[np.isfinite(row)][0] for row in single])
    relative = np.where(np.isfinite(single), base[:, None] / single, 0.0)
    speeds = [column[column > 0].mean() if (column > 0).any() else 0.0 for column in relative.T]
    total = sum(speeds[tables.kind_of[n]] * node.gpus for n, node in enumerate(instance.nodes))
    work = float(np.mean([w.mean * t for w, t in zip(tables.works, base, strict=True)]))
    if mean_interarrival is None:
        assert isinstance(instance, RollingInstance)
        times = [job.submit_time for job in instance.jobs]
        mean_interarrival = (max(times) - min(times)) / max(len(times) - 1, 1)
    return work / mean_interarrival / total if mean_interarrival > 0 else float("inf")
