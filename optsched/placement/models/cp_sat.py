"""Method ``cp-sat``: placement as a constraint programme, a rival of the strengthened MILP.

Times are whole numbers here: parts of the best known time, `PARTS` of it, rounded down where a cost
counts and up where one is taken off. So no placement costs more than it really does, and the bound
is one of the real problem; the value is that of the real cost. What rounding leaves between the two
is some 1e-8, and a gap asked below that is not proved.

With x[s,m] replicas of stage s on server m, z[s,m,v] whether they are v > 0:

    (K1) sum_m x = k_s;  sum_s q_s x <= g_m;  x = sum_v v z;  sum_v z <= 1
    (K2) T_s >= near_s(v) + a_s (k_{s-1} - x[s-1,m]) + b_s (k_{s+1} - x[s+1,m]) where z[s,m,v]
    (K3) T_s >= the least such time with v replicas on that server
    (K4) equal servers in order of sum_s (S-s) x[s,m]
    (K5) A_s >= all-reduce(v) where z[s,m,v]: "bottleneck", and micro-batches

alpha >= T_s; T_s + A_s under "bottleneck"; for M micro-batches M alpha >= (M-1) T_s + sum T_s' + M
(A_r - hidden_r) for all stages s, r. Guarantee: optimal at the gap asked when it ends as "optimal".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from optsched.backends.cp_sat import CpAnswer, require_cp_sat, solve_cp
from optsched.backends.sizes import refuse_many_nonzeros
from optsched.deadline import clock
from optsched.placement.bounds.combinatorial import Bound, combinatorial_bound
from optsched.placement.cost import CostTables, Floats, Ints, placement_time, tables_of
from optsched.placement.heuristics.repartition import starting_placement
from optsched.placement.instance import PlacementInstance, equal_neighbours
from optsched.placement.models.limits import count_nonzeros
from optsched.placement.options import PlacementOptions
from optsched.placement.solution import PlacementSolution
from optsched.result import SOLVED, Outcome, Settings, TracePoint, ended, is_proved

PARTS = 2**32
"""Of the best known time, which is the unit: sums of costs stay far below 2^63."""


def cp_sat(instance: PlacementInstance, options: PlacementOptions, settings: Settings) -> Outcome:
    """Solve the constraint programme, started below the heuristic's time."""
    require_cp_sat()
    began = clock()
    start = starting_placement(instance, options, settings)
    if start.counts is None:
        return start.nothing
    refuse_many_nonzeros("cp-sat", count_nonzeros(instance), "use heavy-edge or repartition")
    tables = tables_of(instance, options)
    best = start.counts
    value = placement_time(tables, best, options)
    bound, unit = combinatorial_bound(instance, tables), value or 1.0
    trace: list[TracePoint] = []

    def note() -> None:
        trace.append(TracePoint(clock() - began, value, bound.value))
        settings.progress.report(value, bound.value)

    def hear(values: list[int] | None, proven: int | None) -> None:
        nonlocal best, value, bound
        if values is not None:
            counts = counts_of(values, instance.shape)
            found = placement_time(tables, counts, options)
            if found < value:
                best, value = counts, found
        if proven is not None:
            parts = PARTS * tables.parts
            seconds = tables.rounded_down(proven / parts * unit)
            if seconds > bound.value:
                bound = Bound(min(seconds, value), "cp-sat")
        note()

    note()
    answer = CpAnswer(ended=True)
    if not is_proved(value, bound.value, settings.gap):
        data = data_of(instance, options, tables, unit, bound.value)
        answer = solve_cp(f"{__name__}:state", data, settings, hear)
        if answer.infeasible:  # of placements that take no longer than the best known
            bound = Bound(value, "cp-sat")
            note()
    gap = max(settings.gap, SOLVED) if answer.seconds else settings.gap
    proved = is_proved(value, bound.value, gap)
    return Outcome(
        PlacementSolution.of(instance.name, best.tolist()),
        ended(proved, not answer.ended and not answer.message),
        bound=min(bound.value, value),
        bound_source=bound.source,
        claimed=value,
        solve_time=clock() - began,
        solver="cp-sat" if answer.seconds else None,
        trace=tuple(trace),
        details={"message": answer.message} if answer.message else {},
    )


