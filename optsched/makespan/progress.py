"""How fast a job runs: iteration time, iterations per slot, and slots needed; (6)-(9) of sjf-bco.

Readings (models/makespan/README.md): w_j = G_j; f = max(1, k + a (k - 1)), since without the max a
link would give a lone job more than its bandwidth; gamma is in seconds for each server used.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from optsched.makespan.instance import MakespanInstance, Network, RingJob

ROUNDING = 1e-9
"""Added before the floor of slot / tau, so that 1 / 0.1 counts as 10."""


def bandwidth(network: Network, servers: int, level: int) -> float:
    """B_j, bytes/s, of a job on so many servers at contention level p (1 when it runs alone).

    Parameters
    ----------
    network : Network
        Links, and what sharing one costs.
    servers : int
        On how many servers the job stands.
    level : int
        p, jobs that share its busiest link, itself among them.

    Returns
    -------
    float
        Bytes/s.

    Examples
    --------
    >>> import optsched
    >>> network = optsched.load("makespan/fig2").network
    >>> [bandwidth(network, servers, level) for servers, level in ((1, 0), (2, 1), (2, 2))]
    [125000000000.0, 1250000000.0, 500000000.0]
    """
    if servers == 1:
        return network.intra_bandwidth
    contending = network.contention_share * level
    return network.inter_bandwidth / max(1.0, contending + network.degradation * (contending - 1))


def iteration_time(instance: MakespanInstance, job: RingJob, servers: int, level: int) -> float:
    """tau_j of (8), seconds.

    Parameters
    ----------
    instance : MakespanInstance
        The instance.
    job : RingJob
        The job.
    servers : int
        On how many servers it stands.
    level : int
        p, jobs that share its busiest link, itself among them; 1 when it is alone.

    Returns
    -------
    float
        Seconds.

    Examples
    --------
    >>> import optsched
    >>> fig2 = optsched.load("makespan/fig2")
    >>> round(iteration_time(fig2, fig2.jobs[0], 2, 1), 3)
    0.205
    """
    network, workers = instance.network, job.gpus
    pays = servers > 1 or network.overhead_on_one_server
    return (
        2 * job.gradient_bytes * (workers - 1) / (workers * bandwidth(network, servers, level))
        + job.gradient_bytes * (workers - 1) / (workers * instance.compute_rate)
        + (network.overhead_per_server * servers if pays else 0.0)
        + job.forward_time_per_sample * job.batch_size
        + job.backward_time
    )


def iterations_per_slot(
    instance: MakespanInstance, job: RingJob, servers: int, level: int
) -> float:
    """phi_j: floor(slot / tau + 1e-9), at most F_j; slot / tau under continuous progress.

    Parameters
    ----------
    instance : MakespanInstance
        The instance.
    job : RingJob
        The job.
    servers : int
        On how many servers it stands.
    level : int
        p, jobs that share its busiest link, itself among them; 1 when it is alone.

    Returns
    -------
    float
        Iterations.

    Examples
    --------
    >>> import optsched
    >>> instance = optsched.load("makespan/fig2")
    >>> job = instance.jobs[0]
    >>> iterations_per_slot(instance, job, 1, 1) > iterations_per_slot(instance, job, 2, 2)
    True
    """
    tau = iteration_time(instance, job, servers, level)
    if tau == 0:
        return math.inf
    per_slot = instance.slot / tau
    if instance.progress == "continuous":
        return per_slot
    return float(math.floor(min(per_slot + ROUNDING, job.iterations)))


def duration(instance: MakespanInstance, job: RingJob, servers: int, level: int) -> float:
    """Slots a job takes at one level throughout; infinity if it makes no progress.

    Parameters
    ----------
    instance : MakespanInstance
        The instance.
    job : RingJob
        The job.
    servers : int
        On how many servers it stands.
    level : int
        p, jobs that share its busiest link, itself among them; 1 when it is alone.

    Returns
    -------
    float
        Slots.

    Examples
    --------
    >>> import optsched
    >>> fig2 = optsched.load("makespan/fig2")
    >>> duration(fig2, fig2.jobs[0], 1, 0), duration(fig2, fig2.jobs[0], 2, 1)
    (4.0, 10.0)
    """
    per_slot = iterations_per_slot(instance, job, servers, level)
    if per_slot == 0:
        return math.inf
    if instance.progress == "continuous":
        return job.iterations / per_slot
    return 0.0 if per_slot == math.inf else float(-(-job.iterations // int(per_slot)))


def server_prefix(servers: Sequence[int]) -> list[int]:
    """GPUs of the largest server, of the two largest, and so on."""
    return list(accumulate(sorted(servers, reverse=True)))


def fewest_servers(gpus: int, prefix: Sequence[int]) -> int:
    """The least number of servers that hold so many GPUs; see `server_prefix`."""
    return bisect_left(prefix, gpus) + 1


def spanning_duration(instance: MakespanInstance, job: RingJob, fewest: int) -> float:
    """Least slots over two or more servers: alone, on as few as can be; infinity if impossible.

    Every further server and every contending job only slows it.
    """
    if job.gpus < 2 or len(instance.servers) < 2:
        return math.inf
    return duration(instance, job, max(2, fewest), 1)
