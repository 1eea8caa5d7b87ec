"""Placement by CP-SAT of OR-Tools, a rival of method `ilp` on asynchronous jobs.

    pip install ortools
    python benchmarks/cp_sat.py [NAME ...] [--seconds 10]

Times are integers here: parts of the best known time, `PARTS` of it, rounded down. No placement
then costs more than it does, so that the bound is one of the real problem up to 1e-8. With
x[s,m] replicas of stage s on server m, and z[s,m,v] whether they are v > 0:

    sum_m x = k_s;  sum_s q_s x <= g_m;  x = sum_v v z;  sum_v z <= 1
    T >= near_s(v) + a_s (k_{s-1} - x[s-1,m]) + b_s (k_{s+1} - x[s+1,m])   where z[s,m,v]

ortools and highspy cannot share a process, so no method that needs HiGHS runs here.
"""

import argparse
import time

import numpy as np
from ortools.sat.python import cp_model

import optsched
from optsched.placement.cost import placement_time, tables_of
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.placement.solution import PlacementSolution

NAMES = ("placement/vgg19-16", "placement/bert-large-16", "placement/gpt-175b-32x1")
PARTS = 2**32


def main() -> None:
    """Solve the instances and print value, bound and seconds of each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--seconds", type=float, default=10.0)
    given = parser.parse_args()
    for name in given.names:
        began = time.perf_counter()
        value, bound, status = solve(optsched.load(name), given.seconds)
        seconds = time.perf_counter() - began
        print(f"{name:30} {status:10} {value:12.6g} {bound:12.6g} {seconds:8.2f} s")


def solve(instance: PlacementInstance, seconds: float) -> tuple[float, float, str]:
    """Return the checked value, the bound and the solver's status."""
    tables, options = tables_of(instance), PlacementOptions()
    known = np.array(optsched.solve(instance, "repartition").solution.counts)
    unit = placement_time(tables, known, options) or 1.0
    near = whole(tables.colocated_work + tables.all_reduce, unit)
    before, after = whole(tables.saving_previous, unit), whole(tables.saving_next, unit)
    replicas, offers = tables.replicas.tolist(), instance.free_gpus
    stages, servers = range(len(replicas)), range(len(offers))

    model = cp_model.CpModel()
    slowest = model.new_int_var(0, PARTS + 4 * len(replicas), "T")
    count = {}
    for s in stages:
        for m in servers:
            most = min(replicas[s], offers[m] // int(tables.gpus[s]))
            count[s, m] = model.new_int_var(0, most, "")
        model.add(sum(count[s, m] for m in servers) == replicas[s])
    for s, m in count:
        held = {v: model.new_bool_var("") for v in range(1, replicas[s] + 1) if v <= offers[m]}
        model.add(count[s, m] == sum(v * z for v, z in held.items()))
        model.add_at_most_one(held.values())
        for v, z in held.items():
            taken = near[s][v]
            if s > 0:
                taken += before[s] * (replicas[s - 1] - count[s - 1, m])
            if s + 1 < len(replicas):
                taken += after[s] * (replicas[s + 1] - count[s + 1, m])
            model.add(slowest >= taken).only_enforce_if(z)
    for m in servers:
        model.add(sum(int(tables.gpus[s]) * count[s, m] for s in stages) <= offers[m])
    model.minimize(slowest)

    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    bound = tables.lowered_by_rounding(solver.best_objective_bound / PARTS * unit)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        known = np.array([[solver.value(count[s, m]) for m in servers] for s in stages])
    report = optsched.check(instance, PlacementSolution.of(instance.name, known.tolist()))
    assert report.feasible
    return float(report.objective), bound, solver.status_name(status).lower()


def whole(seconds: np.ndarray, unit: float) -> list:
    """Parts of the unit, rounded down; what is longer than four units counts as four."""
    parts = np.floor(np.clip(seconds / unit * PARTS, -4.0 * PARTS, 4.0 * PARTS))
    return parts.astype(np.int64).tolist()


if __name__ == "__main__":
    main()
