"""The independent checker of selections: every rule and (P1.1), from the decisions alone.

Shares no code with the methods. Equation numbers are those of the STS paper; a prime marks a
corrected equation.
"""

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
    readings = SelectionOptions.from_dict(solution.options if options is None else options)
    violations = [
        *instance_violations(solution.instance, instance.name),
        *_each_job_once(instance, solution),
    ]
    violations += _nodes_exist(instance, solution)
    if violations:
        return CheckReport(None, tuple(violations))
    nodes = {node.name: node for node in instance.nodes}
    placed = {p.name: (p, nodes[p.node]) for p in solution.jobs if p.node is not None}
    violations = [v for job in instance.jobs for v in _job_rules(instance, job, placed, readings)]
    violations += [*_capacity(placed), *_opening(instance, placed, readings)]
    if violations:
        return CheckReport(None, tuple(violations))
    cost, rounding = _total_cost(instance, placed, readings), _rounding(instance, placed, readings)
    if solution.objective is not None:
        claim = claim_violation(solution.objective, cost, rounding)
        violations += [] if claim is None else [claim]
    if solution.certificate is not None:
        violations += _certificate(instance, solution.certificate, readings, cost, rounding)
    return CheckReport(cost, tuple(violations), rounding)


def _each_job_once(instance: SelectionInstance, solution: SelectionSolution) -> Iterator[Violation]:
    occurrences = Counter(placement.name for placement in solution.jobs)
    for job in instance.jobs:
        if occurrences[job.name] != 1:
            yield Violation("job", "(4)", f"job {job.name}", abs(occurrences[job.name] - 1))
    job_names = {job.name for job in instance.jobs}
    for name in occurrences:
        if name not in job_names:
            yield Violation("job", "(4)", f"unknown job {name}", occurrences[name])


def _nodes_exist(instance: SelectionInstance, solution: SelectionSolution) -> Iterator[Violation]:
    node_names = {node.name for node in instance.nodes}
    for placement in solution.jobs:
        if placement.node is not None and placement.node not in node_names:
            yield Violation("node", "n in N", f"job {placement.name} on {placement.node!r}", 1)
        if placement.node is None and placement.gpus:
            where = f"postponed job {placement.name}"
            yield Violation("GPUs", "(11)", where, len(placement.gpus))


def _exact(fraction: float) -> Fraction:
    """Convert a decimal to the exact rational: 0.15 becomes 3/20."""
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
        excess = max(gpu - node.gpus + 1, -gpu)
        if excess > 0:
            yield Violation("GPU index", "(12')", f"{where}, GPU {gpu}", excess)
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
    missing_bytes = Fraction(job.memory_bytes) - fraction * Fraction(kind.memory_bytes)
    if missing_bytes > 0:
        yield Violation("memory", "(15)", where, float(missing_bytes))


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
    required_nodes = min(len(instance.jobs), len(instance.nodes))
    opened = len({node.name for _, node in placed.values()})
    if options.node_opening == "printed" and opened != required_nodes:
        yield Violation(
            "node opening", "(16)", f"{opened} open nodes", abs(opened - required_nodes)
        )


def _total_cost(instance: SelectionInstance, placed: Placed, options: SelectionOptions) -> float:
    """(P1.1): expected tardiness, worst-case tardiness of postponed jobs, energy of open nodes."""
    total = 0.0
    for job in instance.jobs:
        if job.name in placed:
            total += job.tardiness_weight * _tardiness(instance, job, placed, options)
        else:
            total += job.tardiness_weight * _postponement(instance, job, options)
    by_node: dict[str, list[SelectionJob]] = defaultdict(list)
    for job in instance.jobs:
        if job.name in placed:
            by_node[placed[job.name][1].name].append(job)
    return total + sum(_energy(instance, jobs, placed) for jobs in by_node.values())


def _rounding(instance: SelectionInstance, placed: Placed, options: SelectionOptions) -> float:
    """Rounding error in dollars of differences between run time and time to the due date."""
    terms = 0.0
    for job in instance.jobs:
        seconds = abs(job.due_date - instance.now)
        if job.name in placed:
            mean = sum(w * p for w, p in _remaining_epochs(job))
            seconds += mean * _seconds_per_epoch(instance, job, placed)
        else:
            slowest = max(w for w, _ in _remaining_epochs(job)) * _slowest(instance, job, options)
            seconds += instance.postponement_penalty * (instance.interval + slowest + seconds)
        terms += job.tardiness_weight * seconds
    return CANCELLATION * terms


