"""Selection: prices of jobs and of slots on GPUs (models/selection, "Certificate")."""

from __future__ import annotations

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
    """sum_j lam'_j + sum_v N_v kappa_v, and theta for each node that must open.

    lam'_j is at most what job j costs postponed, or as a follower that pays for its slot; kappa_v
    is what the best leader of a node of class v saves, packed beside it as dearly as can be. A
    leader's cost is a line in the node's rate, so the lower envelope of the jobs' lines has the
    best one. Complexity: O(J C (S + log J) + V K C log J) for C configurations, S scenarios and V
    distinct cost vectors.
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
        alike = Counter(
            tuple(node["cost_rate"]) for node in instance["nodes"] if node["gpu_type"] == name
        )
        numbers_of_nodes = np.array(list(alike.values()))
        rates = np.full((len(alike), kind.gpus), np.inf)
        for row, rate in zip(rates, alike, strict=True):
            row[: len(rate)] = rate
        least = np.full(len(alike), np.inf)
        for c in range(kind.late.shape[1]):
            usable = np.isfinite(kind.late[:, c])
            if not usable.any():
                continue
            lines = _lower_envelope(kind.seconds[usable, c], kind.late[usable, c] - prices[usable])
            for used in range(c + 1 if c < kind.gpus else 1, kind.gpus + 1):
                beside = values[name].beside(c, used)
                least = np.minimum(least, _lowest(lines, rates[:, used - 1]) - beside)
        saved = np.minimum(least - theta, 0.0)
        total += float(numbers_of_nodes @ saved)
        size += float(numbers_of_nodes @ np.abs(saved))
    return max(total - ROUNDING_RTOL * size, 0.0)


def selection_branches(
    instance: Document, certificate: Document, options: Document | None = None
) -> float:
    """The same in each leaf of a tree, whose branches leave nothing out that costs below a target.

    A branch says of a whole number, how many jobs have a role of some kind, that it is k at most or
    more. In a leaf each such row has a price, and the roles that it counts cost so much more. At
    the prices of the root a role that makes up the whole way to the target is in nothing below it.
    """
    target = float(certificate["target"])
    if not 0 <= target < math.inf:
        raise RefusedError(f"the target {target}")
    bound, roles = _below(_roles(instance, options or {}), certificate, target)
    least = target
    for leaf, path in leaves(certificate["nodes"], lambda count: _counted(roles, count)):
        dearer, paid = roles.cost.copy(), []
        prices = numbers(leaf["rows"], len(path), "prices of rows", 0)
        for price, (sign, counted, most) in zip(prices, path, strict=True):
            dearer += price * sign * counted
            paid.append(price * most)
        proved = _relaxed(roles._replace(cost=dearer), leaf)[0] - sum(paid)
        least = min(least, proved - ROUNDING_RTOL * sum(map(abs, paid)))
    return max(least, bound, 0.0)


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
    left = [_left(job) for job in jobs]
    for name, gpus in _largest(instance).items():
        shares = options.get("sharing", "on") == "on"
        fractions = _fractions(instance["gpu_types"][name]) if shares else []
        each = [
            _epoch_seconds(instance["gpu_types"][name], job, name, gpus, fractions) for job in jobs
        ]
        costs = [
            _lateness(instance, job, work, seconds)
            for job, work, seconds in zip(jobs, left, each, strict=True)
        ]
        late, expected = (np.array(part) for part in zip(*costs, strict=True))
        kinds[name] = _Kind(gpus, fractions, late, expected)
        usable = [max((t for t in row if t < math.inf), default=0.0) for row in each]
        slowest = np.maximum(slowest, usable)
    postponed = [
        _postponed(instance, job, float(work[0][-1]), seconds)
        for job, work, seconds in zip(jobs, left, slowest, strict=True)
    ]
    return _Costs(np.array(postponed), kinds)


class _SlotValues(NamedTuple):
    """A type's slot prices, not falling in the size, and the dearest use of GPUs and shares."""

    slots: np.ndarray
    packings: list[float]
    fills: list[float]

    def beside(self, c: int, used: int) -> float:
        """Price of the dearest packing beside a leader in configuration c, `used` GPUs in use."""
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
    """Slopes and values at 0 of the lines that are least at some rate >= 0, steepest first."""
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


