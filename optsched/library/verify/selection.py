"""Selection: prices of jobs and of slots on GPUs (models/selection, "Certificate")."""

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from .certificate import (
    COMPARISON_RTOL,
    MAX_SLOTS,
    ROUNDING_RTOL,
    Document,
    RefusedError,
    leaves,
    numbers,
)


def selection_prices(
    instance: Document, certificate: Document, options: Document | None = None
) -> float:
    """Prove sum_j lam'_j + sum_v N_v kappa_v, and theta for each node that must open.

    lam'_j is at most the cost of job j postponed, or as a follower that pays for its slot; kappa_v
    is the minimum reduced cost of a leader on a node of class v with the most valuable packing of
    the node's other GPUs. A leader's cost is a line in the node's rate, so the minimum lies on the
    lower envelope of the jobs' lines. Complexity: O(J C (S + log J) + V K C log J) for C
    configurations, S scenarios and V classes (distinct cost vectors).
    """
    costs = _costs(instance, options or {})
    theta = float(certificate.get("opening", 0.0))
    printed = (options or {}).get("node_opening") == "printed"
    if not math.isfinite(theta) or (theta and not printed):
        raise RefusedError("a price of opening nodes: any number may be open", abs(theta))
    values = _slot_values(costs, certificate)
    prices = np.minimum(
        numbers(certificate["jobs"], len(costs.postponed), "prices of jobs"), costs.postponed
    )
    for name, kind in costs.kinds.items():
        prices = np.minimum(prices, (kind.late + values[name].slots).min(axis=1))
    opened = theta * min(len(instance["jobs"]), len(instance["nodes"]))
    total, size = float(prices.sum()) + opened, float(np.abs(prices).sum()) + abs(opened)
    for name, kind in costs.kinds.items():
        classes = Counter(
            tuple(node["cost_rate"]) for node in instance["nodes"] if node["gpu_type"] == name
        )
        node_counts = np.array(list(classes.values()))
        rates = np.full((len(classes), kind.gpus), np.inf)
        for row, rate in zip(rates, classes, strict=True):
            row[: len(rate)] = rate
        reduced_cost = np.full(len(classes), np.inf)
        for c in range(kind.late.shape[1]):
            usable = np.isfinite(kind.late[:, c])
            if not usable.any():
                continue
            lines = _lower_envelope(kind.seconds[usable, c], kind.late[usable, c] - prices[usable])
            for used in range(c + 1 if c < kind.gpus else 1, kind.gpus + 1):
                packing = values[name].packing(c, used)
                cost = _envelope_at(lines, rates[:, used - 1]) - packing
                reduced_cost = np.minimum(reduced_cost, cost)
        saved = np.minimum(reduced_cost - theta, 0.0)
        total += float(node_counts @ saved)
        size += float(node_counts @ np.abs(saved))
    return max(total - ROUNDING_RTOL * size, 0.0)


def selection_branches(
    instance: Document, certificate: Document, options: Document | None = None
) -> float:
    """Prove the minimum over the leaves of a tree; every selection below `target` is in some leaf.

    A branch bounds the number of jobs with certain roles: at most k, or at least k + 1. In a leaf
    each such row has a price, which the roles that it counts pay. Reduced-cost fixing at the root
    excludes the roles whose reduced cost reaches the target less the bound there.
    """
    target = float(certificate["target"])
    if not 0 <= target < math.inf:
        raise RefusedError(f"the target {target}")
    roles = _roles(instance, options or {})
    root_bound, reduced_costs = _relaxed(roles, certificate)
    survives = root_bound + reduced_costs < target * (1 + COMPARISON_RTOL)
    roles = roles._replace(cost=np.where(survives, roles.cost, math.inf))
    bound = target
    for leaf, path in leaves(certificate["nodes"], lambda count: _counted(roles, count)):
        penalised_cost, row_terms = roles.cost.copy(), []
        prices = numbers(leaf["rows"], len(path), "prices of rows", 0)
        for price, (sign, counted, limit) in zip(prices, path, strict=True):
            penalised_cost += price * sign * counted
            row_terms.append(price * limit)
        proved = _relaxed(roles._replace(cost=penalised_cost), leaf)[0] - sum(row_terms)
        bound = min(bound, proved - ROUNDING_RTOL * sum(map(abs, row_terms)))
    return max(bound, root_bound, 0.0)


