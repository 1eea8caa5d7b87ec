"""The checker of a price certificate: the bound that any prices prove, without a solver.

For job prices lam, slot prices mu >= 0 and a price theta of opening a node (models/selection,
"Certificate"): a postponed job costs at least lam'_j, a follower at least lam'_j less its slot's
price, a leader at least lam'_j plus the dearest packing of the GPUs beside it plus kappa_v. Summed
over any selection the slots' prices cancel, and

    LB = sum_j lam'_j + sum_v N_v kappa_v   (+ theta min(|J|, |N|) when so many nodes must open).

Complexity: O(jobs x configurations x distinct cost rates), in numpy.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from optsched.checking import BOUND_TOLERANCE, CLAIM_TOLERANCE, Violation
from optsched.selection.instance import Node, SelectionInstance, SelectionJob
from optsched.selection.options import SelectionOptions
from optsched.selection.solution import Certificate

Floats = NDArray[np.float64]
CHUNK = 2**22
MOST_UNITS = 10**6


def certificate_violations(
    instance: SelectionInstance,
    certificate: Certificate,
    options: SelectionOptions,
    objective: float,
) -> Iterator[Violation]:
    """Recompute the bound; report one that is misshapen, overstated or above the objective."""
    shape = {name: len(prices) for name, prices in certificate.slots.items()}
    wanted = {
        name: most + len(_fractions(instance, name, options))
        for name, most in instance.largest.items()
    }
    if len(certificate.jobs) != len(instance.jobs) or shape != wanted:
        yield Violation("certificate", "prices", "a price for each job and slot", 1)
        return
    lowest = min(min(prices) for prices in certificate.slots.values())
    if lowest < 0:
        yield Violation("certificate", "mu >= 0", "slot prices", -lowest)
        return
    if certificate.opening and not options.opens_exactly:
        yield Violation("certificate", "theta = 0", "opening", abs(certificate.opening))
        return
    bound = price_bound(instance, certificate, options)
    over = (certificate.bound - bound) / max(abs(bound), 1e-12)
    if over > CLAIM_TOLERANCE:
        yield Violation("certificate", "LB", "the bound claimed", over, CLAIM_TOLERANCE)
    above = (bound - objective) / max(abs(objective), 1e-12)
    if above > BOUND_TOLERANCE:
        yield Violation("certificate", "LB <= objective", "the bound", above, BOUND_TOLERANCE)


def price_bound(
    instance: SelectionInstance, certificate: Certificate, options: SelectionOptions
) -> float:
    """The lower bound that a certificate's prices prove, in dollars."""
    slots = {
        name: _non_decreasing(np.array(certificate.slots[name]), most)
        for name, most in instance.largest.items()
    }
    late, energy = {}, {}
    for name in slots:
        pairs = np.array([_late_and_energy(instance, j, name, options) for j in instance.jobs])
        late[name], energy[name] = pairs[:, 0], pairs[:, 1]
    prices = np.array(certificate.jobs)
    prices = np.minimum(prices, [_postponed(instance, job, options) for job in instance.jobs])
    for name, mu in slots.items():
        prices = np.minimum(prices, (late[name] + mu).min(axis=1))
    total = float(prices.sum()) + certificate.opening * min(len(instance.jobs), len(instance.nodes))
    for name, mu in slots.items():
        nodes = [node for node in instance.nodes if node.gpu_type == name]
        least = _least_reduced_costs(
            instance, nodes, late[name] - prices[:, None], energy[name], mu, options
        )
        total += float(np.minimum(least - certificate.opening, 0.0).sum())
    return total


def _fractions(
    instance: SelectionInstance, kind: str, options: SelectionOptions
) -> tuple[Fraction, ...]:
    return instance.gpu_types[kind].fractions if options.sharing == "on" else ()


def _non_decreasing(mu: Floats, sizes: int) -> Floats:
    """A larger dedicated slot holds a smaller job's GPUs: its price may be raised to theirs."""
    return np.concatenate((np.maximum.accumulate(mu[:sizes]), mu[sizes:]))


def _left(job: SelectionJob) -> tuple[Floats, Floats]:
    values, weights = np.array(job.epochs.values), np.array(job.epochs.probabilities)
    left = values > job.completed_epochs
    return values[left] - job.completed_epochs, weights[left] / weights[left].sum()


