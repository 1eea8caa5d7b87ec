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


def selection_prices(instance: Document, certificate: Document) -> float:
    """sum_j lam'_j + sum_v N_v kappa_v.

    A job waits, follows on a node that a leader pays for, or leads; lam' is at most what the first
    two cost it, kappa what the best leader of a node saves, packed beside it as dearly as can be.
    """
    return max(_relaxed(_roles(instance), certificate)[0], 0.0)


def selection_branches(instance: Document, certificate: Document) -> float:
    """The same in each leaf of a tree, whose branches leave nothing out that costs below a target.

    A branch says of a whole number, how many jobs have a role of some kind, that it is k at most or
    more. In a leaf each such row has a price, and the roles that it counts cost so much more. At
    the prices of the root a role that makes up the whole way to the target is in nothing below it.
    """
    target = float(certificate["target"])
    if not 0 <= target < math.inf:
        raise RefusedError(f"the target {target}")
    bound, roles = _below(_roles(instance), certificate, target)
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


class _Roles(NamedTuple):
    """What every role costs every job, dollars: a row a job, a column a role.

    `labels` describe the columns; `kinds` has for each GPU type the GPUs of its largest node, its
    fractions and its columns of followers, `alike` for nodes of equal cost their type, number and
    columns of leaders.
    """

    cost: np.ndarray
    labels: list[dict[str, Any]]
    kinds: dict[str, tuple[int, list[Fraction], slice]]
    alike: list[tuple[str, int, slice]]


def _roles(instance: Document) -> _Roles:
    """To wait; to follow in a configuration of a type; to lead so, with so many GPUs in use."""
    jobs = instance["jobs"]
    columns = [np.zeros((len(jobs), 1))]
    labels: list[dict[str, Any]] = [{"role": "waits"}]
    kinds: dict[str, tuple[int, list[Fraction], slice]] = {}
    late, seconds, slowest = {}, {}, np.zeros(len(jobs))
    for name, most in _largest(instance).items():
        fractions = _fractions(instance["gpu_types"][name])
        each = [_epoch_seconds(instance, job, name, fractions) for job in jobs]
        costs = [_lateness(instance, job, t) for job, t in zip(jobs, each, strict=True)]
        late[name], seconds[name] = (np.array(part) for part in zip(*costs, strict=True))
        usable = [max((t for t in row if t < math.inf), default=0.0) for row in each]
        slowest = np.maximum(slowest, usable)
        columns.append(late[name])
        here = range(most + len(fractions))
        labels += [{"role": "follows", "type": name, "configuration": c} for c in here]
        kinds[name] = most, fractions, slice(len(labels) - len(here), len(labels))
    waits = [_postponed(instance, job, t) for job, t in zip(jobs, slowest, strict=True)]
    columns[0][:, 0] = waits
    nodes = [(node["gpu_type"], tuple(node["cost_rate"])) for node in instance["nodes"]]
    alike = []
    for (name, rates), number in Counter(nodes).items():
        start, (most, fractions, _) = len(labels), kinds[name]
        for c in range(most + len(fractions)):
            for used in range(c + 1 if c < most else 1, len(rates) + 1):
                lead = {"role": "leads", "type": name, "configuration": c, "used": used}
                labels.append({**lead, "node": nodes.index((name, rates))})
                columns.append(rates[used - 1] * seconds[name][:, [c]] + late[name][:, [c]])
        alike.append((name, number, slice(start, len(labels))))
    return _Roles(np.hstack(columns), labels, kinds, alike)


