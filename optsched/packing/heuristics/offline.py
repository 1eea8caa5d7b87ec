"""Method ``offline``: pack with all tasks known, and any of them refused, by ruin and recreate.

Guarantee: none. Nodes are filled one after another; then pairs of nodes, the first preferably with
idle GPUs, are emptied and filled again, and the new tasks stay unless more GPUs are idle. A fill
takes the types in a drawn order: large demands first, weighed against CPU, with noise; a share goes
to the fullest GPU that can take it. Tasks without GPUs fill the CPU that is left. Complexity:
O(T + J G) a fill for T types and J tasks on a node. `settings.iterations` limits the pairs (default
`PAIRS_PER_NODE` a node). Source: Schrimpf et al., Record Breaking Optimization Results Using the
Ruin and Recreate Principle (2000).
"""

from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.kernels import kernel
from optsched.packing.heuristics.policies import fullest_gpu, packing_outcome
from optsched.packing.instance import MILLI, PackingInstance
from optsched.packing.options import PackingOptions
from optsched.packing.tables import Ints, Placement, Tables
from optsched.result import Outcome, Settings

PAIRS_PER_NODE = 1000
PAIRS_PER_ROUND = 20_000
ORDERS = 256
"""Drawn orders of the types in a round."""
MAX_HELD = 4096
"""Tasks that one node can hold in an offline packing."""
IDLE_FIRST = 0.8
"""Share of pairs whose first node has idle GPUs."""


class Packing(NamedTuple):
    """Tasks not placed (T,), and by node: held types and first GPUs (N, J), number, idle milli."""

    pool: Any
    held: Any
    gpu: Any
    count: Any
    idle: Any


def offline(instance: PackingInstance, options: PackingOptions, settings: Settings) -> Outcome:
    tables = Tables(instance)
    return packing_outcome(tables, offline_placements(tables, settings), settings.deadline.spent)


def offline_placements(tables: Tables, settings: Settings) -> list[Placement]:
    generator = np.random.default_rng(settings.seed)
    nodes, packing, done = len(tables.capacity), empty_packing(tables), -1
    pairs = PAIRS_PER_NODE * nodes if settings.iterations is None else settings.iterations
    fits = tables.fits & (tables.demand[:, 2] > 0)[:, None]
    data = tables.demand, fits, tables.capacity, tables.class_of
    while done < 0 or (done < pairs and packing.idle.any() and not settings.deadline.is_over):
        count = 0 if done < 0 else min(pairs - done, PAIRS_PER_ROUND)
        orders = drawn_orders(tables, generator)
        run = recreate.for_size((nodes + 2 * count) * len(tables.count))
        run(packing, data, orders, generator, count)
        done += max(count, 1)
    return _placements(tables, packing)


