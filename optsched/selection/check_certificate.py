"""The checker of a price certificate: the bound that any prices prove, without a solver.

For job prices lam, slot prices mu >= 0 and a price theta of opening a node (models/selection,
"Certificate"): a postponed job costs at least lam'_j, a follower at least lam'_j less its slot's
price, a leader at least lam'_j plus the dearest packing of the GPUs beside it plus kappa_v. Summed
over any selection the slots' prices cancel, and

    LB = sum_j lam'_j + sum_v N_v kappa_v   (+ theta min(|J|, |N|) when so many nodes must open).

Arithmetic: whole numbers of 2^-200 dollars or seconds. Costs are rounded down, so that the bound
holds for the true ones; prices may be rounded at will, since any prices prove a bound. Complexity:
O(J C S + J C log J + V K C log J) for C configurations, S scenarios, V distinct cost vectors: the
best leader at a rate is read off the lower envelope of the jobs' lines. Shares no code with the
methods.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from optsched.checking import BOUND_TOLERANCE, CANCELLATION, CLAIM_TOLERANCE, Violation, share_of
from optsched.selection.instance import GpuType, SelectionInstance, SelectionJob
from optsched.selection.options import SelectionOptions
from optsched.selection.solution import Certificate

BITS = 200
MOST_ROOMS = 100_000

Costs = list[int | None]
"""By configuration, sizes 1..K and then fractions, largest first; None where a job cannot run."""


def certificate_violations(
    instance: SelectionInstance,
    certificate: Certificate,
    options: SelectionOptions,
    objective: float,
    rounding: float = 0.0,
) -> Iterator[Violation]:
    """Recompute the bound; report one that is misshapen, overstated or above the objective.

    `rounding` is what rounding may have left of the objective.
    """
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
    if bound is None:
        yield Violation("certificate", "h_t(L)", "fractions too fine to check", 1)
        return
    proved, claimed = max(float(bound), 0.0), certificate.bound  # no cost is negative
    parts = [*certificate.jobs, certificate.opening * min(len(instance.jobs), len(instance.nodes))]
    summed = CANCELLATION * sum(map(abs, parts))  # what the claim was made of
    if claimed - proved > max(CLAIM_TOLERANCE * abs(proved), summed):
        over = share_of(claimed - proved, claimed, proved)
        yield Violation("certificate", "LB", "the bound claimed", over, CLAIM_TOLERANCE)
    if proved - objective > max(BOUND_TOLERANCE * abs(objective), rounding):
        above = share_of(proved - objective, proved, objective)
        yield Violation("certificate", "LB <= objective", "the bound", above, BOUND_TOLERANCE)


def price_bound(
    instance: SelectionInstance, certificate: Certificate, options: SelectionOptions
) -> Fraction | None:
    """The lower bound that a certificate's prices prove, dollars, exact.

    None when a type's fractions leave more than `MOST_ROOMS` different rooms on a GPU.
    """
    slots = {name: _slot_prices(certificate, name, k) for name, k in instance.largest.items()}
    works = [_work_left(job) for job in instance.jobs]
    late, energy, slowest = _tables(instance, works, options)
    prices = [
        min(_down(price), _postponed(instance, job, work, seconds))
        for price, job, work, seconds in zip(
            certificate.jobs, instance.jobs, works, slowest, strict=True
        )
    ]
    for name, mu in slots.items():
        followers = (
            [cost + price for cost, price in zip(costs, mu, strict=True) if cost is not None]
            for costs in late[name]
        )
        prices = [min([price, *each]) for price, each in zip(prices, followers, strict=True)]
    theta = _down(certificate.opening)
    total = sum(prices) + theta * min(len(instance.jobs), len(instance.nodes))
    for name, mu in slots.items():
        fills = _fill_values(_fractions(instance, name, options), mu[instance.largest[name] :])
        if fills is None:
            return None
        lines = [
            _lower_envelope(_lines(late[name], energy[name], prices, c)) for c in range(len(mu))
        ]
        packing = _packing_values(mu[: instance.largest[name]], fills[0])
        alike = Counter(node.cost_rate for node in instance.nodes if node.gpu_type == name)
        for rates, nodes in alike.items():
            least = _least_reduced_cost(rates, lines, packing, fills)
            total += nodes * min(least - theta, 0) if least is not None else 0
    return Fraction(total, 1 << BITS)


# --- numbers


def _down(x: float) -> int:
    """The largest multiple of 2^-200 that is not above x."""
    numerator, denominator = x.as_integer_ratio()
    return (numerator << BITS) // denominator


def _up(x: float) -> int:
    return -_down(-x)


# --- costs, rounded down


def _fractions(
    instance: SelectionInstance, kind: str, options: SelectionOptions
) -> tuple[Fraction, ...]:
    return instance.gpu_types[kind].fractions if options.shares else ()


def _work_left(job: SelectionJob) -> list[tuple[int, int]]:
    """Remaining epochs with their probabilities, renormalised."""
    pairs = list(zip(job.epochs.values, job.epochs.probabilities, strict=True))
    left = [(w, p) for w, p in pairs if w > job.completed_epochs]
    total = sum(_up(p) for _, p in left)
    done = _up(job.completed_epochs)
    return [(_down(w) - done, (_down(p) << BITS) // total) for w, p in left]


def _tables(
    instance: SelectionInstance, works: list[list[tuple[int, int]]], options: SelectionOptions
) -> tuple[dict[str, list[Costs]], dict[str, list[Costs]], list[int]]:
    """By type, job and configuration dollars of expected tardiness and expected seconds.

    And by job the seconds per epoch of its slowest configuration on the cluster.
    """
    late: dict[str, list[Costs]] = {name: [] for name in instance.largest}
    energy: dict[str, list[Costs]] = {name: [] for name in instance.largest}
    slowest = [0] * len(instance.jobs)
    for name, most in instance.largest.items():
        kind, fractions = instance.gpu_types[name], _fractions(instance, name, options)
        for j, (job, work) in enumerate(zip(instance.jobs, works, strict=True)):
            seconds = _seconds(kind, job, name, most, fractions)
            slowest[j] = max([slowest[j], *(t for t in seconds if t is not None)])
            weight, due = _down(job.tardiness_weight), _due(instance, job)
            mean = sum(w * p for w, p in work)
            late[name].append(
                [None if t is None else _tardiness(t, work, due, weight) for t in seconds]
            )
            energy[name].append([None if t is None else t * mean >> 2 * BITS for t in seconds])
    return late, energy, slowest


def _due(instance: SelectionInstance, job: SelectionJob) -> int:
    """d_j from now, rounded up: later is cheaper."""
    return _up(job.due_date) - _down(instance.now)


def _seconds(
    kind: GpuType, job: SelectionJob, name: str, most: int, fractions: tuple[Fraction, ...]
) -> Costs:
    """Seconds per epoch by configuration."""
    if name not in job.epoch_time or not kind.holds(job.memory_bytes, Fraction(1)):
        return [None] * (most + len(fractions))
    times = job.epoch_time[name]
    shared = [
        _down(times[0]) * _down(kind.slowdown_of(f)) >> BITS
        if kind.holds(job.memory_bytes, f)
        else None
        for f in fractions
    ]
    return [*(_down(t) for t in times), *shared]


def _tardiness(seconds: int, work: list[tuple[int, int]], due: int, weight: int) -> int:
    """eta E[(t W - d)^+]."""
    due <<= BITS
    late = sum(p * (seconds * w - due) for w, p in work if seconds * w > due)
    return weight * late >> 3 * BITS


def _postponed(
    instance: SelectionInstance, job: SelectionJob, work: list[tuple[int, int]], slowest: int
) -> int:
    due = _due(instance, job)
    worst = _down(instance.interval) + (slowest * max(w for w, _ in work) >> BITS) - due
    penalty = _down(instance.postponement_penalty) * max(worst, 0) >> BITS
    return _down(job.tardiness_weight) * (penalty + max(-due, 0)) >> BITS


# --- prices


def _slot_prices(certificate: Certificate, name: str, sizes: int) -> list[int]:
    """mu, not falling in the size: a larger slot holds a smaller job's GPUs, at their price."""
    mu = [_down(price) for price in certificate.slots[name]]
    for k in range(1, sizes):
        mu[k] = max(mu[k], mu[k - 1])
    return mu


