"""Method ``sts``: the stochastic scheduler of sts, for one interval.

Guarantee: none; the gap to the optimum is what this package measures. One pass over the jobs in
order of pressure (27). Each job prefers the first configuration of its single-job speed profile
(P3) on every GPU type. The types are sorted by expected energy, those that meet the due date first,
then the least late. Best fit chooses the node.

Interpretations where the paper is silent: models/selection/README.md, "The heuristics".
Postprocessing (VI-C) raises fractions, then k, on the idle GPUs of open nodes.

Complexity: O(J T (K^2 log^2 S + N)) for J jobs, T types, N nodes, S scenarios.
Source: sts, Algorithms 2 and 3, (27).
"""

from math import lcm
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from optsched.deadline import clock
from optsched.kernels import kernel
from optsched.result import Outcome, Settings
from optsched.selection.assignment import Placement
from optsched.selection.cost import Tables, tables_of, type_rates
from optsched.selection.heuristics.baselines import LATE, ON_TIME, UNUSABLE, heuristic_outcome
from optsched.selection.heuristics.cluster_state import Nodes, best_fit, max_free_gpus, nodes_of
from optsched.selection.instance import SelectionInstance
from optsched.selection.options import SelectionOptions
from optsched.speed_profile.exact._hull_kernel import (
    Hull,
    Speeds,
    curve_of,
    empty_hull,
    first_piece,
)
from optsched.uncertainty.survival import Curves

NODE, FIRST_GPU, PLACED, WANTED, FINAL, ADDED_GPU = range(6)
"""Rows of `select`: node, first GPU, configurations placed, wanted and final, first GPU added."""


class Jobs(NamedTuple):
    seconds: Any
    """(J, T, C): seconds per epoch; infinite if not usable."""
    curves: Curves
    """F^c of the remaining epochs."""
    due: Any
    """(J,): seconds to the due date."""
    latest_on_time: Any
    """(J,): the same plus rounding."""
    min_index: Any
    """(J, T): smallest admissible speed index."""


class Kinds(NamedTuple):
    gpus: Any
    """(T,): GPUs of the largest node."""
    rates: Any
    """(T, K): dollars per second with 1..K of them in use."""
    parts_per_gpu: Any
    """(T,): least common denominator of the fractions."""
    parts: Any
    """(T, C): parts of a GPU that each configuration takes; 0 where there is none."""


class Rules(NamedTuple):
    """Variants of STS."""

    try_fewer_gpus: bool
    """Whether fewer GPUs are tried where the preference fits nowhere."""
    fraction_for_first_piece: bool
    """Whether a fraction need only last for the first piece."""
    use_idle_gpus: bool
    """Whether idle GPUs of open nodes are allocated at the end (VI-C)."""
    min_piece_seconds: float
    """Shortest first piece."""


class Preferences(NamedTuple):
    """One job's preference on each type (T,): Algorithm 3's two keys, and what it takes."""

    rank: Any
    cost: Any
    configuration: Any
    piece_epochs: Any


class Free(NamedTuple):
    """Free GPUs of each node (N,), and free parts of each GPU (N, K); -1 if it is not shared."""

    gpus: Any
    shared_parts: Any


def sts(instance: SelectionInstance, options: SelectionOptions, settings: Settings) -> Outcome:
    started = clock()
    tables = tables_of(instance, options)
    return heuristic_outcome(tables, sts_assignment(tables), started)


def sts_assignment(tables: Tables) -> dict[int, Placement]:
    """Algorithm 2: placements by job."""
    jobs = Jobs(
        tables.seconds,
        tables.works.curves,
        tables.due,
        tables.latest_on_time,
        np.zeros(tables.seconds.shape[:2], dtype=np.int64),
    )
    rules = Rules(
        try_fewer_gpus=tables.options.strict == "off",
        fraction_for_first_piece=False,
        use_idle_gpus=tables.options.postprocessing == "on",
        min_piece_seconds=0.0,
    )
    order = np.argsort(-pressure(tables), kind="stable")
    nodes = nodes_of(tables.instance, tables.kind_of)
    steps = tables.seconds.size * (20 + len(nodes.gpus) / 10)
    placements, _ = select.for_size(steps)(jobs, kinds_of(tables), nodes, order, rules)
    placed = [j for j in order.tolist() if placements[NODE, j] >= 0]
    return {j: _place(tables, placements[:, j].tolist()) for j in placed}


def _place(tables: Tables, row: list[int]) -> Placement:
    kind = tables.kinds[tables.kind_of[row[NODE]]]
    placed_gpus, final_gpus = (kind.configurations[row[c]].gpus for c in (PLACED, FINAL))
    more = range(row[ADDED_GPU], row[ADDED_GPU] + final_gpus - placed_gpus)
    gpus = (*range(row[FIRST_GPU], row[FIRST_GPU] + placed_gpus), *more)
    return Placement(row[NODE], gpus, row[FINAL])


