"""The independent checker of selections: every rule and (P1.1), from the decisions alone.

Shares no code with the methods. The equations are sts's, primed where corrected.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from optsched.checking import (
    BOUND_TOLERANCE,
    CANCELLATION,
    CLAIM_TOLERANCE,
    CheckReport,
    Violation,
    claim_violation,
    instance_violations,
    share_of,
)
from optsched.library.verify import RefusedError, verify
from optsched.selection.instance import Node, SelectionInstance, SelectionJob
from optsched.selection.options import SelectionOptions
from optsched.selection.solution import Certificate, JobPlacement, SelectionSolution

PRICE_ROUNDING = 2.5e-10
"""Share of the sum of all prices that a claimed bound may exceed the proved one by.

`verify` caps each price at the cost of postponing its job, and lowers the bound by 1e-10 of the
sum of all terms, which is at most twice the sum of these prices. So prices count here up to that
cost, and the prices of opening together up to the cost of postponing every job.
"""

Placed = dict[str, tuple[JobPlacement, Node]]


def check(
    instance: SelectionInstance,
    solution: SelectionSolution,
    options: dict[str, Any] | None = None,
) -> CheckReport:
    """Check a selection and recompute its expected cost.

    Rules: "instance", "job" (each listed once) (4), "node", "GPU index" (12'), "GPUs" (11),
    "fraction" (8')(8'')(10'), "sharing", "GPU type" (6)(7), "memory" (15), "capacity" (9),
    "node opening" (16') and "claimed objective" (P1.1); "certificate" where the solution carries
    prices: the bound that they prove, recomputed without a solver.
    """
    chosen = SelectionOptions.from_dict(solution.options if options is None else options)
    found = [*instance_violations(solution.instance, instance.name), *_listed(instance, solution)]
    found += _nodes_exist(instance, solution)
    if found:
        return CheckReport(None, tuple(found))
    nodes = {node.name: node for node in instance.nodes}
    placed = {p.name: (p, nodes[p.node]) for p in solution.jobs if p.node is not None}
    found = [v for each in instance.jobs for v in _job_rules(instance, each, placed, chosen)]
    found += [*_capacity(placed), *_opening(instance, placed, chosen)]
    if found:
        return CheckReport(None, tuple(found))
    cost, rounding = _total_cost(instance, placed, chosen), _rounding(instance, placed, chosen)
    if solution.objective is not None:
        claim = claim_violation(solution.objective, cost, rounding)
        found += [] if claim is None else [claim]
    if solution.certificate is not None:
        found += _certificate(instance, solution.certificate, chosen, cost, rounding)
    return CheckReport(cost, tuple(found), rounding)


def _listed(instance: SelectionInstance, solution: SelectionSolution) -> Iterator[Violation]:
    times = Counter(placement.name for placement in solution.jobs)
    for job in instance.jobs:
        if times[job.name] != 1:
            yield Violation("job", "(4)", f"job {job.name}", abs(times[job.name] - 1))
    known = {job.name for job in instance.jobs}
    for name in times:
        if name not in known:
            yield Violation("job", "(4)", f"unknown job {name}", times[name])


def _nodes_exist(instance: SelectionInstance, solution: SelectionSolution) -> Iterator[Violation]:
    known = {node.name for node in instance.nodes}
    for placement in solution.jobs:
        if placement.node is not None and placement.node not in known:
            yield Violation("node", "n in N", f"job {placement.name} on {placement.node!r}", 1)
        if placement.node is None and placement.gpus:
            where = f"postponed job {placement.name}"
            yield Violation("GPUs", "(11)", where, len(placement.gpus))


def _exact(fraction: float) -> Fraction:
    """The rational that a decimal in a file means: 0.15 is 3/20."""
    return Fraction(repr(float(fraction)))


def _job_rules(
    instance: SelectionInstance, job: SelectionJob, placed: Placed, options: SelectionOptions
) -> Iterator[Violation]:
    if job.name not in placed:
        return
    placement, node = placed[job.name]
    where, fraction = f"job {job.name} on {node.name}", _exact(placement.fraction)
    kind = instance.gpu_types[node.gpu_type]
    for gpu in placement.gpus:
        outside = max(gpu - node.gpus + 1, -gpu)
        if outside > 0:
            yield Violation("GPU index", "(12')", f"{where}, GPU {gpu}", outside)
    count = len(placement.gpus)
    if count == 0 or len(set(placement.gpus)) < count:
        yield Violation("GPUs", "(11)", where, max(count - len(set(placement.gpus)), 1))
    if fraction != 1 and fraction not in kind.fractions:
        yield Violation("fraction", "(8'')", where, float(fraction))
    if fraction != 1 and count > 1:
        yield Violation("fraction", "(10')", where, count - 1)
    if fraction != 1 and not options.shares:
        yield Violation("sharing", "option sharing", where, 1)
    if node.gpu_type not in job.epoch_time:
        yield Violation("GPU type", "(6)", where, 1)
    short = Fraction(job.memory_bytes) - fraction * Fraction(kind.memory_bytes)
    if short > 0:
        yield Violation("memory", "(15)", where, float(short))


def _capacity(placed: Placed) -> Iterator[Violation]:
    used: dict[tuple[str, int], Fraction] = defaultdict(Fraction)
    for placement, node in placed.values():
        for gpu in set(placement.gpus):
            used[node.name, gpu] += _exact(placement.fraction)
    for (node_name, gpu), share in used.items():
        if share > 1:
            yield Violation("capacity", "(9)", f"GPU {gpu} of {node_name}", float(share - 1))


def _opening(
    instance: SelectionInstance, placed: Placed, options: SelectionOptions
) -> Iterator[Violation]:
    most = min(len(instance.jobs), len(instance.nodes))
    opened = len({node.name for _, node in placed.values()})
    if options.node_opening == "printed" and opened != most:
        yield Violation("node opening", "(16)", f"{opened} open nodes", abs(opened - most))


def _total_cost(instance: SelectionInstance, placed: Placed, options: SelectionOptions) -> float:
    """(P1.1): expected tardiness, worst-case tardiness of the postponed, energy of the nodes."""
    total = 0.0
    for job in instance.jobs:
        if job.name in placed:
            total += job.tardiness_weight * _tardiness(instance, job, placed)
        else:
            total += job.tardiness_weight * _postponement(instance, job, options)
    by_node: dict[str, list[SelectionJob]] = defaultdict(list)
    for job in instance.jobs:
        if job.name in placed:
            by_node[placed[job.name][1].name].append(job)
    return total + sum(_energy(instance, jobs, placed) for jobs in by_node.values())


def _rounding(instance: SelectionInstance, placed: Placed, options: SelectionOptions) -> float:
    """Dollars that rounding may leave where seconds taken and seconds to a due date cancel."""
    terms = 0.0
    for job in instance.jobs:
        seconds = abs(job.due_date - instance.now)
        if job.name in placed:
            mean = sum(w * p for w, p in _left(job))
            seconds += mean * _seconds_per_epoch(instance, job, placed)
        else:
            slowest = max(w for w, _ in _left(job)) * _slowest(instance, job, options)
            seconds += instance.postponement_penalty * (instance.interval + slowest + seconds)
        terms += job.tardiness_weight * seconds
    return CANCELLATION * terms


def _left(job: SelectionJob) -> list[tuple[float, float]]:
    """Remaining epochs w_s with their probabilities p_s, renormalised."""
    pairs = zip(job.epochs.values, job.epochs.probabilities, strict=True)
    kept = [(w - job.completed_epochs, p) for w, p in pairs if w > job.completed_epochs]
    total = sum(p for _, p in kept)
    return [(w, p / total) for w, p in kept]


def _seconds_per_epoch(instance: SelectionInstance, job: SelectionJob, placed: Placed) -> float:
    placement, node = placed[job.name]
    slowdown = instance.gpu_types[node.gpu_type].slowdown_of(_exact(placement.fraction))
    return job.epoch_time[node.gpu_type][len(placement.gpus) - 1] * slowdown


def _tardiness(instance: SelectionInstance, job: SelectionJob, placed: Placed) -> float:
    """(19'): E[(t W - d)^+]."""
    seconds, due = _seconds_per_epoch(instance, job, placed), job.due_date - instance.now
    return sum(p * max(seconds * w - due, 0.0) for w, p in _left(job))


def _postponement(
    instance: SelectionInstance, job: SelectionJob, options: SelectionOptions
) -> float:
    """(19') and (20') of a job that is not placed."""
    due = job.due_date - instance.now
    slowest = max(w for w, _ in _left(job)) * _slowest(instance, job, options)
    worst = max(instance.interval + slowest - due, 0.0)
    return instance.postponement_penalty * worst + max(-due, 0.0)


def _slowest(instance: SelectionInstance, job: SelectionJob, options: SelectionOptions) -> float:
    """Seconds per epoch of the slowest configuration that some node admits."""
    times: list[float] = []
    for name, most in instance.largest.items():
        kind = instance.gpu_types[name]
        if name not in job.epoch_time or not kind.holds(job.memory_bytes, Fraction(1)):
            continue
        times += job.epoch_time[name][:most]
        for fraction in kind.fractions if options.shares else ():
            if kind.holds(job.memory_bytes, fraction):
                times.append(job.epoch_time[name][0] * kind.slowdown_of(fraction))
    return max(times)


def _energy(instance: SelectionInstance, jobs: list[SelectionJob], placed: Placed) -> float:
    """(17), (18), (21'): a node's rate until its job of least expected time ends."""
    node = placed[jobs[0].name][1]
    in_use = {gpu for job in jobs for gpu in placed[job.name][0].gpus}
    first = min(
        _seconds_per_epoch(instance, job, placed) * sum(w * p for w, p in _left(job))
        for job in jobs
    )
    return first * node.cost_rate[len(in_use) - 1]


def _certificate(
    instance: SelectionInstance,
    certificate: Certificate,
    options: SelectionOptions,
    objective: float,
    rounding: float,
) -> Iterator[Violation]:
    """The bound that the prices prove: not below the bound claimed, not above the objective."""
    document = {"kind": "prices", **certificate.model_dump(mode="json")}
    try:
        proved = verify(instance.to_dict(), document, options.to_dict())
    except RefusedError as error:
        yield Violation("certificate", "prices", str(error), error.shortfall)
        return
    postponed = [
        job.tardiness_weight * _postponement(instance, job, options) for job in instance.jobs
    ]
    pairs = zip(certificate.jobs, postponed, strict=True)
    opened = abs(certificate.opening) * min(len(instance.jobs), len(instance.nodes))
    prices = sum(min(abs(price), cost) for price, cost in pairs) + min(opened, sum(postponed))
    claimed = certificate.bound
    if claimed - proved > max(CLAIM_TOLERANCE * proved, PRICE_ROUNDING * prices):
        over = share_of(claimed - proved, claimed, proved)
        yield Violation("certificate", "LB", "the bound claimed", over, CLAIM_TOLERANCE)
    if proved - objective > max(BOUND_TOLERANCE * objective, rounding):
        above = share_of(proved - objective, proved, objective)
        yield Violation("certificate", "LB <= objective", "the bound", above, BOUND_TOLERANCE)