def _lowest(lines: tuple[np.ndarray, np.ndarray], rates: np.ndarray) -> np.ndarray:
    """The least line at each rate: those beside the breakpoints around it are compared."""
    slopes, fixed = lines
    ends = (fixed[1:] - fixed[:-1]) / (slopes[:-1] - slopes[1:])
    at = np.searchsorted(ends, rates, side="right")
    near = [np.clip(at + step, 0, len(slopes) - 1) for step in (-1, 0, 1)]
    least = np.minimum.reduce([slopes[i] * rates + fixed[i] for i in near])
    return np.where(np.isfinite(rates), least, np.inf)


class _Roles(NamedTuple):
    """What every role costs every job, dollars: a row a job, a column a role.

    `labels` describe the columns; `follow` has each GPU type's columns of followers, `alike` for
    nodes of equal cost their type, number and columns of leaders.
    """

    cost: np.ndarray
    costs: _Costs
    labels: list[dict[str, Any]]
    follow: dict[str, slice]
    alike: list[tuple[str, int, slice]]


def _roles(instance: Document, options: Document) -> _Roles:
    """To wait; to follow in a configuration of a type; to lead so, with so many GPUs in use."""
    costs = _costs(instance, options)
    columns, follow = [costs.postponed[:, None]], {}
    labels: list[dict[str, Any]] = [{"role": "waits"}]
    for name, kind in costs.kinds.items():
        columns.append(kind.late)
        here = range(kind.late.shape[1])
        labels += [{"role": "follows", "type": name, "configuration": c} for c in here]
        follow[name] = slice(len(labels) - len(here), len(labels))
    nodes = [(node["gpu_type"], tuple(node["cost_rate"])) for node in instance["nodes"]]
    alike = []
    for (name, rates), number in Counter(nodes).items():
        start, kind = len(labels), costs.kinds[name]
        for c in range(kind.late.shape[1]):
            for used in range(c + 1 if c < kind.gpus else 1, len(rates) + 1):
                lead = {"role": "leads", "type": name, "configuration": c, "used": used}
                labels.append({**lead, "node": nodes.index((name, rates))})
                columns.append(rates[used - 1] * kind.seconds[:, [c]] + kind.late[:, [c]])
        alike.append((name, number, slice(start, len(labels))))
    return _Roles(np.hstack(columns), costs, labels, follow, alike)


def _relaxed(roles: _Roles, given: Document) -> tuple[float, np.ndarray]:
    """The bound at prices, and by job and role how much more a selection with it costs."""
    prices = numbers(given["jobs"], len(roles.cost), "prices of jobs")
    values, surplus = _slot_values(roles.costs, given), roles.cost.copy()
    for name, follow in roles.follow.items():
        surplus[:, follow] += values[name].slots
    led = min(lead.start for _, _, lead in roles.alike)  # to wait and to follow come first
    prices = np.minimum(prices, surplus[:, :led].min(axis=1))
    surplus -= prices[:, None]
    total = size = 0.0
    for name, number, lead in roles.alike:
        labels = roles.labels[lead]
        surplus[:, lead] -= [values[name].beside(x["configuration"], x["used"]) for x in labels]
        saved = min(float(surplus[:, lead].min()), 0.0)
        surplus[:, lead] -= saved
        total, size = total + number * saved, size + number * abs(saved)
    size += float(np.abs(prices).sum())
    return float(prices.sum()) + total - ROUNDING_RTOL * size, surplus


def _below(roles: _Roles, prices: Document, target: float) -> tuple[float, _Roles]:
    """The bound at prices, and the roles that a selection below a target may have."""
    bound, surplus = _relaxed(roles, prices)
    within = bound + surplus < target * (1 + COMPARISON_RTOL)
    return bound, roles._replace(cost=np.where(within, roles.cost, math.inf))