def empty_packing(tables: Tables) -> Packing:
    milli, gpus = tables.demand[:, 2], tables.capacity[:, 2]
    smallest = int(milli[milli > 0].min(initial=MILLI))
    width = min(int(gpus.max()) * max(MILLI // smallest, 1), MAX_HELD, len(tables.arrivals))
    held, gpu = np.zeros((2, len(gpus), width), dtype=np.int32)
    return Packing(tables.count.copy(), held, gpu, np.zeros_like(gpus), MILLI * gpus)


def drawn_orders(tables: Tables, generator: Any) -> Ints:
    """(ORDERS, T): types by milli over a power of their CPU, with noise."""
    cpu, _, milli = tables.demand.T.astype(float)
    size = np.log(np.maximum(milli, 1.0)) / np.log(MILLI)
    weight = np.log(1.0 + cpu) / np.log(2.0 + cpu.max())
    power, scale = generator.random((2, ORDERS, 1))
    noise = scale * generator.standard_normal((ORDERS, len(cpu)))
    return np.argsort(power * weight - size - noise, axis=1)


@kernel
def recreate(packing: Packing, data: Any, orders: Any, generator: Any, pairs: int) -> None:
    """Empty drawn pairs of nodes and fill them again; with 0 pairs fill each node in turn."""
    nodes = len(packing.held)
    free = np.zeros(data[2][:, 2].max(), np.int64)
    pair = np.zeros(min(2, nodes), np.int64)
    for n in range(0 if pairs else nodes):
        _fill(n, packing, data, orders[generator.integers(0, len(orders))], free)
    for _ in range(pairs):
        n = generator.integers(0, nodes)
        if generator.random() < IDLE_FIRST:
            for _ in range(nodes):
                if packing.idle[n] > 0:
                    break
                n = (n + 1) % nodes
        pair[0] = n
        if nodes > 1:
            pair[1] = (n + generator.integers(1, nodes)) % nodes
        held, gpu = packing.held[pair], packing.gpu[pair]
        counts, idle = packing.count[pair], packing.idle[pair]
        for emptied in pair:
            _add_to_pool(emptied, packing, 1)
        for emptied in pair:
            _fill(emptied, packing, data, orders[generator.integers(0, len(orders))], free)
        if packing.idle[pair].sum() <= idle.sum():
            continue
        for i, emptied in enumerate(pair):  # the old tasks were better
            _add_to_pool(emptied, packing, 1)
            packing.held[emptied], packing.gpu[emptied] = held[i], gpu[i]
            packing.count[emptied], packing.idle[emptied] = counts[i], idle[i]
            _add_to_pool(emptied, packing, -1)


@register_jitable
def _add_to_pool(n: int, packing: Packing, sign: int) -> None:
    for t in packing.held[n, : packing.count[n]]:
        packing.pool[t] += sign


@register_jitable
def _fill(n: int, packing: Packing, data: Any, order: Any, free: Any) -> None:
    """Fill an empty node from the pool: GPUs with shares from the first, whole ones to the last."""
    demand, fits, capacity, class_of = data
    cpu, memory, whole = capacity[n]
    opened, idle, count = 0, MILLI * whole, 0
    for t in order:
        if idle == 0:
            break
        milli = demand[t, 2]
        while (
            fits[t, class_of[n]]
            and packing.pool[t] > 0
            and demand[t, 0] <= cpu
            and demand[t, 1] <= memory
            and idle >= milli
            and count < packing.held.shape[1]
        ):
            gpu = whole - milli // MILLI
            if milli >= MILLI:
                if gpu < opened:
                    break
                whole = gpu
            else:
                gpu = fullest_gpu(milli, free[:opened])
                if gpu < 0:
                    if opened == whole:
                        break
                    gpu, free[opened] = opened, MILLI
                    opened += 1
                free[gpu] -= milli
            cpu -= demand[t, 0]
            memory -= demand[t, 1]
            idle -= milli
            packing.pool[t] -= 1
            packing.held[n, count], packing.gpu[n, count] = t, gpu
            count += 1
    packing.count[n], packing.idle[n] = count, idle


def _placements(tables: Tables, packing: Packing) -> list[Placement]:
    """The held tasks, first arrivals first, and tasks without GPUs on the first nodes they fit."""
    left, placed = tables.places(), []
    for n, count in enumerate(packing.count.tolist()):
        for t, gpu in zip(packing.held[n, :count], packing.gpu[n, :count], strict=True):
            gpus = range(gpu, gpu + tables.instance.tasks[t].gpus)
            placed.append((left[t].pop(), n, tuple(map(int, gpus))))
    room = tables.room(placed)
    for t in np.flatnonzero(tables.demand[:, 2] == 0).tolist():
        accepted = tables.fits[t][tables.class_of]
        while left[t]:
            fitting = np.flatnonzero((room >= tables.demand[t, :2]).all(axis=1) & accepted)
            if not len(fitting):
                break
            room[fitting[0]] -= tables.demand[t, :2]
            placed.append((left[t].pop(), int(fitting[0]), ()))
    return placed