def _fill_values(fractions: tuple[Fraction, ...], mu: list[int]) -> list[int] | None:
    """Dearest fill of a whole GPU, then of what each fraction leaves of one."""
    rooms, waiting = {Fraction(1)}, [Fraction(1)]
    while waiting:
        room = waiting.pop()
        fresh = {room - f for f in fractions if f <= room} - rooms
        rooms |= fresh
        waiting += fresh
        if len(rooms) > MOST_ROOMS:
            return None
    best: dict[Fraction, int] = {}
    for room in sorted(rooms):
        items = zip(fractions, mu, strict=True)
        best[room] = max((best[room - f] + price for f, price in items if f <= room), default=0)
    return [best[Fraction(1)], *(best[1 - f] for f in fractions)]


def _packing_values(mu: list[int], fill: int) -> list[int]:
    """R(r): the dearest packing of r GPUs by dedicated slots and shared GPUs."""
    items, best = [max(mu[0], fill), *mu[1:]], [0]
    for room in range(1, len(mu) + 1):
        best.append(max(best[room - k] + items[k - 1] for k in range(1, room + 1)))
    return best


# --- leaders

Line = tuple[int, int]
"""(slope, value at 0): a leader's expected seconds, and its tardiness less its price."""


def _lines(late: list[Costs], energy: list[Costs], prices: list[int], c: int) -> list[Line]:
    found = []
    for cost, seconds, price in zip(late, energy, prices, strict=True):
        here, slope = cost[c], seconds[c]
        if here is not None and slope is not None:
            found.append((slope, here - price))
    return found