def _counted(roles: _Roles, wanted: Document) -> np.ndarray:
    """1 where a row counts a job's role: to follow or lead, and as the row says."""
    if not set(wanted) <= {"job", "role", "type", "configuration", "used", "node"}:
        raise RefusedError(f"a count by {sorted(wanted)}")
    asked = [(key, value) for key, value in wanted.items() if key != "job"]
    columns = [
        label["role"] != "waits" and all(label.get(key) == value for key, value in asked)
        for label in roles.labels
    ]
    rows = np.ones(len(roles.cost))
    if "job" in wanted:
        rows = (np.arange(len(rows)) == wanted["job"]).astype(float)
    return np.outer(rows, columns)


def _largest(instance: Document) -> dict[str, int]:
    """GPUs of each type's largest node."""
    most: dict[str, int] = {}
    for node in instance["nodes"]:
        most[node["gpu_type"]] = max(most.get(node["gpu_type"], 0), node["gpus"])
    return most


def _fractions(kind: Document) -> list[Fraction]:
    return sorted((Fraction(key) for key in kind["slowdown"]), reverse=True)


def _epoch_seconds(
    kind: Document, job: Document, name: str, gpus: int, fractions: Sequence[Fraction]
) -> list[float]:
    """Seconds per epoch on 1..K GPUs of a type, then on fractions of one; infinite where not."""
    needed, room = Fraction(job["memory_bytes"]), Fraction(kind["memory_bytes"])
    times = job["epoch_time"].get(name)
    if times is None or needed > room:
        return [math.inf] * (gpus + len(fractions))
    slower = {Fraction(key): b for key, b in kind["slowdown"].items()}
    return [*times, *(times[0] * slower[f] if needed <= f * room else math.inf for f in fractions)]


def _left(job: Document) -> tuple[np.ndarray, np.ndarray]:
    """Epochs left, ascending, and how probable each is given that the completed are not enough."""
    pairs = sorted(zip(job["epochs"]["values"], job["epochs"]["probabilities"], strict=True))
    done = job.get("completed_epochs", 0)
    values, shares = np.array([pair for pair in pairs if pair[0] > done], dtype=float).T
    return values - done, shares / shares.sum()


def _lateness(
    instance: Document, job: Document, work: tuple[np.ndarray, np.ndarray], times: list[float]
) -> tuple[np.ndarray, np.ndarray]:
    """Dollars of expected tardiness, and expected seconds, by configuration."""
    values, shares = work
    usable = np.isfinite(times)
    seconds = np.where(usable, times, 0.0)[:, None] * values
    late = np.maximum(seconds - (job["due_date"] - instance["now"]), 0.0) @ shares
    expected = np.where(usable, seconds @ shares, 0.0)
    return np.where(usable, job["tardiness_weight"] * late, np.inf), expected


def _postponed(instance: Document, job: Document, epochs: float, slowest: float) -> float:
    """Dollars of a job that waits: its worst tardiness, and what it is late already."""
    due = job["due_date"] - instance["now"]
    worst = max(instance["interval"] + slowest * epochs - due, 0.0)
    penalty = instance["postponement_penalty"] * worst + max(-due, 0.0)
    return float(job["tardiness_weight"] * penalty)


def _fills(fractions: Sequence[Fraction], prices: Sequence[float]) -> list[float]:
    """The dearest fill of a whole GPU, then of what each fraction leaves of one."""
    rooms, waiting = {Fraction(1)}, [Fraction(1)]
    while waiting:
        room = waiting.pop()
        fresh = {room - f for f in fractions if f <= room} - rooms
        rooms |= fresh
        waiting += fresh
        if len(rooms) > MAX_SLOTS:
            raise RefusedError("fractions too fine to check")
    best: dict[Fraction, float] = {}
    for room in sorted(rooms):
        items = zip(fractions, prices, strict=True)
        best[room] = max((best[room - f] + price for f, price in items if f <= room), default=0.0)
    return [best[Fraction(1)], *(best[1 - f] for f in fractions)]


def _packing(prices: Sequence[float]) -> list[float]:
    """The dearest packing of r GPUs, for r = 0, 1, ..., K, by prices of 1..K together."""
    best = [0.0]
    for room in range(1, len(prices) + 1):
        best.append(max(best[room - k] + prices[k - 1] for k in range(1, room + 1)))
    return best
