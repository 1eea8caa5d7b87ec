"""SJF-BCO: smallest jobs first, with a bound theta on every GPU's time; Algorithms 1-3 of sjf-bco.

Guarantee: none. Theorem 5 of the paper promises n_g phi u / l times the optimum and is false: on
`makespan/theorem5-2x1` all three are 1, SJF-BCO takes 3 slots and the optimum 2 (erratum in
models/makespan/README.md). Complexity: O(K log T) simulations for K distinct job sizes and horizon
T, each O(n (GPUs + S log S) + completions). Readings: the candidates are the *currently idle* GPUs
with U + rho^ <= theta (u = 1); strictly head of line; "waiting for some job to exit" moves to the
next completion; an infeasible (theta, kappa) counts as the horizon; the makespan is not monotone in
theta, so the best schedule seen is kept; only kappa in {1} and the sizes of jobs matters; ties go
by name. A time limit is shared with the bound.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from optsched.deadline import Deadline
from optsched.makespan.contention import Ints
from optsched.makespan.heuristics._greedy_kernel import LEAST_BUSY_SERVERS, LEAST_USED
from optsched.makespan.heuristics.greedy import best_theta, prepare, smallest_first
from optsched.makespan.incumbent import Incumbent, SearchResult
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.options import MakespanOptions
from optsched.result import Outcome, Settings


def sjf_bco(instance: MakespanInstance, options: MakespanOptions, settings: Settings) -> Outcome:
    """Schedule by SJF-BCO, over all kappa unless one is given."""
    found = Incumbent(instance, settings)
    return found.heuristic(partial(by_sjf_bco, instance, options))


def by_sjf_bco(
    instance: MakespanInstance, options: MakespanOptions, deadline: Deadline
) -> SearchResult:
    """The best schedule of SJF-BCO, and its theta."""
    greedy = prepare(instance)
    gpus = greedy.jobs.gpus
    order = smallest_first(gpus, [job.name for job in instance.jobs])
    kappas = kappas_of(gpus) if options.kappa is None else [options.kappa]
    choices = [_packed_up_to(kappa, gpus) for kappa in kappas]
    return best_theta(greedy, order, choices, options.lambda_, deadline)


def kappas_of(gpus: Ints) -> list[int]:
    """The values of kappa that differ: 1 and every job size."""
    return sorted({1, *gpus.tolist()})


def _packed_up_to(kappa: int, gpus: Ints) -> Ints:
    """FA-FFP for jobs of at most kappa GPUs, LBSGF for the others."""
    return np.where(gpus <= kappa, LEAST_USED, LEAST_BUSY_SERVERS).astype(np.int64)
