"""The six policies of FGD's evaluation: each arrival is placed at once, or rejected if none fits.

Guarantee: none. A policy (`POLICIES`; their rules are the titles of its methods in `problem.py`)
scores every node that can take the task and chooses the highest score; among equal scores the first
node in an order drawn by the seed. Scores are integers from 0 to 100, as in the published
simulator, so equal scores are common. A task never leaves.

A share goes to the fullest GPU that can take it, under ``fgd`` to the GPU of least increase. The
mix holds the most frequent types that together are `TYPICAL_SHARE` of the tasks; types differ by
CPU, GPUs and models, not by memory. Complexity: O(A (N + C M)) for A arrivals, N nodes, M types of
the mix and C nodes that changed since the last task of the same type. Source: FGD (USENIX ATC '23),
sections 4 and 6, and the published simulator (hkust-adsl/kubernetes-scheduler-simulator).
"""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.deadline import clock
from optsched.kernels import kernel
from optsched.packing.instance import MILLI, PackingInstance
from optsched.packing.options import PackingOptions
from optsched.packing.tables import Placement, Tables
from optsched.result import Outcome, Settings, Termination

POLICIES = ("random", "dot-product", "gpu-clustering", "gpu-packing", "best-fit", "fgd")
RANDOM, DOT_PRODUCT, CLUSTERING, PACKING, BEST_FIT, FGD = range(6)
TYPICAL_SHARE = 0.95
"""Share of the tasks in FGD's mix of typical tasks, as in its published experiments."""
MAX_SCORE = 100


class Mix(NamedTuple):
    """FGD's typical tasks: CPU, milli of each GPU, GPUs, accepted classes (M, K) and share."""

    cpu: Any
    milli: Any
    gpus: Any
    accepts: Any
    share: Any


class State(NamedTuple):
    """Free CPU and memory (N,) and milli of each GPU (N, G; -1 beyond the node's GPUs).

    `idle`, `largest` and `empty` (N,): sum of the GPUs' free milli, their maximum, and how many are
    free. `kinds` (N, G + 1): whether tasks with so many GPUs are on a node, column 0 for shares.
    """

    cpu: Any
    memory: Any
    milli: Any
    gpus: Any
    class_of: Any
    kinds: Any
    idle: Any
    largest: Any
    empty: Any


def run_policy(
    name: str, instance: PackingInstance, options: PackingOptions, settings: Settings
) -> Outcome:
    began, tables = clock(), Tables(instance)
    nodes, gpus = placements_of(name, tables, settings.seed)
    placed = [
        (task, int(nodes[task]), tuple(gpus[task, gpus[task] >= 0].tolist()))
        for task in np.flatnonzero(nodes >= 0).tolist()
    ]
    return packing_outcome(tables, placed, clock() - began)


def packing_outcome(tables: Tables, placed: list[Placement], seconds: float) -> Outcome:
    idle, ended = tables.idle_beside(placed), Termination.FEASIBLE
    return Outcome(tables.solution(placed), ended, claimed=idle, solve_time=seconds)


def placements_of(name: str, tables: Tables, seed: int) -> Any:
    """Node of each arrival, -1 if rejected, and its GPUs (A, G), padded with -1."""
    generator = np.random.default_rng(seed)
    state, mix = initial_state(tables), typical_tasks(tables)
    order = generator.permutation(len(state.cpu))
    steps = len(tables.arrivals) * len(order) * (len(mix.cpu) if name == "fgd" else 1)
    tasks = tables.arrivals, tables.demand, tables.fits
    run = place_arrivals.for_size(steps)
    return run(POLICIES.index(name), tasks, state, mix, (order, generator))


def initial_state(tables: Tables) -> State:
    cpu, memory, gpus = np.ascontiguousarray(tables.capacity.T)
    width = int(gpus.max())
    milli = np.where(np.arange(width) < gpus[:, None], MILLI, -1)
    kinds = np.zeros((len(cpu), width + 1), dtype=np.bool_)
    sums = MILLI * gpus, MILLI * np.minimum(gpus, 1), gpus.copy()
    return State(cpu.copy(), memory.copy(), milli, gpus, tables.class_of, kinds, *sums)


