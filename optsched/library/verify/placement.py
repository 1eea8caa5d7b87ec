"""Placement: prices of the stages' replicas (a-srpt (4)-(7); models/placement, "Bounds")."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .certificate import (
    COMPARISON_RTOL,
    MAX_PRICE,
    Document,
    Path,
    RefusedError,
    integers,
    leaves,
)

INFEASIBLE = -(2**60)
"""Value of a pattern that no server can hold."""


class CostOptions(NamedTuple):
    """The options of the objective (models/placement, "Readings")."""

    backward_overlap: float = 1.0
    all_reduce_overlap: float = 1.0
    all_reduce_bandwidth: str = "own"


DEFAULT = CostOptions()


def _cost_options(options: Document | None) -> CostOptions:
    values = options or {}
    return CostOptions(**{key: values[key] for key in CostOptions._fields if key in values})


def patterns(instance: Document, certificate: Document, options: Document | None = None) -> float:
    """Prove cost > theta: the replicas are worth more than the servers can hold.

    z_g is the maximum value, in prices, that one server of g free GPUs can hold with every stage
    there within theta. The proof is sum_s k_s pi_s > sum_g N_g z_g. Micro-batches only lengthen the
    times used here.
    """
    integers(certificate["prices"], len(instance["job"]["stages"]), "prices", 0)
    return pattern_branches(instance, {**certificate, "nodes": [certificate]}, options)


def pattern_branches(
    instance: Document, certificate: Document, options: Document | None = None
) -> float:
    """Prove the same in each leaf of a tree whose branches cover every placement within theta.

    A branch bounds the number of servers with at least v replicas of a stage: at most k, or more.
    In a leaf each such row has a price, which lowers the value of every server that it counts. With
    micro-batches a branch may also bound the number of servers that spend more than W seconds on a
    stage's work or all-reduce: none, or at least one, for which the pipeline waits.
    """
    theta = float(certificate["threshold"])
    for leaf, path in leaves(certificate["nodes"], dict):
        _require_excess(instance, theta, leaf, path, _cost_options(options))
    return theta


def _require_excess(
    instance: Document, theta: float, leaf: Document, path: Path, options: CostOptions
) -> None:
    """Raise RefusedError unless the prices exclude all placements within theta on a path."""
    job, free = instance["job"], [free for free in instance["free_gpus"] if free]
    stages = job["stages"]
    prices = integers(leaf["prices"], len(stages), "prices", -MAX_PRICE)
    if not 0 <= theta < math.inf:
        raise RefusedError(f"the threshold {theta}")
    work_rows = [row for row in path if "least" not in row[1]]
    counts = [row for row in path if "least" in row[1]]
    row_prices = integers(leaf.get("rows", []), len(counts), "prices of rows")
    within = patterns_within(instance, theta, max(free), work_rows, options)
    gpus_each = [stage.get("tensor_parallel", 1) for stage in stages]
    required = sum(stage["replicas"] * price for stage, price in zip(stages, prices, strict=True))
    required -= sum(price * limit for price, (_, _, limit) in zip(row_prices, counts, strict=True))
    all_used = sum(free) <= sum(s["replicas"] * q for s, q in zip(stages, gpus_each, strict=True))
    offered, best_values = 0, {}
    for size, servers in Counter(free).items():
        applicable = tuple(row.get("free", size) == size for _, row, _ in counts)
        if applicable not in best_values:  # servers that the same rows count
            values = [p * np.arange(fits.shape[1]) for p, fits in zip(prices, within, strict=True)]
            for price, (sign, row, _), is_met in zip(row_prices, counts, applicable, strict=True):
                if not set(row) <= {"stage", "least", "free"} or row["least"] < 1:
                    raise RefusedError(f"a count by {sorted(row)}")
                if is_met:
                    values[range(len(stages))[row["stage"]]][row["least"] :] -= sign * price
            best_values[applicable] = best_pattern(within, values, gpus_each, max(free))
            if not all_used:  # a server may keep GPUs free
                best_values[applicable] = np.maximum.accumulate(best_values[applicable])
        if best_values[applicable][size] < INFEASIBLE // 2:  # it can hold nothing at all
            return
        offered += servers * int(best_values[applicable][size])
    if required <= offered:
        missing = offered - required
        message = f"the replicas are worth {required}, the servers hold {offered}"
        raise RefusedError(message, missing)


def best_pattern(
    within: Sequence[np.ndarray], values: Sequence[np.ndarray], gpus_each: Sequence[int], size: int
) -> np.ndarray:
    """Value of a server's best pattern, by GPUs used: dynamic programming over the stages."""
    best = np.full((1, within[0].shape[1], size + 1), INFEASIBLE)  # by u, v and GPUs used
    for v in range(min(best.shape[1], size // gpus_each[0] + 1)):
        best[0, v, v * gpus_each[0]] = values[0][v]
    for s, fits in enumerate(within):
        last = s + 1 == len(within)
        after = np.full((fits.shape[1], fits.shape[2], size + 1), INFEASIBLE)
        for v in range(fits.shape[1]):
            for w in range(fits.shape[2]):
                used, more = (0, 0) if last else (w * gpus_each[s + 1], int(values[s + 1][w]))
                if used <= size and fits[:, v, w].any():
                    before = best[fits[:, v, w], v].max(axis=0)
                    after[v, w, used:] = before[: size + 1 - used] + more
        best = np.where(after < INFEASIBLE // 2, INFEASIBLE, after)
    return np.asarray(best.max(axis=(0, 1)))


def patterns_within(
    instance: Document, theta: float, size: int, work_rows: Path, options: CostOptions = DEFAULT
) -> list[np.ndarray]:
    """For each stage, by u, v and w: whether v of its replicas on a server can meet theta.

    u and w are the replicas of the previous and the next stage on the same server.
    """
    job, cluster = instance["job"], instance["cluster"]
    stages = job["stages"]
    gpus_each = [0, *(stage.get("tensor_parallel", 1) for stage in stages), 0]
    max_replicas = [
        min(st["replicas"], size // q) for st, q in zip(stages, gpus_each[1:], strict=False)
    ]
    neighbours = [0, *max_replicas, 0]
    works, reduces, within = [], [], []
    for s, v in enumerate(max_replicas):
        shape = neighbours[s] + 1, neighbours[s + 2] + 1
        times = [stage_times(job, cluster, s, n, shape, options) for n in range(1, v + 1)]
        works.append(np.stack([np.zeros(shape), *(work for work, _ in times)], axis=1))
        reduces.append(np.array([0.0, *(reduce for _, reduce in times)]))
        u, n, w = np.ogrid[: shape[0], : v + 1, : shape[1]]
        within.append(gpus_each[s] * u + gpus_each[s + 1] * n + gpus_each[s + 2] * w <= size)
    # Under other options the asynchronous pipeline below is a lower bound for micro-batches.
    if job.get("micro_batches") is not None and options == DEFAULT:
        return _pipelined(job, theta, (works, reduces, within), work_rows)
    if work_rows:
        raise RefusedError("a row of work, without micro-batches")
    for work, reduce, fits in zip(works, reduces, within, strict=True):
        fits &= work + reduce[:, None] <= theta * (1 + COMPARISON_RTOL)
    return within


def _pipelined(
    job: Document, theta: float, times: tuple[list[Any], list[Any], list[Any]], work_rows: Path
) -> list[np.ndarray]:
    """`patterns_within` for micro-batches, which pass all stages at the pace of the slowest server.

    (mu - 1)/mu max P + sum P / mu + max (A - hidden) <= theta, where a stage's work P and
    all-reduce A are those on this server, but at least their minimum on the server with the
    fewest replicas of the stage: all k of them, or at most half.
    """
    works, reduces, within = times
    mu, stages = job["micro_batches"], job["stages"]
    # Backward passes of the earlier stages hide a part of each all-reduce.
    hidden = np.cumsum([0.0, *(stage["backward_time"] for stage in stages[:-1])]) / mu
    # Rows of the tree: no server exceeds a time on a stage, or one does and sets a minimum.
    min_work, min_reduce = np.zeros(len(stages)), np.zeros(len(stages))
    for sign, row, limit in work_rows:
        s = range(len(stages))[row["stage"]]
        if set(row) not in ({"stage", "work"}, {"stage", "reduce"}) or limit not in (0, -1):
            raise RefusedError(f"a count by {sorted(row)}")
        seconds, minimum = (works[s], min_work) if "work" in row else (reduces[s], min_reduce)
        limit_seconds = float(row.get("work", row.get("reduce")))
        if sign > 0:
            slow = seconds > limit_seconds * (1 + COMPARISON_RTOL)
            within[s] &= ~(slow if slow.ndim > 1 else slow[:, None])
        else:
            minimum[s] = max(minimum[s], limit_seconds)
    # Minimum times exclude patterns, and fewer patterns raise the minimum times: repeat.
    for _ in stages:
        for s, (work, reduce, fits) in enumerate(zip(works, reduces, within, strict=True)):
            k = stages[s]["replicas"]
            may_be_fewest = [v > 0 and (v == k or 2 * v <= k) for v in range(len(reduce))]
            possible = fits & np.array(may_be_fewest)[:, None]
            min_work[s] = max(min_work[s], work[possible].min(initial=math.inf))
            possible_reduces = reduce[possible.any(axis=(0, 2))]
            min_reduce[s] = max(min_reduce[s], possible_reduces.min(initial=math.inf))
        for s, (work, reduce, fits) in enumerate(zip(works, reduces, within, strict=True)):
            others = np.delete(min_work, s)
            own_work = np.maximum(work, min_work[s])
            slowest = np.maximum(own_work, others.max(initial=0.0))
            exposed = np.delete(min_reduce - hidden, s).max(initial=-math.inf)
            exposed = np.maximum(np.maximum(reduce, min_reduce[s]) - hidden[s], exposed)
            waits = (mu - 1) / mu * slowest if mu > 1 else 0.0  # 0 times infinity is NaN
            total = waits + (own_work + others.sum()) / mu + exposed[:, None]
            within_theta = total <= theta * (1 + COMPARISON_RTOL)
            fits[:, 1:] &= within_theta[:, 1:]  # without a replica a stage takes no time
    return within


def stage_times(
    job: Document,
    cluster: Document,
    s: int,
    v: int,
    shape: Sequence[int],
    options: CostOptions = DEFAULT,
) -> tuple[np.ndarray, float]:
    """Seconds of v replicas of a stage by u and w, the replicas of the previous and the next."""
    stages, stage = job["stages"], job["stages"][s]
    inside, k, q = cluster["intra_bandwidth"], stage["replicas"], stage.get("tensor_parallel", 1)
    nic = q * cluster["inter_bandwidth"] / cluster["gpus_per_server"]
    backward = options.backward_overlap * stage["backward_time"]
    time = np.full(shape, float(stage["forward_time"] + backward))
    time += 2 * (q - 1) / q * stage.get("tensor_bytes", 0) / inside
    time += stage.get("expert_bytes", 0) * ((k - v) / k / nic + (v - 1) / k / inside)
    for neighbour, size, axis in ((s - 1, "input_bytes", 0), (s + 1, "output_bytes", 1)):
        if 0 <= neighbour < len(stages):
            local_share = np.arange(shape[axis]) / stages[neighbour]["replicas"]
            transfer = 2 * stage[size] * ((1 - local_share) / nic + local_share / inside)
            time += transfer[:, None] if axis == 0 else transfer[None, :]
    all_reduce = 2 * (k - 1) / k * stage["parameter_bytes"]
    # The fewest replicas on any server are at most these here, and at most those elsewhere.
    fewest = min(v, k - v) if options.all_reduce_bandwidth == "bottleneck" else v
    bandwidth = q * inside if v == k else fewest * nic
    return time, options.all_reduce_overlap * all_reduce / bandwidth
