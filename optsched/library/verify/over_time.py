"""Speed profiles, rolling selection and online workloads: prices of the deadline and of GPU time.

Sources: sts, section V; models/rolling and models/online, "Bounds".
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .certificate import (
    COMPARISON_RTOL,
    MAX_SLOTS,
    ROUNDING_RTOL,
    Document,
    RefusedError,
    numbers,
)
from .placement import stage_times
from .selection import epoch_seconds, fractions_of, largest_nodes, remaining_epochs


def multiplier(instance: Document, certificate: Document) -> float:
    """Prove the minimum over the speeds of energy plus lam (time - d), epoch by epoch."""
    (lam,) = numbers([certificate["multiplier"]], 1, "multiplier", 0)
    speed, power = np.array(instance["speeds"]), np.array(instance["power"], dtype=float)
    total = fastest = 0.0
    for length, high, low in _survival(instance):
        cuts = [low, high]
        if high > low:  # min_k (F P_k + lam) / s_k is concave in F, and linear between crossings
            energy, time = power / speed, lam / speed
            numerator, denominator = time[:, None] - time, energy - energy[:, None]
            crossings = (numerator / np.where(denominator == 0, np.nan, denominator)).ravel()
            inner = crossings[(crossings > low) & (crossings < high)]
            cuts = [low, *np.unique(inner), high]
        values = [float(((f * power + lam) / speed).min()) for f in cuts]
        share = np.diff(cuts) / (high - low) if high > low else np.ones(1)
        total += length * float(share @ [(a + b) / 2 for a, b in pairwise(values)])
        fastest += length / speed[-1]
    if fastest > instance["deadline"] * (1 + 1e-9):
        raise RefusedError("the deadline cannot be met at all")
    deadline_term = lam * instance["deadline"]
    return max(total - deadline_term - COMPARISON_RTOL * (total + deadline_term), 0.0)


def _survival(instance: Document) -> list[tuple[float, float, float]]:
    """Stretches of epochs: their length, and P(W > w) at both ends given W > completed."""
    work, done = instance["work"], instance.get("completed", 0)
    if "values" in work:
        values, shares = remaining_epochs({"epochs": work, "completed_epochs": done})
        lengths = np.diff(values, prepend=0.0)
        alive = shares[::-1].cumsum()[::-1]
        return [(float(a), float(f), float(f)) for a, f in zip(lengths, alive, strict=True)]
    points, curve = work["points"], work["survival"]
    now = float(np.interp(done, points, curve))
    knots = [(done, now), *((w, f) for w, f in zip(points, curve, strict=True) if w > done)]
    return [(b - a, f / now, g / now) for (a, f), (b, g) in pairwise(knots)]


def rolling_prices(instance: Document, certificate: Document) -> float:
    """Prove sum_j min (energy + priced GPU time + tardiness of job j) - income of all GPUs.

    The seed draws the true epochs. The minimum of a job is over the slot in which it ends; given
    that slot, the times in earlier slots are a linear programme, and its dual at any price mu of an
    epoch is a bound. The maximum is over all mu at which the programme's basis changes.
    """
    edges = _edges(certificate)
    largest = largest_nodes(instance)
    kinds = list(largest)
    if set(certificate["prices"]) != set(kinds):
        raise RefusedError(f"prices of {sorted(certificate['prices'])}, expected {sorted(kinds)}")
    prices = [numbers(certificate["prices"][k], edges.size - 1, "prices", 0) for k in kinds]
    if any(price[-1] for price in prices):
        raise RefusedError("a price in the last slot, after which GPU time is free")
    rate = dict.fromkeys(kinds, math.inf)
    income = 0.0
    for node in instance["nodes"]:
        kind = node["gpu_type"]
        rate[kind] = min(rate[kind], *(c / n for n, c in enumerate(node["cost_rate"], 1)))
        income += node["gpus"] * float(prices[kinds.index(kind)] @ np.diff(edges))
    total = 0.0
    for number, job in enumerate(instance["jobs"]):
        speed, cost = [], []
        for kind, price in zip(kinds, prices, strict=True):
            gpu_type, gpus = instance["gpu_types"][kind], largest[kind]
            fractions = fractions_of(gpu_type)
            seconds = epoch_seconds(gpu_type, job, kind, gpus, fractions)
            sizes = [*range(1, gpus + 1), *map(float, fractions)]
            for n, t in zip(sizes, seconds, strict=True):
                if t < math.inf:
                    speed.append(1 / t)
                    cost.append(n * (rate[kind] + price))
        work = _true_epochs(job, number, int(certificate.get("seed", 0)))
        arrival = max(job["submit_time"], instance["now"])
        if edges[0] > arrival or (edges[-1] - edges[-2]) * min(speed) < work:
            raise RefusedError("slots that do not cover the longest run of a job")
        total += _least_cost(job, arrival, work, edges, np.array(speed), np.array(cost))
    return max(total - income - ROUNDING_RTOL * (total + income), 0.0)


def _true_epochs(job: Document, number: int, seed: int) -> float:
    if job.get("true_epochs") is not None:
        return float(job["true_epochs"] - job.get("completed_epochs", 0))
    values, shares = remaining_epochs(job)
    drawn = np.searchsorted(
        shares.cumsum(), np.random.default_rng([seed, number]).random(), "right"
    )
    return float(values[min(int(drawn), len(values) - 1)])


def _least_cost(
    job: Document, arrival: float, work: float, edges: np.ndarray, speed: Any, cost: Any
) -> float:
    """Minimum cost over the slot of the end; speed is by configuration, cost by it and slot."""
    first = max(int(np.searchsorted(edges, arrival, side="right")) - 1, 0)
    cost, start = cost[:, first:], np.maximum(edges[first:-1], arrival)
    length, eta = edges[first + 1 :] - start, job["tardiness_weight"]
    late = eta * np.maximum(start - job["due_date"], 0.0)
    on_time = np.clip(job["due_date"] - start, 0.0, length)
    worst = float((cost[:, -1] / speed).min()) * work
    at_least = late + float((cost / speed[:, None]).min()) * work  # by the slot of the end
    # Slots so late that ending there costs more than the worst plan are left out.
    slots = np.flatnonzero(at_least <= worst + late[-1] + eta * work / speed.min() + 1.0)[-1] + 1
    cost, start, length = cost[:, :slots], start[:slots], length[:slots]
    multipliers = np.concatenate(
        (*_steps(cost, speed), ((cost + eta) / speed[:, None]).min(axis=0))
    )
    multipliers = np.unique(multipliers[np.isfinite(multipliers) & (multipliers > 0)])
    multipliers = np.append(multipliers, multipliers[-1] * 1e3)
    # By slot and mu: the cost of a second in the slot less the value of its work, 0 when idle.
    reduced = np.zeros((slots, len(multipliers)))
    for c in range(len(speed)):
        reduced = np.minimum(reduced, cost[c][:, None] - speed[c] * multipliers)
    earlier_slots = np.cumsum(length[:, None] * reduced, axis=0) - length[:, None] * reduced
    last_slot = on_time[:slots, None] * reduced
    last_slot += (length - on_time[:slots])[:, None] * np.minimum(reduced + eta, 0.0)
    values = (multipliers * work + earlier_slots + last_slot).max(axis=1) + late[:slots]
    return float(np.maximum(values, at_least[:slots]).min())


def _steps(cost: Any, speed: Any) -> list[np.ndarray]:
    """By slot, the prices of an epoch at which a faster configuration becomes the cheapest."""
    slots = np.arange(cost.shape[1])
    last_cost, last_speed = np.zeros(len(slots)), np.zeros(len(slots))
    steps = []
    for _ in speed:
        faster = speed[:, None] - last_speed
        price = np.where(faster > 0, (cost - last_cost) / np.where(faster > 0, faster, 1.0), np.inf)
        best = price.argmin(axis=0)
        steps.append(price[best, slots])
        on = np.isfinite(steps[-1])
        last_cost = np.where(on, cost[best, slots], last_cost)
        last_speed = np.where(on, speed[best], last_speed)
    return steps


def online_prices(instance: Document, certificate: Document) -> float:
    """Prove sum_i min_t (flow + priced GPU time of job i started at t) - income of all GPUs.

    Without prices every job runs at its submission, with its minimum time of an iteration. `early`
    are prices on the seconds that a job runs before its no-wait completion time; at any moment at
    most as many jobs as fit, the smallest ones in that window, can collect it.
    """
    cluster, table = instance["cluster"], instance["workload"]
    edges = _edges(certificate)
    price = numbers(certificate["prices"], edges.size - 1, "prices", 0)
    earned = np.concatenate(([0.0], np.cumsum(price * np.diff(edges))))
    submit = np.array(table["submit_time"], dtype=float)
    submit -= submit.min()
    models = instance["catalogue"]["models"]
    iteration_times = {
        (name, gpus): _min_iteration_time(models[name], cluster, gpus)
        for name, gpus in dict.fromkeys(zip(table["model"], table["gpus"], strict=True))
    }
    jobs = zip(table["model"], table["gpus"], table["iterations"], strict=True)
    lengths = np.array([n * iteration_times[name, gpus] for name, gpus, n in jobs])
    capacity = sum(gpus * count for gpus, count in _servers(cluster))
    income, early_sums = capacity * float(earned[-1]), np.zeros(edges.size)
    if "early" in certificate:
        early = numbers(certificate["early"], edges.size - 1, "early prices", 0)
        early_sums = np.concatenate(([0.0], np.cumsum(early * np.diff(edges))))
        income += float(early @ _max_no_wait_jobs(submit, lengths, table["gpus"], capacity, edges))
    total = 0.0
    for ready, seconds, gpus in zip(submit, lengths, table["gpus"], strict=True):
        starts = np.concatenate((edges, edges - seconds))
        starts = np.append(starts[starts > ready], ready)
        if "early" in certificate:
            starts = np.append(starts, ready + seconds)
        used = np.interp(starts + seconds, edges, earned) - np.interp(starts, edges, earned)
        ahead = np.interp(ready + seconds, edges, early_sums) - np.interp(starts, edges, early_sums)
        cost = starts + seconds - ready + gpus * used + np.maximum(ahead, 0.0)
        total += float(cost.min())
    return max(total - income - ROUNDING_RTOL * (total + income), 0.0)


def _max_no_wait_jobs(
    submit: Any, lengths: Any, gpus: Any, capacity: int, edges: Any
) -> np.ndarray:
    """Per interval: integral of the largest number of no-wait jobs that fit simultaneously."""
    times = np.concatenate((submit + lengths, submit))
    order = np.argsort(times, kind="stable")
    size, change = np.tile(gpus, 2)[order], np.repeat([-1, 1], len(submit))[order]
    free, count, times = np.full(len(order), capacity), np.zeros(len(order)), times[order]
    for gpus_each in np.unique(size):  # taking the smallest first maximises the number
        fit = np.minimum(np.cumsum(np.where(size == gpus_each, change, 0)), free // gpus_each)
        count, free = count + fit, free - fit * gpus_each
    until = np.concatenate(([0.0], np.cumsum(count[:-1] * np.diff(times))))
    return np.diff(np.interp(edges, times, until))


def _edges(certificate: Document) -> np.ndarray:
    values = certificate["edges"]
    count = len(values) if isinstance(values, list) and 1 < len(values) <= MAX_SLOTS else 2
    edges = numbers(values, count, "edges of slots")
    if (np.diff(edges) <= 0).any():
        raise RefusedError("edges of slots that do not increase")
    return edges


def _servers(cluster: Document) -> list[tuple[int, int]]:
    """GPUs and number of servers, by group."""
    groups = cluster["servers"]
    if isinstance(groups, int):
        return [(cluster["gpus_per_server"], groups)]
    return [(group["gpus"], group["count"]) for group in groups]


def _min_iteration_time(job: Document, cluster: Document, gpus: int) -> float:
    """Minimum time of an iteration: on one server if it fits, else the maximum over the stages."""
    stages, capacity = job["stages"], max(_servers(cluster))[0]
    replica_gpus = [stage.get("tensor_parallel", 1) for stage in stages]
    counts = [stage["replicas"] for stage in stages]
    if job.get("micro_batches") is not None or gpus != np.dot(replica_gpus, counts):
        raise RefusedError(f"model {job['model']}: micro-batches, or GPUs that are not its stages'")
    if cluster["inter_bandwidth"] > cluster["intra_bandwidth"]:
        return float(max(stage["forward_time"] + stage["backward_time"] for stage in stages))
    bound = 0.0
    padded = [(0, 1), *zip(counts, replica_gpus, strict=True), (0, 1)]
    for s, (before, (k, q), after) in enumerate(zip(padded, padded[1:], padded[2:], strict=False)):
        u, w = np.ogrid[: before[0] + 1, : after[0] + 1]
        possible: Sequence[int] = range(1, min(k, capacity // q) + 1)
        if gpus <= capacity:
            possible = [k]
        elif len(stages) == 1:  # some server has no more than an equal share
            possible = [k // -(-k // (capacity // q))]
        best = math.inf
        for v in possible:
            fits = before[1] * u + after[1] * w + q * v <= capacity
            work, reduce = stage_times(job, cluster, s, v, fits.shape)
            best = min(best, float(work[fits].min()) + reduce)
        bound = max(bound, best)
    return bound