class _Kind(NamedTuple):
    """A GPU type: GPUs of its largest node, fractions, and costs by job and configuration.

    Configurations are sizes 1..K and then fractions, largest first. `late` has dollars of expected
    tardiness, infinite where the job cannot run; `seconds` the expected seconds.
    """

    gpus: int
    fractions: list[Fraction]
    late: np.ndarray
    seconds: np.ndarray


class _Costs(NamedTuple):
    """Dollars of each postponed job, and the costs by GPU type."""

    postponed: np.ndarray
    kinds: dict[str, _Kind]


def _costs(instance: Document, options: Document) -> _Costs:
    jobs, kinds, slowest = instance["jobs"], {}, np.zeros(len(instance["jobs"]))
    remaining = [remaining_epochs(job) for job in jobs]
    for name, gpus in largest_nodes(instance).items():
        shares = options.get("sharing", "on") == "on"
        fractions = fractions_of(instance["gpu_types"][name]) if shares else []
        seconds = [
            epoch_seconds(instance["gpu_types"][name], job, name, gpus, fractions) for job in jobs
        ]
        costs = [
            _tardiness(instance, job, epochs, times, options)
            for job, epochs, times in zip(jobs, remaining, seconds, strict=True)
        ]
        late, expected = (np.array(part) for part in zip(*costs, strict=True))
        kinds[name] = _Kind(gpus, fractions, late, expected)
        usable = [max((t for t in times if t < math.inf), default=0.0) for times in seconds]
        slowest = np.maximum(slowest, usable)
    postponed = [
        _postponed(instance, job, float(epochs[0][-1]), times)
        for job, epochs, times in zip(jobs, remaining, slowest, strict=True)
    ]
    return _Costs(np.array(postponed), kinds)


class _SlotValues(NamedTuple):
    """A type's slot prices, non-decreasing in size, and the most valuable packings and fills."""

    slots: np.ndarray
    packings: list[float]
    fills: list[float]

    def packing(self, c: int, used: int) -> float:
        """Most valuable packing next to a leader in configuration c, `used` GPUs in use."""
        gpus = len(self.packings) - 1
        if c < gpus:
            return self.packings[used - c - 1]
        return self.packings[used - 1] + self.fills[1 + c - gpus]


def _slot_values(costs: _Costs, given: Document) -> dict[str, _SlotValues]:
    """The values by type of the slot prices in a certificate, or in a leaf of a tree."""
    values = {}
    if set(given["slots"]) != set(costs.kinds):
        raise RefusedError(f"prices of slots on {sorted(given['slots'])}")
    for name, kind in costs.kinds.items():
        count = kind.gpus + len(kind.fractions)
        slots = numbers(given["slots"][name], count, f"prices of slots on {name}", 0)
        slots[: kind.gpus] = np.maximum.accumulate(slots[: kind.gpus])
        fills = _fills(kind.fractions, slots[kind.gpus :].tolist())
        packings = _packing([max(slots[0], fills[0]), *slots[1 : kind.gpus]])
        values[name] = _SlotValues(slots, packings, fills)
    return values