def typical_tasks(tables: Tables) -> Mix:
    """The most frequent types of tasks, up to `TYPICAL_SHARE` of the tasks."""
    counts: Counter[Any] = Counter()
    for task in tables.instance.tasks:
        counts[task.cpu_milli, task.gpu_milli, task.models] += task.count
    frequent = sorted(counts.items(), key=lambda item: (item[1], item[0]), reverse=True)
    total = np.cumsum([count for _, count in frequent])
    frequent = frequent[: 1 + int(np.searchsorted(total, TYPICAL_SHARE * total[-1]))]
    cpu, milli, models = zip(*(key for key, _ in frequent), strict=True)
    firsts = [tables.instance.nodes[n].model for n in tables.firsts]
    share = np.array([count for _, count in frequent], dtype=float)
    return Mix(
        np.array(cpu),
        np.minimum(milli, MILLI),
        -(-np.array(milli) // MILLI),
        np.array([[not accepted or m in accepted for m in firsts] for accepted in models]),
        share / share.sum(),
    )


@kernel
def place_arrivals(policy: int, tasks: Any, state: State, mix: Mix, drawn: Any) -> Any:
    """Place arrivals one after another; see `placements_of`."""
    (arrivals, demand, fits), (order, generator) = tasks, drawn
    count, width = state.milli.shape
    largest = max(state.cpu.max(), 1), MILLI * width  # CPU and milli of the largest node
    nodes = np.full(len(arrivals), -1, np.int64)
    gpus = np.full((len(arrivals), width), -1, np.int64)
    # FGD's scores by type and node, valid while the node has not changed since (changes).
    scores = np.zeros((len(demand), count), np.int64)
    scored_at = np.full((len(demand), count), -1, np.int64)
    changes = np.zeros(count, np.int64)
    for a, t in enumerate(arrivals):
        cpu, _, milli = demand[t]
        best, best_score, fitting = -1, -1, 0
        for n in order:
            if not (fits[t, state.class_of[n]] and _has_room(demand[t], state, n)):
                continue
            if policy == RANDOM:  # reservoir sampling: each fitting node with equal chance
                fitting += 1
                score = best_score + (generator.random() * fitting < 1.0)
            elif policy == FGD:
                if scored_at[t, n] != changes[n]:
                    scores[t, n], scored_at[t, n] = _fgd(cpu, milli, state, n, mix)[0], changes[n]
                score = scores[t, n]
            else:
                score = _score(policy, cpu, milli, state, n, largest)
            if score > best_score:
                best, best_score = n, score
        if best < 0:
            continue
        nodes[a] = best
        chosen = _chosen_gpus(policy, cpu, milli, state, best, mix, generator)
        gpus[a, : len(chosen)] = chosen
        _take(demand[t], chosen, state, best)
        changes[best] += 1
    return nodes, gpus


@register_jitable
def _has_room(demand: Any, state: State, n: int) -> bool:
    cpu, memory, milli = demand
    if state.cpu[n] < cpu or state.memory[n] < memory:
        return False
    if milli < MILLI:
        return bool(state.largest[n] >= milli)
    return bool(MILLI * state.empty[n] >= milli)


@register_jitable
def _chosen_gpus(
    policy: int, cpu: int, milli: int, state: State, n: int, mix: Mix, generator: Any
) -> Any:
    """The GPUs of a node that a task gets: the first free ones, or one for a share."""
    free = state.milli[n]
    if milli == 0 or milli >= MILLI:
        return np.flatnonzero(free == MILLI)[: milli // MILLI]
    able = np.flatnonzero(free >= milli)
    if policy == RANDOM:
        able[0] = able[generator.integers(0, len(able))]
    elif policy == FGD:
        able[0] = _fgd(cpu, milli, state, n, mix)[1]
    else:
        able[0] = fullest_gpu(milli, free)
    return able[:1]


@register_jitable
def _take(demand: Any, chosen: Any, state: State, n: int) -> None:
    cpu, memory, milli = demand
    free = state.milli[n]
    for g in chosen:
        free[g] -= min(milli, MILLI)
    if milli > 0:
        state.kinds[n, milli // MILLI] = True
        state.idle[n] -= milli
        state.largest[n], state.empty[n] = free.max(), (free == MILLI).sum()
    state.cpu[n] -= cpu
    state.memory[n] -= memory


@register_jitable
def _score(policy: int, cpu: int, milli: int, state: State, n: int, largest: Any) -> int:
    idle, (max_cpu, max_milli) = state.idle[n], largest
    if policy == DOT_PRODUCT:
        product = cpu / max_cpu * (state.cpu[n] / max_cpu) + milli / max_milli * (idle / max_milli)
        return int(MAX_SCORE * (1.0 - product / 2.0))
    if policy == BEST_FIT:
        left = 0.5 * (state.cpu[n] - cpu) / max_cpu + 0.5 * (idle - milli) / max_milli
        return int(MAX_SCORE * (1.0 - left))
    if milli == 0:
        return 0
    if policy == PACKING:
        return _packing_score(milli, state, n)
    kinds, rank = state.kinds[n].sum(), 0
    if state.kinds[n, milli // MILLI]:
        rank = 3 if kinds == 1 else 2
    elif kinds == 0:
        rank = 1
    quarter = MAX_SCORE // 4
    return quarter * (max_milli - idle) // max_milli + rank * quarter


@register_jitable
def _packing_score(milli: int, state: State, n: int) -> int:
    """Score of ``gpu-packing``: shared GPUs, free GPUs of a node in use, GPUs of a free node."""
    if state.empty[n] == state.gpus[n]:
        return max(MAX_SCORE // 3 - state.empty[n], state.empty[n])
    if milli < MILLI:
        left = state.milli[n, fullest_gpu(milli, state.milli[n])]
        if left < MILLI:
            return MAX_SCORE - left * 100 // MILLI // 10
    opened = (milli + MILLI - 1) // MILLI
    return max(MAX_SCORE // 2 - opened, MAX_SCORE // 3)


@register_jitable
def fullest_gpu(milli: int, free: Any) -> int:
    """The GPU with the least room that can take a share; -1 if none can."""
    best = -1
    for g in range(len(free)):
        if free[g] >= milli and (best < 0 or free[g] < free[best]):
            best = g
    return best


@register_jitable
def _fgd(cpu: int, milli: int, state: State, n: int, mix: Mix) -> tuple[int, int]:
    """Best score of a task on a node by the change of its fragmentation, and the share's GPU."""
    free, kind = state.milli[n, : state.gpus[n]].copy(), state.class_of[n]
    before, left = fragmentation(state.cpu[n], free, kind, mix), state.cpu[n] - cpu
    if milli == 0 or milli >= MILLI:
        for g in np.flatnonzero(free == MILLI)[: milli // MILLI]:
            free[g] = 0
        return _sigmoid_score(before - fragmentation(left, free, kind, mix)), -1
    best, best_score = -1, -1
    for g in range(len(free)):
        if free[g] < milli or (free[:g] == free[g]).any():  # equally free GPUs score alike
            continue
        free[g] -= milli
        score = _sigmoid_score(before - fragmentation(left, free, kind, mix))
        free[g] += milli
        if score > best_score:
            best, best_score = g, score
    return best_score, best


@register_jitable
def _sigmoid_score(decrease: float) -> int:
    return int(MAX_SCORE / (1.0 + np.exp(-decrease / MILLI)))


@register_jitable
def fragmentation(cpu: int, free: Any, kind: int, mix: Mix) -> float:
    """F_n(M): expected milli of a node that a task of the mix cannot use (FGD, section 4)."""
    idle, total = free.sum(), 0.0
    for m in range(len(mix.cpu)):
        unusable = idle
        if mix.milli[m] > 0 and mix.cpu[m] <= cpu and mix.accepts[m, kind]:
            small, large = 0, 0
            for left in free:
                if left < mix.milli[m]:
                    small += left
                else:
                    large += 1
            if large >= mix.gpus[m]:
                unusable = small
        total += mix.share[m] * unusable
    return total