def pressure(tables: Tables) -> NDArray[np.float64]:
    """Pressure (27); positive pressure is weighted by eta."""
    fastest = tables.worst_case_seconds.reshape(tables.jobs, -1).min(axis=1)
    delta = fastest - tables.due
    return np.where(delta > 0, delta * tables.weights, delta)


def kinds_of(tables: Tables) -> Kinds:
    """The GPU types as the compiled pass takes them."""
    kinds = tables.kinds
    gpus = np.array([kind.gpus for kind in kinds])
    rates = np.full((len(kinds), int(gpus.max())), np.inf)
    whole, parts = np.empty_like(gpus), np.zeros(tables.seconds.shape[1:], dtype=np.int64)
    for t, kind in enumerate(kinds):
        rates[t, : kind.gpus] = type_rates(tables, t)
        whole[t] = lcm(*(one.fraction.denominator for one in kind.configurations))
        parts[t, : len(kind.configurations)] = [
            int(one.fraction * whole[t]) for one in kind.configurations
        ]
    return Kinds(gpus, rates, whole, parts)


@kernel
def select(jobs: Jobs, kinds: Kinds, nodes: Nodes, order: Any, rules: Rules) -> Any:
    """Return placements (6, J) and epochs until each job's planned change of speed (J,).

    Preferences are computed job by job, so no profile is solved once the cluster is full.
    """
    count, types, _ = jobs.seconds.shape
    placements, length = np.full((6, count), -1), np.full(count, np.inf)
    free = Free(nodes.gpus.copy(), np.full(nodes.rates.shape, -1))
    hull, spare = empty_hull(kinds.rates.shape[1]), np.empty((2, kinds.rates.shape[1]))
    preferences = Preferences(
        np.empty(types, np.int64), np.empty(types), np.empty(types, np.int64), np.empty(types)
    )
    is_open = np.ones(types, np.bool_)  # a type that is full stays so
    for j in order:
        for t in range(types):
            preferences.rank[t] = UNUSABLE
            is_open[t] = is_open[t] and has_room(t, kinds, nodes, free)
            if is_open[t] and jobs.seconds[j, t, 0] < np.inf:
                _fill_preferences(jobs, kinds, rules, j, t, preferences, hull, spare)
        if not is_open.any():
            break
        _assign(kinds, nodes, free, rules, preferences, placements[:, j])
        if placements[NODE, j] >= 0:
            t = nodes.kind[placements[NODE, j]]
            placements[WANTED, j] = preferences.configuration[t]
            length[j] = preferences.piece_epochs[t]
    if rules.use_idle_gpus:
        for j in order:
            _give_fraction(jobs, kinds, nodes, free, j, placements)
        for j in order:
            _give_gpus(jobs, kinds, nodes, free, j, placements)
    return placements, length


@register_jitable
def has_room(kind: int, kinds: Kinds, nodes: Nodes, free: Free) -> bool:
    """Whether any configuration of a type still fits somewhere."""
    for n in range(len(free.gpus)):
        if nodes.kind[n] == kind and free.gpus[n]:
            return True
    smallest = kinds.parts_per_gpu[kind]
    for part in kinds.parts[kind]:
        if part:
            smallest = min(smallest, part)
    if smallest == kinds.parts_per_gpu[kind]:
        return False
    return _fullest_shared_gpu(kind, smallest, nodes, free)[0] >= 0


@register_jitable
def _fill_preferences(
    jobs: Jobs,
    kinds: Kinds,
    rules: Rules,
    j: int,
    t: int,
    preferences: Preferences,
    hull: Hull,
    spare: Any,
) -> None:
    """Algorithm 3 for a job on one type: its profile's first speed, else the fastest."""
    max_gpus, curve = kinds.gpus[t], curve_of(jobs.curves, j)
    epochs, fastest = curve.knots[-1], 0
    speeds = Speeds(spare[0, :max_gpus], spare[1, :max_gpus])
    for k in range(max_gpus):
        seconds = jobs.seconds[j, t, k]
        if seconds < jobs.seconds[j, t, fastest]:
            fastest = k
        speeds.inverse[k] = np.inf if k < jobs.min_index[j, t] else seconds
        speeds.energy[k] = seconds * kinds.rates[t, k] if seconds < np.inf else 0.0
    fastest_completion, deadline = jobs.seconds[j, t, fastest] * epochs, jobs.due[j]
    if deadline < fastest_completion <= jobs.latest_on_time[j]:
        deadline = fastest_completion
    k, length, energy = first_piece(curve, speeds, deadline, rules.min_piece_seconds, hull)
    preferences.piece_epochs[t] = length
    preferences.rank[t], preferences.cost[t] = ON_TIME, energy
    preferences.configuration[t] = k
    if k < 0:  # the due date cannot be met
        preferences.rank[t], preferences.cost[t] = LATE, fastest_completion
        preferences.configuration[t] = fastest
    elif k == 0:  # the smallest fraction that meets the due date
        first = min(length, epochs) if rules.fraction_for_first_piece else epochs
        rest = (epochs - first) * jobs.seconds[j, t, fastest]
        for c in range(kinds.parts.shape[1] - 1, max_gpus - 1, -1):
            seconds = jobs.seconds[j, t, c]
            if kinds.parts[t, c] and first * seconds + rest <= jobs.latest_on_time[j]:
                preferences.configuration[t] = c
                break