def _remaining_epochs(job: SelectionJob) -> list[tuple[float, float]]:
    """Remaining epochs w_s with their probabilities p_s, renormalised."""
    pairs = zip(job.epochs.values, job.epochs.probabilities, strict=True)
    remaining = [(w - job.completed_epochs, p) for w, p in pairs if w > job.completed_epochs]
    total = sum(p for _, p in remaining)
    return [(w, p / total) for w, p in remaining]


def _seconds_per_epoch(instance: SelectionInstance, job: SelectionJob, placed: Placed) -> float:
    placement, node = placed[job.name]
    slowdown = instance.gpu_types[node.gpu_type].slowdown_of(_exact(placement.fraction))
    return job.epoch_time[node.gpu_type][len(placement.gpus) - 1] * slowdown


def _tardiness(
    instance: SelectionInstance, job: SelectionJob, placed: Placed, options: SelectionOptions
) -> float:
    """(19'): E[(t W - d)^+], or (19) and (20) as printed."""
    seconds, due = _seconds_per_epoch(instance, job, placed), job.due_date - instance.now
    remaining = _remaining_epochs(job)
    if options.tardiness == "printed":
        remaining = [(sum(w * p for w, p in remaining), 1.0)]
    tardiness = sum(p * max(seconds * w - due, 0.0) for w, p in remaining)
    if options.postponement == "printed":
        tardiness += instance.postponement_penalty * max(-due, 0.0)
    return tardiness


def _postponement(
    instance: SelectionInstance, job: SelectionJob, options: SelectionOptions
) -> float:
    """(19') and (20') of a job that is not placed."""
    due = job.due_date - instance.now
    slowest = max(w for w, _ in _remaining_epochs(job)) * _slowest(instance, job, options)
    worst = max(instance.interval + slowest - due, 0.0)
    return instance.postponement_penalty * worst + max(-due, 0.0)


def _slowest(instance: SelectionInstance, job: SelectionJob, options: SelectionOptions) -> float:
    """Seconds per epoch of the slowest configuration that some node admits."""
    times: list[float] = []
    for name, largest_node_gpus in instance.largest.items():
        kind = instance.gpu_types[name]
        if name not in job.epoch_time or not kind.holds(job.memory_bytes, Fraction(1)):
            continue
        times += job.epoch_time[name][:largest_node_gpus]
        for fraction in kind.fractions if options.shares else ():
            if kind.holds(job.memory_bytes, fraction):
                times.append(job.epoch_time[name][0] * kind.slowdown_of(fraction))
    return max(times)


def _energy(instance: SelectionInstance, jobs: list[SelectionJob], placed: Placed) -> float:
    """(17), (18), (21'): a node's rate until its job of least expected time ends."""
    node = placed[jobs[0].name][1]
    in_use = {gpu for job in jobs for gpu in placed[job.name][0].gpus}
    first = min(
        _seconds_per_epoch(instance, job, placed) * sum(w * p for w, p in _remaining_epochs(job))
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
    """Recompute the certificate's bound: at least the claimed one, at most the objective."""
    document = {"kind": "prices", **certificate.model_dump(mode="json")}
    try:
        verified_bound = verify(instance.to_dict(), document, options.to_dict())
    except RefusedError as error:
        yield Violation("certificate", "prices", str(error), error.shortfall)
        return
    postponed = [
        job.tardiness_weight * _postponement(instance, job, options) for job in instance.jobs
    ]
    pairs = zip(certificate.jobs, postponed, strict=True)
    opened = abs(certificate.opening) * min(len(instance.jobs), len(instance.nodes))
    summed_prices = sum(min(abs(price), cost) for price, cost in pairs) + min(
        opened, sum(postponed)
    )
    claimed_bound = certificate.bound
    if claimed_bound - verified_bound > max(
        CLAIM_TOLERANCE * verified_bound, PRICE_ROUNDING * summed_prices
    ):
        shortfall = share_of(claimed_bound - verified_bound, claimed_bound, verified_bound)
        yield Violation("certificate", "LB", "the bound claimed", shortfall, CLAIM_TOLERANCE)
    if verified_bound - objective > max(BOUND_TOLERANCE * objective, rounding):
        excess = share_of(verified_bound - objective, verified_bound, objective)
        yield Violation("certificate", "LB <= objective", "the bound", excess, BOUND_TOLERANCE)