def _seconds(
    instance: SelectionInstance, job: SelectionJob, name: str, options: SelectionOptions
) -> list[float]:
    """Seconds per epoch by configuration, infinite where the job's memory does not fit."""
    kind, fractions = instance.gpu_types[name], _fractions(instance, name, options)
    if name not in job.epoch_time or not kind.holds(job.memory_bytes, Fraction(1)):
        return [np.inf] * (instance.largest[name] + len(fractions))
    times = job.epoch_time[name]
    shared = [
        times[0] * kind.slowdown_of(f) if kind.holds(job.memory_bytes, f) else np.inf
        for f in fractions
    ]
    return [*times, *shared]


def _late_and_energy(
    instance: SelectionInstance, job: SelectionJob, name: str, options: SelectionOptions
) -> tuple[Floats, Floats]:
    """By configuration: dollars of expected tardiness, and expected seconds."""
    seconds = np.array(_seconds(instance, job, name, options))
    epochs, weights = _left(job)
    late = np.maximum(seconds[:, None] * epochs - instance.due_in(job), 0.0) @ weights
    fits = np.isfinite(seconds)
    return np.where(fits, job.tardiness_weight * late, np.inf), seconds * float(epochs @ weights)


def _postponed(instance: SelectionInstance, job: SelectionJob, options: SelectionOptions) -> float:
    times = [t for name in instance.largest for t in _seconds(instance, job, name, options)]
    slowest = max(t for t in times if t < np.inf)
    due = instance.due_in(job)
    worst = instance.interval + slowest * float(_left(job)[0].max()) - due
    penalty = instance.postponement_penalty * max(worst, 0.0) + max(-due, 0.0)
    return job.tardiness_weight * penalty


def _least_reduced_costs(
    instance: SelectionInstance,
    nodes: list[Node],
    fixed: Floats,
    energy: Floats,
    mu: Floats,
    options: SelectionOptions,
) -> Floats:
    """For each node the least of ``fixed + energy * rate - packing`` over leaders and usages."""
    name = nodes[0].gpu_type
    most, fractions = instance.largest[name], _fractions(instance, name, options)
    fills = _fill_values(fractions, mu[most:])
    packing = _packing_values(mu[:most], fills[0])
    least = np.full(len(nodes), np.inf)
    rates = np.full((len(nodes), most), np.inf)
    for index, node in enumerate(nodes):
        rates[index, : node.gpus] = node.cost_rate
    for c in range(most + len(fractions)):
        taken, beside = (c + 1, 0.0) if c < most else (1, fills[1 + c - most])
        usable = np.isfinite(fixed[:, c])
        if not usable.any():
            continue
        for used in range(taken, most + 1):
            leader = _lower_envelope(fixed[usable, c], energy[usable, c], rates[:, used - 1])
            least = np.minimum(least, leader - packing[used - taken] - beside)
    return least


def _lower_envelope(fixed: Floats, slope: Floats, rates: Floats) -> Floats:
    """``min_j fixed_j + slope_j rate`` for each rate, infinite where the rate is."""
    found = np.full(len(rates), np.inf)
    finite = np.flatnonzero(np.isfinite(rates))
    distinct, inverse = np.unique(rates[finite], return_inverse=True)
    least = np.empty(len(distinct))
    step = max(CHUNK // len(fixed), 1)
    for start in range(0, len(distinct), step):
        part = slice(start, start + step)
        least[part] = (fixed[:, None] + slope[:, None] * distinct[part]).min(axis=0)
    found[finite] = least[inverse]
    return found


def _fill_values(fractions: tuple[Fraction, ...], mu: Floats) -> list[float]:
    """Dearest fill of a whole GPU, then of what each fraction leaves of one."""
    if not fractions:
        return [0.0]
    unit = lcm(*(f.denominator for f in fractions))
    if unit > MOST_UNITS:
        raise ValueError(f"fractions in units of 1/{unit}: too fine to check")
    sizes = [int(f * unit) for f in fractions]
    best = np.zeros(unit + 1)
    for room in range(1, unit + 1):
        best[room] = max(
            [best[room - 1]]
            + [best[room - s] + p for s, p in zip(sizes, mu, strict=True) if s <= room]
        )
    return [float(best[unit]), *(float(best[unit - s]) for s in sizes)]


def _packing_values(mu: Floats, fill: float) -> Floats:
    """R(r): the dearest packing of r GPUs by dedicated slots and shared GPUs."""
    most = len(mu)
    items = np.array([max(mu[0], fill), *mu[1:]])
    best = np.zeros(most + 1)
    for room in range(1, most + 1):
        best[room] = max(best[room - k] + items[k - 1] for k in range(1, room + 1))
    return best