@register_jitable
def _assign(
    kinds: Kinds,
    nodes: Nodes,
    free: Free,
    rules: Rules,
    preferences: Preferences,
    placement: Any,
) -> None:
    """Fill ``placement`` by the best preference that fits, else by fewer GPUs of the best type."""
    for smaller in range(2 if rules.try_fewer_gpus else 1):
        tried = np.zeros(len(preferences.rank), np.bool_)
        for _ in range(len(tried)):
            best = -1
            for t in range(len(tried)):
                if tried[t] or preferences.rank[t] == UNUSABLE:
                    continue
                if best < 0 or preferences.rank[t] < preferences.rank[best]:
                    best = t
                elif preferences.rank[t] == preferences.rank[best]:
                    best = t if preferences.cost[t] < preferences.cost[best] else best
            if best < 0:
                break
            tried[best] = True
            wanted = preferences.configuration[best]
            if smaller:  # fewer GPUs than preferred; the preferred number did not fit
                wanted = max_free_gpus(best, free.gpus, nodes) - 1
            if wanted >= 0:
                take_gpus(kinds, nodes, free, best, wanted, placement)
            if placement[NODE] >= 0:
                return


@register_jitable
def take_gpus(
    kinds: Kinds, nodes: Nodes, free: Free, kind: int, wanted: int, placement: Any
) -> None:
    """Take GPUs by best fit; a fraction goes to the fullest shared GPU that has room for it."""
    part = kinds.parts[kind, wanted]
    shares = part < kinds.parts_per_gpu[kind]
    gpus, n, g = 1 if shares else wanted + 1, -1, -1
    if shares:
        n, g = _fullest_shared_gpu(kind, part, nodes, free)
    if n >= 0:
        free.shared_parts[n, g] -= part
    else:
        n = best_fit(kind, gpus, free.gpus, nodes)
        if n < 0:
            return
        g = nodes.gpus[n] - free.gpus[n]
        free.gpus[n] -= gpus
        if shares:
            free.shared_parts[n, g] = kinds.parts_per_gpu[kind] - part
    placement[NODE], placement[FIRST_GPU] = n, g
    placement[PLACED] = placement[FINAL] = wanted


@register_jitable
def _fullest_shared_gpu(kind: int, part: int, nodes: Nodes, free: Free) -> Any:
    """The first fullest shared GPU of a type that has room for `part`; or -1."""
    node, gpu = -1, -1
    for n in range(len(nodes.gpus)):
        if nodes.kind[n] != kind:
            continue
        for g in range(nodes.gpus[n] - free.gpus[n]):
            free_parts = free.shared_parts[n, g]
            if free_parts >= part and (node < 0 or free_parts < free.shared_parts[node, gpu]):
                node, gpu = n, g
    return node, gpu


@register_jitable
def _give_fraction(
    jobs: Jobs, kinds: Kinds, nodes: Nodes, free: Free, j: int, placements: Any
) -> None:
    """Raise the job's fraction to the fastest that fits on its shared GPU."""
    n, g, held = placements[NODE, j], placements[FIRST_GPU, j], placements[FINAL, j]
    if n < 0:
        return
    t = nodes.kind[n]
    if kinds.parts[t, held] == kinds.parts_per_gpu[t]:
        return
    free_parts, best = free.shared_parts[n, g] + kinds.parts[t, held], -1
    for c in range(kinds.parts.shape[1]):
        fits = c >= kinds.gpus[t] and 0 < kinds.parts[t, c] <= free_parts
        fits = fits or (c == 0 and free_parts == kinds.parts_per_gpu[t])
        if fits and (best < 0 or jobs.seconds[j, t, c] < jobs.seconds[j, t, best]):
            best = c
    if jobs.seconds[j, t, best] >= jobs.seconds[j, t, held]:
        return
    placements[FINAL, j] = best
    free.shared_parts[n, g] = -1 if best == 0 else free_parts - kinds.parts[t, best]


@register_jitable
def _give_gpus(jobs: Jobs, kinds: Kinds, nodes: Nodes, free: Free, j: int, placements: Any) -> None:
    """Give idle whole GPUs of the node while the job gets faster."""
    n, held = placements[NODE, j], placements[FINAL, j]
    if n < 0 or kinds.parts[nodes.kind[n], held] < kinds.parts_per_gpu[nodes.kind[n]]:
        return
    t, best = nodes.kind[n], held
    for c in range(held + 1, held + free.gpus[n] + 1):
        if jobs.seconds[j, t, c] < jobs.seconds[j, t, best]:
            best = c
    placements[ADDED_GPU, j], placements[FINAL, j] = nodes.gpus[n] - free.gpus[n], best
    free.gpus[n] -= best - held