def data_of(
    instance: PlacementInstance,
    options: PlacementOptions,
    tables: CostTables,
    unit: float,
    bound: float,
) -> dict[str, Any]:
    """The model's data in whole numbers; times above the unit count as a little above it."""
    apart = tables.micro_batches is not None or options.all_reduce_bandwidth == "bottleneck"
    near = tables.near_work if apart else tables.near_work + tables.all_reduce

    def down(seconds: Floats) -> list:
        top = 4.0 * PARTS
        whole = np.floor(np.clip(seconds / unit * PARTS, -top, top))
        return whole.astype(np.int64).tolist()

    def up(seconds: Floats) -> list:
        return (-np.array(down(-seconds), dtype=np.int64)).tolist()

    most = [
        [min(stage.replicas, offer // stage.tensor_parallel) for offer in instance.free_gpus]
        for stage in instance.job.stages
    ]
    return {
        "near": down(near),
        "before": down(tables.before),
        "after": down(tables.after),
        "least": [down(_least(tables, offer)) for offer in instance.free_gpus] if not apart else [],
        "all_reduce": down(tables.all_reduce) if apart else [],
        "hidden": up(tables.hidden) if tables.micro_batches else [],
        "parts": tables.parts,
        "replicas": tables.replicas.tolist(),
        "gpus": tables.gpus.tolist(),
        "offers": list(instance.free_gpus),
        "most": most,
        "equal": [list(pair) for pair in equal_neighbours(instance.free_gpus)],
        "low": int(bound / unit * PARTS * (1 - 1e-12)),
        "high": PARTS + 4 * len(most),
    }


def state(cp: Any, data: Mapping[str, Any]) -> tuple[Any, list[Any]]:
    """State the model; its decisions are the counts, stage by stage."""
    model, near, replicas, parts = cp.CpModel(), data["near"], data["replicas"], data["parts"]
    stages, servers = range(len(replicas)), range(len(data["offers"]))
    high = data["high"]
    count = [[model.new_int_var(0, most, "") for most in data["most"][s]] for s in stages]
    slowest = [model.new_int_var(0, high, "") for _ in stages]
    reduced = [model.new_int_var(0, 2 * high, "") for _ in stages] if data["all_reduce"] else []
    for s in stages:
        model.add(sum(count[s]) == replicas[s])
        for m in servers:
            held = _choices(model, data, s, m)
            model.add(count[s][m] == sum(v * z for v, z in held.items()))
            model.add_at_most_one(held.values())
            for v, z in held.items():
                time_here = near[s][v]
                for other, saving in ((s - 1, data["before"][s]), (s + 1, data["after"][s])):
                    if other in stages:
                        time_here += saving * (replicas[other] - count[other][m])
                model.add(slowest[s] >= time_here).only_enforce_if(z)
                if reduced:
                    model.add(reduced[s] >= data["all_reduce"][s][v]).only_enforce_if(z)
            if data["least"]:
                model.add(slowest[s] >= sum(data["least"][m][s][v] * z for v, z in held.items()))
    for m in servers:
        used = sum(data["gpus"][s] * count[s][m] for s in stages)
        model.add(used <= data["offers"][m])
    for m, n in data["equal"]:
        rank = (sum((len(replicas) - 1 - s) * count[s][x] for s in stages) for x in (m, n))
        model.add(next(rank) >= next(rank))
    alpha = model.new_int_var(max(data["low"] * parts, 0), high * parts, "alpha")
    for s in stages:
        if data["hidden"]:
            for r in stages:
                exposed = parts * (reduced[r] - data["hidden"][r])
                model.add(alpha >= (parts - 1) * slowest[s] + sum(slowest) + exposed)
        else:
            model.add(alpha >= slowest[s] + (reduced[s] if reduced else 0))
    model.minimize(alpha)
    return model, [x for row in count for x in row]


def counts_of(values: list[int], shape: tuple[int, int]) -> Ints:
    """Counts, stages x servers, of a model's decisions."""
    return np.array(values, dtype=np.int64).reshape(shape)


def _choices(model: Any, data: Mapping[str, Any], s: int, m: int) -> dict[int, Any]:
    """z: by count of a stage on a server, without those that take longer than the best known."""
    return {
        v: model.new_bool_var("")
        for v in range(1, data["most"][s][m] + 1)
        if not data["least"] or data["least"][m][s][v] <= data["high"]
    }


def _least(tables: CostTables, offer: int) -> Floats:
    """Least seconds by stage and count on a server of so many GPUs; infinity for no such."""
    from optsched.placement.bounds._combinatorial_kernel import least_times

    found: Floats = least_times(tables.costs, offer)
    return found
