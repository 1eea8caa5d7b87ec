"""Method ``sts``: the stochastic scheduler of sts, for one interval.

Guarantee: none; the gap to the optimum is what this package measures. One pass over the jobs in
order of pressure (27); each wants the first configuration of its single-job speed profile (P3) on
every GPU type, the types sorted by expected energy, those that meet the due date first, then the
least late; best fit on the nodes. Readings: K and costs of a type are its largest node's; for k = 1
the smallest admissible fraction that meets the due date; an overdue job takes its fastest
configuration; if the wanted k fits nowhere smaller k of the same type are tried before postponing
(option ``strict`` does not); no previous assignment, so k_0 = 0. Postprocessing (VI-C) raises
fractions, then k, on the idle GPUs of open nodes (option ``postprocessing`` leaves it out).
Complexity: O(J T (K^2 log^2 S + N)) for J jobs, T types, N nodes, S scenarios.
Source: sts, Algorithms 2 and 3, (27).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from optsched.deadline import clock
from optsched.result import Outcome, Settings
from optsched.selection.assignment import Seat
from optsched.selection.cost import Tables, tables_of, type_rates
from optsched.selection.heuristics._best_fit_kernel import nodes_of
from optsched.selection.heuristics._sts_kernel import (
    FIRST,
    GIVEN,
    MORE,
    NODE,
    PLACED,
    Jobs,
    Kinds,
    Rules,
    select,
)
from optsched.selection.heuristics.baselines import heuristic_outcome
from optsched.selection.heuristics.cluster_state import parts_of
from optsched.selection.instance import SelectionInstance
from optsched.selection.options import SelectionOptions


def sts(instance: SelectionInstance, options: SelectionOptions, settings: Settings) -> Outcome:
    """Select resources by STS."""
    began = clock()
    tables = tables_of(instance, options)
    return heuristic_outcome(tables, sts_assignment(tables), began)


def sts_assignment(tables: Tables) -> dict[int, Seat]:
    """Algorithm 2: seats by job."""
    jobs = Jobs(
        tables.seconds,
        tables.works.curves,
        tables.due,
        tables.in_time,
        np.zeros(tables.seconds.shape[:2], dtype=np.int64),
    )
    rules = Rules(
        smaller=tables.options.strict == "off",
        speeds_up=False,
        gives_idle=tables.options.postprocessing == "on",
        shortest=0.0,
    )
    order = np.argsort(-pressure(tables), kind="stable")
    nodes = nodes_of(tables.instance, tables.kind_of)
    steps = tables.seconds.size * (20 + len(nodes.gpus) / 10)
    seats, _ = select.for_size(steps)(jobs, kinds_of(tables), nodes, order, rules)
    return {j: _seat(tables, seats[:, j].tolist()) for j in order.tolist() if seats[NODE, j] >= 0}


def _seat(tables: Tables, row: list[int]) -> Seat:
    kind = tables.kinds[tables.kind_of[row[NODE]]]
    before, now = (kind.configurations[row[c]].gpus for c in (PLACED, GIVEN))
    more = range(row[MORE], row[MORE] + now - before)
    gpus = (*range(row[FIRST], row[FIRST] + before), *more)
    return Seat(row[NODE], gpus, row[GIVEN])


def pressure(tables: Tables) -> NDArray[np.float64]:
    """(27), times eta where it is positive."""
    fastest = tables.worst.reshape(tables.jobs, -1).min(axis=1)
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
        whole[t], each = parts_of(kind)
        parts[t, : len(each)] = each
    return Kinds(gpus, rates, whole, parts)
