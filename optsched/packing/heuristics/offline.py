"""Method ``offline``: pack with all tasks known, and any of them refused, by ruin and recreate.

Guarantee: none. Nodes are filled one after another; then a pair of nodes, the first preferably with
idle GPUs, is emptied and filled again, and the new content is kept unless more milli are idle. A
fill goes through the types in a drawn order: large demands first, weighed against CPU, with noise;
a share goes to the fullest GPU that can take it. Tasks without GPUs fill the CPU that is left.
Complexity: O(T + J G) a fill for T types and J tasks on a node. `settings.iterations` limits the
pairs (default `PAIRS_PER_NODE` a node). Source: Schrimpf et al., Record breaking optimization
results using the ruin and recreate principle (2000).
"""

from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.kernels import kernel
from optsched.packing.heuristics.policies import packing_outcome
from optsched.packing.instance import MILLI, PackingInstance
from optsched.packing.options import PackingOptions
from optsched.packing.tables import Ints, Placement, Tables
from optsched.result import Outcome, Settings

PAIRS_PER_NODE = 1000
PAIRS_PER_ROUND = 20_000
ORDERS = 256
"""Drawn orders of the types in a round."""
MAX_HELD = 4096
"""Tasks on one node that an offline packing keeps track of."""
IDLE_FIRST = 0.8
"""Share of pairs whose first node has idle GPUs."""


class Packing(NamedTuple):
    """Tasks not placed by type (T,), the types on each node (N, J), their number, and idle milli."""

    pool: Any
    held: Any
    held_count: Any
    idle: Any


def offline(instance: PackingInstance, options: PackingOptions, settings: Settings) -> Outcome:
    """Pack offline."""
    tables = Tables(instance)
    placed = offline_placements(tables, settings)
    return packing_outcome(tables, placed, settings.deadline.spent)


def offline_placements(tables: Tables, settings: Settings) -> list[Placement]:
    """The tasks placed by `offline`."""
    generator = np.random.default_rng(settings.seed)
    nodes, pairs = len(tables.capacity), settings.iterations
    pairs = PAIRS_PER_NODE * nodes if pairs is None else pairs
    packing = empty_packing(tables)
    while True:
        count = min(pairs, PAIRS_PER_ROUND)
        orders = drawn_orders(tables, generator)
        run = recreate.for_size((nodes + 2 * count) * len(orders[0]))
        run(packing, orders, *_data(tables), generator, count)
        pairs -= count
        if pairs <= 0 or settings.deadline.is_over or not packing.idle.any():
            return _with_cpu_tasks(tables, packing)


def _data(tables: Tables) -> tuple[Any, ...]:
    fits = tables.fits & (tables.demand[:, 2] > 0)[:, None]
    return tables.demand, fits, tables.capacity, tables.class_of


