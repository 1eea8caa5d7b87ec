"""The six policies of FGD's evaluation: each arrival is placed at once, or rejected if none fits.

Guarantee: none. A policy scores every node that can take the task and chooses the highest score;
among equal scores the first node in an order drawn by the seed. Scores are integers from 0 to 100,
as in the published simulator, so equal scores are common. A task never leaves.

- ``random``: any such node, and any GPU that can take a share.
- ``dot-product``: least dot product of demand and free CPU and GPUs (Tetris).
- ``gpu-clustering``: nodes that hold only tasks of the same number of GPUs, then mixed ones
  with some, empty ones, others; within these the fullest.
- ``gpu-packing``: GPUs in use, then free GPUs of nodes in use, then free nodes.
- ``best-fit``: least free CPU and GPUs afterwards, both relative to the largest node.
- ``fgd``: least increase of the expected fragmentation of a task drawn from the instance's mix.

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
    """Free CPU and memory (N,) and milli of each GPU (N, G; -1 beyond), and classes of tasks.

    `kinds` (N, G + 1) tells which numbers of GPUs tasks on a node have, column 0 for shares.
    """

    cpu: Any
    memory: Any
    milli: Any
    gpus: Any
    class_of: Any
    kinds: Any
    max_cpu: float
    max_milli: float


def run_policy(
    name: str, instance: PackingInstance, options: PackingOptions, settings: Settings
) -> Outcome:
    """Place all arrivals by a policy."""
    began = clock()
    tables = Tables(instance)
    nodes, gpus = placements_of(name, tables, settings.seed)
    placed = [
        (task, int(nodes[task]), tuple(int(g) for g in gpus[task] if g >= 0))
        for task in np.flatnonzero(nodes >= 0).tolist()
    ]
    return packing_outcome(tables, placed, clock() - began)


def packing_outcome(tables: Tables, placed: list[Placement], seconds: float) -> Outcome:
    """The outcome of a heuristic."""
    return Outcome(
        tables.solution(placed),
        Termination.FEASIBLE,
        claimed=tables.idle_beside(placed),
        solve_time=seconds,
    )


def placements_of(name: str, tables: Tables, seed: int) -> tuple[Any, Any]:
    """Node of each arrival, -1 if rejected, and its GPUs (A, G), padded with -1."""
    generator = np.random.default_rng(seed)
    state, mix = initial_state(tables), typical_tasks(tables)
    order = generator.permutation(len(state.cpu))
    steps = len(tables.arrivals) * len(order) * (len(mix.cpu) if name == "fgd" else 1)
    run = place_arrivals.for_size(steps)
    policy = POLICIES.index(name)
    nodes, gpus = run(
        policy, tables.arrivals, tables.demand, tables.accepts, state, mix, order, generator
    )
    return nodes, gpus


def initial_state(tables: Tables) -> State:
    """All nodes empty."""
    cpu, memory, gpus = tables.capacity.T
    width = int(gpus.max())
    milli = np.where(np.arange(width) < gpus[:, None], MILLI, -1)
    kinds = np.zeros((len(cpu), width + 1), dtype=np.bool_)
    class_of = tables.class_of
    largest = float(max(cpu.max(), 1)), float(MILLI * width)
    return State(cpu.copy(), memory.copy(), milli, gpus.copy(), class_of, kinds, *largest)


def typical_tasks(tables: Tables) -> Mix:
    """The most frequent types of tasks, up to `TYPICAL_SHARE` of the tasks."""
    counts: Counter[Any] = Counter()
    for task in tables.instance.tasks:
        counts[task.cpu_milli, task.gpu_milli, task.models] += task.count
    frequent = sorted(counts.items(), key=lambda item: (item[1], item[0]), reverse=True)
    total = np.cumsum([count for _, count in frequent])
    frequent = frequent[: 1 + int(np.searchsorted(total, TYPICAL_SHARE * total[-1]))]
    firsts = [tables.instance.nodes[members[0]].model for members in tables.classes]
    keys = [key for key, _ in frequent]
    share = np.array([count for _, count in frequent], dtype=float)
    return Mix(
        np.array([cpu for cpu, _, _ in keys], dtype=np.int64),
        np.array([min(milli, MILLI) for _, milli, _ in keys], dtype=np.int64),
        np.array([-(-milli // MILLI) for _, milli, _ in keys], dtype=np.int64),
        np.array([[not models or m in models for m in firsts] for _, _, models in keys]),
        share / share.sum(),
    )


@kernel
def place_arrivals(
    policy: int,
    arrivals: Any,
    demand: Any,
    accepts: Any,
    state: State,
    mix: Mix,
    order: Any,
    generator: Any,
) -> Any:
    """Place arrivals one after another; see `placements_of`."""
    count, width = len(state.cpu), state.milli.shape[1]
    nodes = np.full(len(arrivals), -1, np.int64)
    gpus = np.full((len(arrivals), width), -1, np.int64)
    # FGD's scores by type and node, valid while the node has not changed since (changes).
    scores = np.zeros((len(demand), count), np.int64)
    scored_at = np.full((len(demand), count), -1, np.int64)
    changes = np.zeros(count, np.int64)
    for a in range(len(arrivals)):
        t = arrivals[a]
        cpu, memory, milli = demand[t]
        best, best_score, fitting = -1, -1, 0
        for n in order:
            if not _fits(cpu, memory, milli, accepts[t, state.class_of[n]], state, n):
                continue
            if policy == RANDOM:  # reservoir sampling: each fitting node with equal chance
                fitting += 1
                if generator.random() * fitting < 1.0:
                    best = n
                continue
            if policy == FGD:
                if scored_at[t, n] != changes[n]:
                    scores[t, n], scored_at[t, n] = _fgd(cpu, milli, state, n, mix)[0], changes[n]
                score = scores[t, n]
            else:
                score = _score(policy, cpu, milli, state, n)
            if score > best_score:
                best, best_score = n, score
        if best < 0:
            continue
        nodes[a] = best
        if 0 < milli < MILLI:
            if policy == FGD:
                gpu = _fgd(cpu, milli, state, best, mix)[1]
            elif policy == RANDOM:
                gpu = _any_gpu(milli, state.milli[best], generator)
            else:
                gpu = _fullest_gpu(milli, state.milli[best])
            gpus[a, 0] = gpu
            state.milli[best, gpu] -= milli
            state.kinds[best, 0] = True
        elif milli > 0:
            taken = 0
            for g in range(width):
                if state.milli[best, g] == MILLI and taken * MILLI < milli:
                    gpus[a, taken] = g
                    state.milli[best, g] = 0
                    taken += 1
            state.kinds[best, taken] = True
        state.cpu[best] -= cpu
        state.memory[best] -= memory
        changes[best] += 1
    return nodes, gpus


@register_jitable
def _fits(cpu: int, memory: int, milli: int, accepted: bool, state: State, n: int) -> bool:
    """Whether a node can take a task."""
    if not accepted or state.cpu[n] < cpu or state.memory[n] < memory:
        return False
    wanted = (milli + MILLI - 1) // MILLI
    asked = min(milli, MILLI)
    for g in range(state.gpus[n]):
        if wanted > 0 and state.milli[n, g] >= asked:
            wanted -= 1
    return wanted == 0


@register_jitable
def _score(policy: int, cpu: int, milli: int, state: State, n: int) -> int:
    """Integer score of a node that can take a task."""
    free = 0
    for g in range(state.gpus[n]):
        free += state.milli[n, g]
    if policy == DOT_PRODUCT:
        product = cpu / state.max_cpu * (state.cpu[n] / state.max_cpu)
        product += milli / state.max_milli * (free / state.max_milli)
        return int(MAX_SCORE * (1.0 - product / 2.0))
    if policy == BEST_FIT:
        left = 0.5 * (state.cpu[n] - cpu) / state.max_cpu + 0.5 * (free - milli) / state.max_milli
        return int(MAX_SCORE * (1.0 - left))
    if milli == 0:
        return 0
    if policy == PACKING:
        return _packing_score(milli, state.milli[n, : state.gpus[n]])
    kind = 0 if milli < MILLI else milli // MILLI
    kinds, rank = 0, 0
    for other in range(state.kinds.shape[1]):
        kinds += state.kinds[n, other]
    if state.kinds[n, kind]:
        rank = 3 if kinds == 1 else 2
    elif kinds == 0:
        rank = 1
    quarter = MAX_SCORE // 4
    return int(quarter * (state.max_milli - free) // state.max_milli) + rank * quarter


@register_jitable
def _packing_score(milli: int, free: Any) -> int:
    """Score of ``gpu-packing``: shared GPUs, free GPUs of a node in use, GPUs of a free node."""
    idle = 0
    for left in free:
        idle += left == MILLI
    if idle == len(free):
        return max(MAX_SCORE // 3 - idle, idle)
    wanted, opened, room = (milli + MILLI - 1) // MILLI, 0, 0
    for left in np.sort(free):
        if wanted > 0 and left >= min(milli, MILLI):
            wanted -= 1
            opened += left == MILLI
            room += left * 100 // MILLI
    if opened > 0:
        return max(MAX_SCORE // 2 - opened, MAX_SCORE // 3)
    return max(MAX_SCORE - room // 10, MAX_SCORE // 2)


@register_jitable
def _fullest_gpu(milli: int, free: Any) -> int:
    """The GPU with the least room that can take a share."""
    best = -1
    for g in range(len(free)):
        if free[g] >= milli and (best < 0 or free[g] < free[best]):
            best = g
    return best


@register_jitable
def _any_gpu(milli: int, free: Any, generator: Any) -> int:
    """Any GPU that can take a share, with equal chance."""
    best, fitting = -1, 0
    for g in range(len(free)):
        if free[g] >= milli:
            fitting += 1
            if generator.random() * fitting < 1.0:
                best = g
    return best


@register_jitable
def _fgd(cpu: int, milli: int, state: State, n: int, mix: Mix) -> tuple[int, int]:
    """Best score of a task on a node by the change of its fragmentation, and the share's GPU."""
    free = state.milli[n, : state.gpus[n]].copy()
    kind = state.class_of[n]
    before = fragmentation(state.cpu[n], free, kind, mix)
    if not 0 < milli < MILLI:
        taken = 0
        for g in range(len(free)):
            if free[g] == MILLI and taken < milli:
                free[g] = 0
                taken += MILLI
        return _sigmoid_score(before - fragmentation(state.cpu[n] - cpu, free, kind, mix)), -1
    best, best_score = -1, -1
    for g in range(len(free)):
        if free[g] < milli:
            continue
        repeated = False  # a GPU as free as an earlier one has the same score
        for other in range(g):
            repeated = repeated or free[other] == free[g]
        if repeated:
            continue
        free[g] -= milli
        score = _sigmoid_score(before - fragmentation(state.cpu[n] - cpu, free, kind, mix))
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
    idle, total = 0, 0.0
    for left in free:
        idle += left
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