def _relaxed(roles: _Roles, given: Document) -> tuple[float, np.ndarray]:
    """The bound at prices, and by job and role how much more a selection with it costs."""
    prices = numbers(given["jobs"], len(roles.cost), "prices of jobs")
    if given.get("opening"):
        raise RefusedError("a price of opening nodes: any number may be open")
    surplus, packings, fills = roles.cost.copy(), {}, {}
    for name, (most, fractions, follow) in roles.kinds.items():
        count = most + len(fractions)
        slots = numbers(given["slots"].get(name), count, f"prices of slots on {name}", 0)
        slots[:most] = np.maximum.accumulate(slots[:most])
        surplus[:, follow] += slots
        fills[name] = _fills(fractions, slots[most:].tolist())
        packings[name] = _packing([max(slots[0], fills[name][0]), *slots[1:most]])
    led = min(lead.start for _, _, lead in roles.alike)  # to wait and to follow come first
    prices = np.minimum(prices, surplus[:, :led].min(axis=1))
    surplus -= prices[:, None]
    total = size = 0.0
    for name, number, lead in roles.alike:
        most = roles.kinds[name][0]
        beside = []
        for label in roles.labels[lead]:
            c, used = label["configuration"], label["used"]
            rest = used - c - 1 if c < most else used - 1
            beside.append(packings[name][rest] + (0.0 if c < most else fills[name][1 + c - most]))
        surplus[:, lead] -= beside
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
    instance: Document, job: Document, name: str, fractions: Sequence[Fraction]
) -> list[float]:
    """Seconds per epoch on 1..K GPUs of a type, then on fractions of one; infinite where not."""
    kind, needed = instance["gpu_types"][name], Fraction(job["memory_bytes"])
    room, times = Fraction(kind["memory_bytes"]), job["epoch_time"].get(name)
    if times is None or needed > room:
        return [math.inf] * (_largest(instance)[name] + len(fractions))
    slower = {Fraction(key): b for key, b in kind["slowdown"].items()}
    return [*times, *(times[0] * slower[f] if needed <= f * room else math.inf for f in fractions)]


def _left(job: Document) -> tuple[np.ndarray, np.ndarray]:
    """Epochs left, ascending, and how probable each is given that the completed are not enough."""
    pairs = sorted(zip(job["epochs"]["values"], job["epochs"]["probabilities"], strict=True))
    done = job.get("completed_epochs", 0)
    values, shares = np.array([pair for pair in pairs if pair[0] > done], dtype=float).T
    return values - done, shares / shares.sum()


def _lateness(instance: Document, job: Document, times: list[float]) -> tuple[Any, Any]:
    """Dollars of expected tardiness, and expected seconds, by configuration."""
    values, shares = _left(job)
    usable = np.isfinite(times)
    seconds = np.where(usable, times, 0.0)[:, None] * values
    late = np.maximum(seconds - (job["due_date"] - instance["now"]), 0.0) @ shares
    expected = np.where(usable, seconds @ shares, 0.0)
    return np.where(usable, job["tardiness_weight"] * late, np.inf), expected


def _postponed(instance: Document, job: Document, slowest: float) -> float:
    """Dollars of a job that waits: its worst tardiness, and what it is late already."""
    due, most = job["due_date"] - instance["now"], float(_left(job)[0][-1])
    worst = max(instance["interval"] + slowest * most - due, 0.0)
    penalty = instance["postponement_penalty"] * worst + max(-due, 0.0)
    return float(job["tardiness_weight"] * penalty)


def _fills(fractions: Sequence[Fraction], prices: Sequence[float]) -> list[float]:
    """The dearest fill of a whole GPU, then of what each fraction leaves of one."""
    known: dict[Fraction, float] = {}

    def dearest(room: Fraction) -> float:
        if room not in known:
            if len(known) > MAX_SLOTS:
                raise RefusedError("fractions too fine to check")
            pairs = zip(fractions, prices, strict=True)
            known[room] = max((dearest(room - f) + p for f, p in pairs if f <= room), default=0.0)
        return known[room]

    return [dearest(Fraction(1)), *(dearest(1 - f) for f in fractions)]


def _packing(prices: Sequence[float]) -> list[float]:
    """The dearest packing of r GPUs, for r = 0, 1, ..., K, by prices of 1..K together."""
    best = [0.0]
    for room in range(1, len(prices) + 1):
        best.append(max(best[room - k] + prices[k - 1] for k in range(1, room + 1)))
    return best