def empty_packing(tables: Tables) -> Packing:
    milli, gpus = tables.demand[:, 2], tables.capacity[:, 2]
    smallest = int(milli[milli > 0].min(initial=MILLI))
    width = min(int(gpus.max()) * max(MILLI // smallest, 1), MAX_HELD, len(tables.arrivals))
    held = np.zeros((len(gpus), width), dtype=np.int32)
    return Packing(tables.count.copy(), held, np.full(len(gpus), -1), MILLI * gpus)


def drawn_orders(tables: Tables, generator: Any) -> Ints:
    """(ORDERS, T): types by milli over a power of their CPU, with noise."""
    cpu, _, milli = tables.demand.T.astype(float)
    size = np.log(np.maximum(milli, 1.0)) / np.log(MILLI)
    weight = np.log(1.0 + cpu) / np.log(2.0 + cpu.max())
    shape = ORDERS, len(cpu)
    power, noise = generator.random((ORDERS, 1)), generator.random((ORDERS, 1))
    keys = size - power * weight + noise * generator.standard_normal(shape)
    return np.argsort(-keys, axis=1)


@kernel
def recreate(
    packing: Packing,
    orders: Any,
    demand: Any,
    fits: Any,
    capacity: Any,
    class_of: Any,
    generator: Any,
    pairs: int,
) -> None:
    """Fill nodes that are not filled yet, then empty and fill pairs of nodes again."""
    nodes, width = packing.held.shape
    free = np.zeros(max(capacity[:, 2].max(), 1), np.int64)
    before, counts = np.zeros((2, width), np.int32), np.zeros(2, np.int64)
    for n in range(nodes):
        if packing.held_count[n] < 0:
            packing.held_count[n] = 0
            order = orders[generator.integers(0, len(orders))]
            _fill(n, order, packing, demand, fits, capacity, class_of, free)
    for _ in range(pairs):
        first = generator.integers(0, nodes)
        if generator.random() < IDLE_FIRST:
            for _ in range(nodes):
                if packing.idle[first] > 0:
                    break
                first = (first + 1) % nodes
        second = generator.integers(0, nodes)
        pair = (first, second) if second != first else (first, first)
        idle = 0
        for i in range(1 + (second != first)):
            n = pair[i]
            idle += packing.idle[n]
            counts[i] = packing.held_count[n]
            before[i, : counts[i]] = packing.held[n, : counts[i]]
            _empty(n, packing)
        left = 0
        for i in range(1 + (second != first)):
            order = orders[generator.integers(0, len(orders))]
            _fill(pair[i], order, packing, demand, fits, capacity, class_of, free)
            left += packing.idle[pair[i]]
        if left <= idle:
            continue
        for i in range(1 + (second != first)):
            _empty(pair[i], packing)
        for i in range(1 + (second != first)):
            n = pair[i]
            packing.idle[n] = MILLI * capacity[n, 2]
            for j in range(counts[i]):
                t = before[i, j]
                packing.held[n, j] = t
                packing.pool[t] -= 1
                packing.idle[n] -= demand[t, 2]
            packing.held_count[n] = counts[i]


@register_jitable
def _empty(n: int, packing: Packing) -> None:
    """Return a node's tasks to the pool."""
    for j in range(packing.held_count[n]):
        packing.pool[packing.held[n, j]] += 1
    packing.held_count[n] = 0


@register_jitable
def _fill(
    n: int,
    order: Any,
    packing: Packing,
    demand: Any,
    fits: Any,
    capacity: Any,
    class_of: Any,
    free: Any,
) -> None:
    """Fill an empty node with tasks of the pool, type by type; GPUs with shares come first."""
    cpu, memory, whole = capacity[n]
    opened, idle, count = 0, MILLI * whole, 0
    for t in order:
        if idle == 0 or count == packing.held.shape[1]:
            break
        if not fits[t, class_of[n]]:
            continue
        milli = demand[t, 2]
        while packing.pool[t] > 0 and demand[t, 0] <= cpu and demand[t, 1] <= memory:
            if milli >= MILLI:
                if milli // MILLI > whole - opened:
                    break
                whole -= milli // MILLI
            else:
                gpu = fullest_gpu(milli, free, opened)
                if gpu == opened:
                    if opened == whole:
                        break
                    free[opened] = MILLI
                    opened += 1
                free[gpu] -= milli
            cpu -= demand[t, 0]
            memory -= demand[t, 1]
            idle -= milli
            packing.pool[t] -= 1
            packing.held[n, count] = t
            count += 1
            if count == packing.held.shape[1]:
                break
    packing.held_count[n] = count
    packing.idle[n] = idle


@register_jitable
def fullest_gpu(milli: int, free: Any, opened: int) -> int:
    """The opened GPU with the least room that can take a share; `opened` if there is none."""
    best = opened
    for g in range(opened):
        if free[g] >= milli and (best == opened or free[g] < free[best]):
            best = g
    return best


def _with_cpu_tasks(tables: Tables, packing: Packing) -> list[Placement]:
    """Assign tasks and GPUs as `_fill` did, then place tasks without GPUs where they fit."""
    left = [list(reversed(places)) for places in tables.places]
    room, placed = tables.capacity[:, :2].copy(), []
    for n, count in enumerate(packing.held_count.tolist()):
        free, opened, whole = np.zeros(tables.capacity[n, 2] + 1, dtype=np.int64), 0, 0
        for t in packing.held[n, :count].tolist():
            task = tables.instance.tasks[t]
            if task.is_share:
                gpu = fullest_gpu(task.gpu_milli, free, opened)
                if gpu == opened:
                    free[opened], opened = MILLI, opened + 1
                free[gpu] -= task.gpu_milli
                gpus: tuple[int, ...] = (int(gpu),)
            else:
                last = int(tables.capacity[n, 2]) - whole
                gpus = tuple(range(last - task.gpus, last))
                whole += task.gpus
            room[n] -= tables.demand[t, :2]
            placed.append((left[t].pop(), n, gpus))
    for t in np.flatnonzero(tables.demand[:, 2] == 0).tolist():
        accepted = tables.accepts[t][tables.class_of]
        while left[t]:
            fitting = np.flatnonzero((room >= tables.demand[t, :2]).all(axis=1) & accepted)
            if not len(fitting):
                break
            room[fitting[0]] -= tables.demand[t, :2]
            placed.append((left[t].pop(), int(fitting[0]), ()))
    return placed