def _lower_envelope(slopes: np.ndarray, fixed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slopes and values at 0 of the lines on the lower envelope at rates >= 0, steepest first."""
    hull: list[tuple[float, float]] = []
    order = np.lexsort((fixed, -slopes))
    for slope, value in zip(slopes[order].tolist(), fixed[order].tolist(), strict=True):
        if hull and hull[-1][0] == slope:
            continue
        while hull and hull[-1][1] >= value:  # never below a flatter line that starts lower
            hull.pop()
        while len(hull) > 1 and _is_above(hull[-2], hull[-1], (slope, value)):
            hull.pop()
        hull.append((slope, value))
    return tuple(np.array(part) for part in zip(*hull, strict=True))  # type: ignore[return-value]


def _is_above(
    first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]
) -> bool:
    """Whether the middle line of falling slopes is nowhere below both others."""
    to_middle, to_last = middle[1] - first[1], last[1] - first[1]
    return to_middle * (first[0] - last[0]) >= to_last * (first[0] - middle[0])


def _envelope_at(lines: tuple[np.ndarray, np.ndarray], rates: np.ndarray) -> np.ndarray:
    """Minimum of the envelope at each rate: rounding may shift a breakpoint by one line."""
    slopes, fixed = lines
    breakpoints = (fixed[1:] - fixed[:-1]) / (slopes[:-1] - slopes[1:])
    line = np.searchsorted(breakpoints, rates, side="right")
    near = [np.clip(line + step, 0, len(slopes) - 1) for step in (-1, 0, 1)]
    lowest = np.minimum.reduce([slopes[i] * rates + fixed[i] for i in near])
    return np.where(np.isfinite(rates), lowest, np.inf)


class _Roles(NamedTuple):
    """Cost of every role for every job (jobs x roles), dollars.

    `labels` describe the columns; `followers` has each GPU type's columns, `leaders` the type, the
    number of nodes and the columns of each class of nodes with equal costs.
    """

    cost: np.ndarray
    costs: _Costs
    labels: list[dict[str, Any]]
    followers: dict[str, slice]
    leaders: list[tuple[str, int, slice]]


def _roles(instance: Document, options: Document) -> _Roles:
    """Roles: wait; follow, by GPU type and configuration; lead, also by the GPUs in use."""
    costs = _costs(instance, options)
    columns, followers = [costs.postponed[:, None]], {}
    labels: list[dict[str, Any]] = [{"role": "waits"}]
    for name, kind in costs.kinds.items():
        columns.append(kind.late)
        start, configurations = len(labels), range(kind.late.shape[1])
        labels += [{"role": "follows", "type": name, "configuration": c} for c in configurations]
        followers[name] = slice(start, len(labels))
    nodes = [(node["gpu_type"], tuple(node["cost_rate"])) for node in instance["nodes"]]
    leaders = []
    for (name, rates), number in Counter(nodes).items():
        start, kind = len(labels), costs.kinds[name]
        for c in range(kind.late.shape[1]):
            for used in range(c + 1 if c < kind.gpus else 1, len(rates) + 1):
                label = {"role": "leads", "type": name, "configuration": c, "used": used}
                labels.append({**label, "node": nodes.index((name, rates))})
                columns.append(rates[used - 1] * kind.seconds[:, [c]] + kind.late[:, [c]])
        leaders.append((name, number, slice(start, len(labels))))
    return _Roles(np.hstack(columns), costs, labels, followers, leaders)


def _relaxed(roles: _Roles, given: Document) -> tuple[float, np.ndarray]:
    """Lagrangian bound at prices, and the reduced cost of each (job, role)."""
    prices = numbers(given["jobs"], len(roles.cost), "prices of jobs")
    values, reduced = _slot_values(roles.costs, given), roles.cost.copy()
    for name, columns in roles.followers.items():
        reduced[:, columns] += values[name].slots
    first_leader = min(columns.start for _, _, columns in roles.leaders)
    prices = np.minimum(prices, reduced[:, :first_leader].min(axis=1))
    reduced -= prices[:, None]
    total = size = 0.0
    for name, number, columns in roles.leaders:
        labels = roles.labels[columns]
        packings = [values[name].packing(x["configuration"], x["used"]) for x in labels]
        reduced[:, columns] -= packings
        saved = min(float(reduced[:, columns].min()), 0.0)
        reduced[:, columns] -= saved
        total, size = total + number * saved, size + number * abs(saved)
    size += float(np.abs(prices).sum())
    return float(prices.sum()) + total - ROUNDING_RTOL * size, reduced


def _counted(roles: _Roles, wanted: Document) -> np.ndarray:
    """1 where a row counts a job's role: one that runs and meets the row's conditions."""
    if not set(wanted) <= {"job", "role", "type", "configuration", "used", "node"}:
        raise RefusedError(f"a count by {sorted(wanted)}")
    conditions = [(key, value) for key, value in wanted.items() if key != "job"]
    columns = [
        label["role"] != "waits" and all(label.get(key) == value for key, value in conditions)
        for label in roles.labels
    ]
    rows = np.ones(len(roles.cost))
    if "job" in wanted:
        rows = (np.arange(len(rows)) == wanted["job"]).astype(float)
    return np.outer(rows, columns)


def largest_nodes(instance: Document) -> dict[str, int]:
    """GPUs of each type's largest node."""
    largest: dict[str, int] = {}
    for node in instance["nodes"]:
        largest[node["gpu_type"]] = max(largest.get(node["gpu_type"], 0), node["gpus"])
    return largest


def fractions_of(kind: Document) -> list[Fraction]:
    return sorted((Fraction(key) for key in kind["slowdown"]), reverse=True)


def epoch_seconds(
    kind: Document, job: Document, name: str, gpus: int, fractions: Sequence[Fraction]
) -> list[float]:
    """Seconds per epoch on 1..K GPUs of a type, then on fractions of one; infinite where not."""
    needed, memory = Fraction(job["memory_bytes"]), Fraction(kind["memory_bytes"])
    times = job["epoch_time"].get(name)
    if times is None or needed > memory:
        return [math.inf] * (gpus + len(fractions))
    slowdown = {Fraction(key): b for key, b in kind["slowdown"].items()}
    shared = [times[0] * slowdown[f] if needed <= f * memory else math.inf for f in fractions]
    return [*times, *shared]


def remaining_epochs(job: Document) -> tuple[np.ndarray, np.ndarray]:
    """Values of W - completed, ascending, and their probabilities given W > completed."""
    pairs = sorted(zip(job["epochs"]["values"], job["epochs"]["probabilities"], strict=True))
    done = job.get("completed_epochs", 0)
    values, shares = np.array([pair for pair in pairs if pair[0] > done], dtype=float).T
    return values - done, shares / shares.sum()


def _tardiness(
    instance: Document,
    job: Document,
    work: tuple[np.ndarray, np.ndarray],
    times: list[float],
    options: Document,
) -> tuple[np.ndarray, np.ndarray]:
    """Expected tardiness in dollars, and expected seconds, by configuration."""
    values, shares = work
    usable, due = np.isfinite(times), job["due_date"] - instance["now"]
    seconds = np.where(usable, times, 0.0)[:, None] * values
    expected = np.where(usable, seconds @ shares, 0.0)
    late = np.maximum(seconds - due, 0.0) @ shares
    if options.get("tardiness") == "printed":
        late = np.maximum(expected - due, 0.0)
    if options.get("postponement") == "printed":
        late += instance["postponement_penalty"] * max(-due, 0.0)
    return np.where(usable, job["tardiness_weight"] * late, np.inf), expected


def _postponed(instance: Document, job: Document, epochs: float, slowest: float) -> float:
    """Postponement cost in dollars: worst-case tardiness, plus the tardiness so far."""
    due = job["due_date"] - instance["now"]
    worst = max(instance["interval"] + slowest * epochs - due, 0.0)
    penalty = instance["postponement_penalty"] * worst + max(-due, 0.0)
    return float(job["tardiness_weight"] * penalty)


def _fills(fractions: Sequence[Fraction], prices: Sequence[float]) -> list[float]:
    """The most valuable fill of a whole GPU, then of what each fraction leaves of one."""
    rooms, stack = {Fraction(1)}, [Fraction(1)]
    while stack:
        room = stack.pop()
        new = {room - f for f in fractions if f <= room} - rooms
        rooms |= new
        stack += new
        if len(rooms) > MAX_SLOTS:
            raise RefusedError("fractions too fine to check")
    best: dict[Fraction, float] = {}
    for room in sorted(rooms):
        items = zip(fractions, prices, strict=True)
        best[room] = max((best[room - f] + price for f, price in items if f <= room), default=0.0)
    return [best[Fraction(1)], *(best[1 - f] for f in fractions)]


def _packing(prices: Sequence[float]) -> list[float]:
    """The most valuable packing of r GPUs, for r = 0, 1, ..., K, by prices of 1..K together."""
    best = [0.0]
    for room in range(1, len(prices) + 1):
        best.append(max(best[room - k] + prices[k - 1] for k in range(1, room + 1)))
    return best