def _lower_envelope(lines: list[Line]) -> tuple[list[Line], list[Fraction]]:
    """The lines that are least at some rate >= 0, steepest first, and where each gives way."""
    hull: list[Line] = []
    for slope, fixed in sorted(lines, key=lambda line: (-line[0], line[1])):
        if hull and hull[-1][0] == slope:
            continue
        while hull and hull[-1][1] >= fixed:  # never below a flatter line that starts lower
            hull.pop()
        while len(hull) > 1 and _is_above(hull[-2], hull[-1], (slope, fixed)):
            hull.pop()
        hull.append((slope, fixed))
    ends = [Fraction(b[1] - a[1], a[0] - b[0]) for a, b in pairwise(hull)]
    return hull, ends


def _is_above(first: Line, middle: Line, last: Line) -> bool:
    """Whether the middle line of falling slopes is nowhere below both others."""
    to_middle, to_last = middle[1] - first[1], last[1] - first[1]
    return to_middle * (first[0] - last[0]) >= to_last * (first[0] - middle[0])


def _least_reduced_cost(
    rates: tuple[float, ...],
    envelopes: list[tuple[list[Line], list[Fraction]]],
    packing: list[int],
    fills: list[int],
) -> int | None:
    """min rc over a node's leaders and usages, the price of opening left out; None without any."""
    sizes = len(packing) - 1
    least: int | None = None
    for c, (lines, ends) in enumerate(envelopes):
        taken, beside = (c + 1, 0) if c < sizes else (1, fills[1 + c - sizes])
        for used in range(taken, len(rates) + 1) if lines else ():
            rate = rates[used - 1]
            slope, fixed = lines[bisect_right(ends, rate)]
            cost = (slope * _down(rate) >> BITS) + fixed - packing[used - taken] - beside
            least = cost if least is None else min(least, cost)
    return least
