"""Whether a certificate proves its bound: one file that needs numpy alone, and no solver.

`python verify.py INSTANCE.json CERTIFICATE.json` prints the bound that is proved, or why none is.
The instance is the plain JSON of its file. Nothing of the certificate is believed: from its prices
the bound is worked out anew, with what each instance says. It shares no code with the methods that
find certificates, nor with the checkers of the package. The objective is the default reading of
its options. A price that is wrong makes a bound weaker, never false.

Every certificate is a relaxation's dual. In each kind prices are put on what is scarce (replicas,
GPU time, slots on GPUs, the deadline); what any schedule must pay at least at these prices, less
what all there is can earn, is the bound.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

EXACT = 1e-12
"""Of a comparison of two sums of a few terms: a tie proves nothing."""
SUMMED = 1e-10
"""Of what was added up, taken off a bound: the rounding of thousands of terms."""
NOTHING = -(2**60)
MOST_PRICE, MOST_RESOLUTION, MOST_SLOTS = 10**9, 4000, 20_000
Document = Mapping[str, Any]
ENUMERATION = "enumeration"


class RefusedError(ValueError):
    """Why a certificate proves nothing, in a line."""


def verify(instance: Document, certificate: Document) -> float:
    """The lower bound that a certificate proves of every solution of an instance.

    Parameters
    ----------
    instance, certificate : mapping
        Their JSON.

    Raises
    ------
    RefusedError
        If it proves none; the message says why.
    """
    problem = str(instance.get("schema")).removeprefix("optsched/")
    kind = certificate.get("kind")
    if kind == ENUMERATION:
        method = certificate.get("method", "the method named")
        raise RefusedError(f"a proof by enumeration: only a run of {method} repeats it")
    verifier = VERIFIERS.get((problem, str(kind)))
    if verifier is None:
        known = ", ".join(known for each, known in VERIFIERS if each == problem)
        raise RefusedError(f"a certificate of kind {kind!r}: for {problem} it is {known or 'none'}")
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            bound = float(verifier(instance, certificate))
    except RefusedError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise RefusedError(f"it cannot be read: {type(error).__name__} {error}"[:200]) from None
    if not math.isfinite(bound):
        raise RefusedError("prices that are no finite numbers")
    return bound


def _numbers(values: Any, count: int, what: str, least: float = -math.inf) -> np.ndarray:
    """So many finite numbers."""
    if not isinstance(values, list) or len(values) != count:
        found = len(values) if isinstance(values, list) else "no list of"
        raise RefusedError(f"{found} {what}, expected {count}")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise RefusedError(f"{what} that are no numbers")
        if not (math.isfinite(value) and value >= least):
            raise RefusedError(f"{what} out of range: {value}")
    return np.array(values, dtype=float)


def _whole(values: Any, count: int, what: str) -> list[int]:
    """So many whole prices from 0 on, small enough that their sums are exact."""
    _numbers(values, count, what, 0)
    if any(type(value) is not int or value > MOST_PRICE for value in values):
        raise RefusedError(f"{what} that are not whole numbers up to {MOST_PRICE}")
    return list(values)


# --- placement: prices of the stages' replicas (a-srpt (4)-(7); models/placement, "Bounds")


def patterns(instance: Document, certificate: Document) -> float:
    """No placement is within theta: the replicas' prices exceed what the servers can hold.

    z_g is the most that one server of g free GPUs can hold, in prices, with every stage there
    within theta; sum k_s pi_s > sum N_g z_g. Micro-batches only lengthen what is counted here.
    """
    job, cluster = instance["job"], instance["cluster"]
    stages, theta = job["stages"], float(certificate["threshold"])
    prices = _whole(certificate["prices"], len(stages), "prices")
    if not 0 <= theta < math.inf:
        raise RefusedError(f"the threshold {theta}")
    takes = [stage.get("tensor_parallel", 1) for stage in stages]
    size = max(instance["free_gpus"])
    most = [min(stage["replicas"], size // q) for stage, q in zip(stages, takes, strict=True)]
    worth = np.full((1, most[0] + 1, size + 1), NOTHING)  # by u, v and GPUs used
    for v in range(most[0] + 1):
        worth[0, v, v * takes[0]] = v * prices[0]
    for s in range(len(stages)):
        last = s + 1 == len(stages)
        widest, q, price = (0, 0, 0) if last else (most[s + 1], takes[s + 1], prices[s + 1])
        after = np.full((most[s] + 1, widest + 1, size + 1), NOTHING)
        for v in range(most[s] + 1):
            shape = worth.shape[0], widest + 1
            within = np.ones(shape, dtype=bool)
            if v:
                within = stage_times(job, cluster, s, v, shape) <= theta * (1 + EXACT)
            for w in range(widest + 1):
                if w * q <= size and within[:, w].any():
                    best = worth[within[:, w], v].max(axis=0)
                    after[v, w, w * q :] = best[: size + 1 - w * q] + w * price
        worth = np.where(after < 0, NOTHING, after)
    held = worth.max(axis=(0, 1))
    needed = sum(stage["replicas"] * q for stage, q in zip(stages, takes, strict=True))
    if sum(instance["free_gpus"]) > needed:  # a server may keep GPUs free
        held = np.maximum.accumulate(held)
    offers = [int(held[free]) for free in instance["free_gpus"] if free]
    wanted = sum(stage["replicas"] * price for stage, price in zip(stages, prices, strict=True))
    if min(offers) >= 0 and wanted <= sum(offers):
        raise RefusedError(f"the replicas are worth {wanted}, the servers hold {sum(offers)}")
    return theta


def stage_times(job: Document, cluster: Document, s: int, v: int, shape: Sequence[int]) -> Any:
    """Seconds of v replicas of a stage beside u of the one before and w of the next, by u and w.

    Parameters
    ----------
    job : Document
        Of the instance's file.
    cluster : Document
        Likewise.
    s : int
        The stage.
    v : int
        Its replicas on the server.
    shape : sequence of int
        Of u and w, from 0 on.

    Returns
    -------
    (u, w) float
        Seconds.
    """
    stages, stage = job["stages"], job["stages"][s]
    inside, k, q = cluster["intra_bandwidth"], stage["replicas"], stage.get("tensor_parallel", 1)
    nic = q * cluster["inter_bandwidth"] / cluster["gpus_per_server"]
    time = np.full(shape, stage["forward_time"] + stage["backward_time"])
    time += 2 * (q - 1) / q * stage.get("tensor_bytes", 0) / inside
    time += stage.get("expert_bytes", 0) * ((k - v) / k / nic + (v - 1) / k / inside)
    for at, size, axis in ((s - 1, "input_bytes", 0), (s + 1, "output_bytes", 1)):
        if 0 <= at < len(stages):
            near = np.arange(shape[axis]) / stages[at]["replicas"]
            passed = 2 * stage[size] * ((1 - near) / nic + near / inside)
            time += passed[:, None] if axis == 0 else passed[None, :]
    all_reduce = 2 * (k - 1) / k * stage["parameter_bytes"]
    return time + all_reduce / (q * inside if v == k else v * nic)


# --- makespan: weights of the jobs (sjf-bco (6)-(9); models/makespan, "Bounds")


def columns(instance: Document, certificate: Document) -> float:
    """No schedule ends by T: a GPU holds too little weight of jobs by then.

    z_c is the most weight of jobs that one GPU of a server of c can run in T, each for the least
    time it takes there; sum G_j y_j > sum N_c c z_c.
    """
    jobs, end = instance["jobs"], float(certificate["deadline"])
    weights = _whole(certificate["prices"], len(jobs), "prices")
    grid, slotted = certificate["resolution"], instance["progress"] == "floor"
    if type(grid) is not int or not 0 < grid <= MOST_RESOLUTION or not 0 < end < math.inf:
        raise RefusedError("the deadline or the resolution")
    if slotted and end != int(end):
        raise RefusedError(f"a deadline between slots, {end}")
    wanted = sum(job["gpus"] * y for job, y in zip(jobs, weights, strict=True))
    offered = 0
    sizes: Counter[int] = Counter(instance["servers"])
    for capacity, servers in sizes.items():
        best = np.zeros(grid + 1, dtype=np.int64)
        for job, y in zip(jobs, weights, strict=True):
            slots = _least_slots(instance, job, capacity)
            if y == 0 or slots * (1 - EXACT) > end:
                continue
            size = int(slots) if grid == end else math.floor(slots * grid / end * (1 - EXACT))
            if size == 0:
                best += y
            else:
                best[size:] = np.maximum(best[size:], best[:-size] + y)
        offered += capacity * servers * int(best[-1])
    if wanted <= offered:
        raise RefusedError(f"the jobs weigh {wanted}, the GPUs hold {offered}")
    return end + 1 if slotted else end


def contention(instance: Document, certificate: Document) -> float:
    """No schedule ends by T: in T slots the servers take in less than all jobs must pay.

    A slot on a server is paid by what is there: U_n(y) by each piece of y GPUs of a job that spans,
    where n pieces are at most, V(g) by a job of g GPUs inside; and sigma_j by each job that runs.
    What a server can hold pays its dearest packing at most. A job whose most shared link has q
    pieces runs at the speed of level q and pays each of its pieces at n <= q; the last n stands
    for all from there on.
    """
    jobs, end, sizes = instance["jobs"], float(certificate["deadline"]), instance["servers"]
    slotted, widest = instance["progress"] == "floor", max(sizes)
    if not 0 < end < math.inf or (slotted and end != int(end)):
        raise RefusedError(f"the deadline {end}")
    inside = _whole(certificate["inside"], widest, "prices inside")
    rows = [_whole(row, widest, "prices of pieces") for row in certificate["pieces"]]
    paid_running = [0] * len(jobs)
    for key, price in certificate["running"].items():
        (paid_running[range(len(jobs))[int(key)]],) = _whole([price], 1, "prices of running")
    spanning = sum(job["gpus"] > 1 for job in jobs) if len(sizes) > 1 else 0
    if spanning and not rows:
        raise RefusedError("no prices of pieces")
    whole = [(size, inside[size - 1]) for size in (job["gpus"] for job in jobs) if size <= widest]
    alone = _dearest_of(widest, [[item] for item in whole])
    income = sum(paid_running)
    shared = []
    for n, row in enumerate(rows, start=1):
        most = min(spanning, widest) if n == len(rows) else n
        items = list(enumerate(row, start=1))
        shared.append(_dearest_of(widest, [items] * most))
    for size in sizes:
        held = [row[y] + alone[size - y] for row in shared for y in range(size + 1)]
        income += max([alone[size], *held])
    cheapest = [
        [min(column) for column in zip(*rows[: n + 1], strict=True)] for n in range(len(rows))
    ]
    needed: list[Fraction] = []
    for job, sigma in zip(jobs, paid_running, strict=True):
        gpus, ways = job["gpus"], []
        if gpus <= widest:
            ways.append((_speed(instance, job, 1, 1), inside[gpus - 1], False))
        if gpus > 1 and len(sizes) > 1:
            for level, row in enumerate(cheapest, start=1):
                speed = _speed(instance, job, max(2, _fewest(instance, job)), level)
                ways.append((speed, _cheapest_pieces(gpus, row), True))
        needed.append(
            min(
                (price + sigma) * _running_time(job["iterations"], speed, spans or not slotted)
                for speed, price, spans in ways
                if speed > 0
            )
        )
    short = Fraction(end) * income - sum(needed) * (1 - Fraction(EXACT) * (not slotted))
    if short >= 0:
        raise RefusedError(f"all jobs need not pay more than servers take in by {end:g}")
    return end + 1 if slotted else end


def _dearest_of(room: int, groups: Sequence[Sequence[tuple[int, int]]]) -> list[int]:
    """By GPUs, the dearest packing of one item (GPUs, price) of each group at most."""
    best = [0] * (room + 1)
    for items in groups:
        best = [
            max([best[g], *(best[g - size] + price for size, price in items if size <= g)])
            for g in range(room + 1)
        ]
    return best


def _cheapest_pieces(gpus: int, prices: Sequence[int]) -> int:
    """The least that so many GPUs pay in two pieces or more."""
    least = [0]
    for g in range(1, gpus):
        least.append(min(p + least[g - y] for y, p in enumerate(prices[:g], start=1)))
    return min(p + least[gpus - y] for y, p in enumerate(prices[: gpus - 1], start=1))


def _running_time(iterations: int, speed: float, in_parts: bool) -> Fraction:
    """Slots at a speed; whole ones, unless the speed may change from slot to slot."""
    slots = Fraction(iterations) / Fraction(speed)
    return slots if in_parts else Fraction(math.ceil(slots))


def _least_slots(instance: Document, job: Document, capacity: int) -> float:
    """Slots of a job alone on a server of a capacity, or on the fewest servers that hold it."""
    least = _slots(instance, job, 1) if job["gpus"] <= capacity else math.inf
    if len(instance["servers"]) > 1:
        least = min(least, _slots(instance, job, max(2, _fewest(instance, job))))
    return least


def _fewest(instance: Document, job: Document) -> int:
    """The fewest servers that hold a job."""
    held = fewest = 0
    for size in sorted(instance["servers"], reverse=True):
        if held < job["gpus"]:
            held, fewest = held + size, fewest + 1
    return fewest


def _slots(instance: Document, job: Document, servers: int) -> float:
    speed = _speed(instance, job, servers, 1)
    if instance["progress"] == "continuous":
        return float(job["iterations"] / speed)
    return math.ceil(job["iterations"] / speed) if speed else math.inf


def _speed(instance: Document, job: Document, servers: int, level: int) -> float:
    """Iterations a slot on so many servers, with so many jobs on the link."""
    net, size, share = instance["network"], job["gradient_bytes"], (job["gpus"] - 1) / job["gpus"]
    shared = net["contention_share"] * level
    slowed = max(1.0, shared + net["degradation"] * (shared - 1))
    link = net["intra_bandwidth"] if servers == 1 else net["inter_bandwidth"] / slowed
    tau = size * share * (2 / link + 1 / instance["compute_rate"])
    if servers > 1 or net["overhead_on_one_server"]:
        tau += net["overhead_per_server"] * servers
    tau += job["forward_time_per_sample"] * job["batch_size"] + job["backward_time"]
    speed = float(instance["slot"] / tau)
    if instance["progress"] == "continuous":
        return speed
    return math.floor(min(speed * (1 + 1e-14) + 1e-9, job["iterations"]))


# --- selection: prices of jobs and of slots on GPUs (models/selection, "Certificate")


def selection_prices(instance: Document, certificate: Document) -> float:
    """sum_j lam'_j + sum_v N_v kappa_v.

    A job is postponed, follows on a node that a leader pays for, or leads; lam' is at most what
    the first two cost it, kappa what the best leader of a node saves, packed beside it as dearly
    as can be.
    """
    jobs, kinds = instance["jobs"], _largest(instance)
    prices = _numbers(certificate["jobs"], len(jobs), "prices of jobs")
    if certificate.get("opening"):
        raise RefusedError("a price of opening nodes: any number may be open")
    late, seconds, slots, slowest = {}, {}, {}, np.zeros(len(jobs))
    for name, most in kinds.items():
        fractions = _fractions(instance["gpu_types"][name])
        slots[name] = _numbers(
            certificate["slots"].get(name), most + len(fractions), f"prices of slots on {name}", 0
        )
        slots[name][:most] = np.maximum.accumulate(slots[name][:most])
        each = [_epoch_seconds(instance, job, name, fractions) for job in jobs]
        costs = [_lateness(instance, job, t) for job, t in zip(jobs, each, strict=True)]
        late[name], seconds[name] = (np.array(part) for part in zip(*costs, strict=True))
        usable = [max((t for t in row if t < math.inf), default=0.0) for row in each]
        slowest = np.maximum(slowest, usable)
        prices = np.minimum(prices, (late[name] + slots[name]).min(axis=1))
    postponed = [_postponed(instance, job, t) for job, t in zip(jobs, slowest, strict=True)]
    prices = np.minimum(prices, postponed)
    total = size = 0.0
    for name, most in kinds.items():
        fills = _fills(_fractions(instance["gpu_types"][name]), slots[name][most:].tolist())
        packing = _packing([max(slots[name][0], fills[0]), *slots[name][1:most]])
        alike = Counter(tuple(n["cost_rate"]) for n in instance["nodes"] if n["gpu_type"] == name)
        for rates, nodes in alike.items():
            saved = 0.0
            for c in range(slots[name].size):
                takes, beside = (c + 1, 0.0) if c < most else (1, fills[1 + c - most])
                for used in range(takes, len(rates) + 1):
                    lead = (rates[used - 1] * seconds[name][:, c] + late[name][:, c] - prices).min()
                    saved = min(saved, lead - packing[used - takes] - beside)
            total, size = total + nodes * saved, size + nodes * abs(saved)
    size += float(np.abs(prices).sum())
    return max(float(prices.sum()) + total - SUMMED * size, 0.0)


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
            if len(known) > MOST_SLOTS:
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


# --- speed profile: the multiplier of the deadline (sts, section V)


def multiplier(instance: Document, certificate: Document) -> float:
    """Energy plus lam (time - d) at the speed that makes it least, epoch by epoch."""
    (lam,) = _numbers([certificate["multiplier"]], 1, "multiplier", 0)
    speed, power = np.array(instance["speeds"]), np.array(instance["power"], dtype=float)
    least = fastest = 0.0
    for length, high, low in _survival(instance):
        cuts = [low, high]
        if high > low:  # min_k (F P_k + lam) / s_k is concave in F, and straight between crossings
            energy, time = power / speed, lam / speed
            top, bottom = time[:, None] - time, energy - energy[:, None]
            cross = (top / np.where(bottom == 0, np.nan, bottom)).ravel()
            cuts = [low, *np.unique(cross[(cross > low) & (cross < high)]), high]
        values = [float(((f * power + lam) / speed).min()) for f in cuts]
        share = np.diff(cuts) / (high - low) if high > low else np.ones(1)
        least += length * float(share @ [(a + b) / 2 for a, b in pairwise(values)])
        fastest += length / speed[-1]
    if fastest > instance["deadline"] * (1 + 1e-9):
        raise RefusedError("the deadline cannot be met at all")
    paid = lam * instance["deadline"]
    return max(least - paid - EXACT * (least + paid), 0.0)


def _survival(instance: Document) -> list[tuple[float, float, float]]:
    """Stretches of epochs: their length, and P(W > w) at both ends given W > completed."""
    work, done = instance["work"], instance.get("completed", 0)
    if "values" in work:
        values, shares = _left({"epochs": work, "completed_epochs": done})
        lengths = np.diff(values, prepend=0.0)
        alive = shares[::-1].cumsum()[::-1]
        return [(float(a), float(f), float(f)) for a, f in zip(lengths, alive, strict=True)]
    points, curve = work["points"], work["survival"]
    at = float(np.interp(done, points, curve))
    knots = [(done, at), *((w, f) for w, f in zip(points, curve, strict=True) if w > done)]
    return [(b - a, f / at, g / at) for (a, f), (b, g) in pairwise(knots)]


# --- rolling and online: prices of GPU time (models/rolling, models/online)


def rolling_prices(instance: Document, certificate: Document) -> float:
    """sum_j its least energy, priced GPU time and lateness - what all GPUs earn at the prices.

    The true epochs are those that the seed draws. A job's least is over the slot in which it ends;
    there the times in earlier slots are a linear programme, whose dual value at any price mu of an
    epoch is a bound: the best of all the values of mu at which the programme changes.
    """
    edges = _edges(certificate)
    kinds = list(_largest(instance))
    if set(certificate["prices"]) != set(kinds):
        raise RefusedError(f"prices of {sorted(certificate['prices'])}, expected {sorted(kinds)}")
    prices = [_numbers(certificate["prices"][k], edges.size - 1, "prices", 0) for k in kinds]
    if any(price[-1] for price in prices):
        raise RefusedError("a price in the last slot, after which all is free")
    rate = dict.fromkeys(kinds, math.inf)
    paid = 0.0
    for node in instance["nodes"]:
        kind = node["gpu_type"]
        rate[kind] = min(rate[kind], *(c / n for n, c in enumerate(node["cost_rate"], 1)))
        paid += node["gpus"] * float(prices[kinds.index(kind)] @ np.diff(edges))
    total = 0.0
    for number, job in enumerate(instance["jobs"]):
        speed, cost = [], []
        for kind, price in zip(kinds, prices, strict=True):
            fractions = _fractions(instance["gpu_types"][kind])
            sizes = [*range(1, _largest(instance)[kind] + 1), *map(float, fractions)]
            for n, t in zip(sizes, _epoch_seconds(instance, job, kind, fractions), strict=True):
                if t < math.inf:
                    speed.append(1 / t)
                    cost.append(n * (rate[kind] + price))
        work = _true_epochs(job, number, int(certificate.get("seed", 0)))
        arrival = max(job["submit_time"], instance["now"])
        if edges[0] > arrival or (edges[-1] - edges[-2]) * min(speed) < work:
            raise RefusedError("slots that do not cover all a job may take")
        total += _least_cost(job, arrival, work, edges, np.array(speed), np.array(cost))
    return max(total - paid - SUMMED * (total + paid), 0.0)


def _true_epochs(job: Document, number: int, seed: int) -> float:
    if job.get("true_epochs") is not None:
        return float(job["true_epochs"] - job.get("completed_epochs", 0))
    values, shares = _left(job)
    drawn = np.searchsorted(
        shares.cumsum(), np.random.default_rng([seed, number]).random(), "right"
    )
    return float(values[min(int(drawn), len(values) - 1)])


def _least_cost(
    job: Document, arrival: float, work: float, edges: np.ndarray, speed: Any, cost: Any
) -> float:
    """The least over slots of ending there; speed by configuration, cost by it and slot."""
    first = max(int(np.searchsorted(edges, arrival, side="right")) - 1, 0)
    cost, start = cost[:, first:], np.maximum(edges[first:-1], arrival)
    length, eta = edges[first + 1 :] - start, job["tardiness_weight"]
    late = eta * np.maximum(start - job["due_date"], 0.0)
    on_time = np.clip(job["due_date"] - start, 0.0, length)
    worst = float((cost[:, -1] / speed).min()) * work
    waits = late + float((cost / speed[:, None]).min()) * work  # no plan that ends there is cheaper
    ends = np.flatnonzero(waits <= worst + late[-1] + eta * work / speed.min() + 1.0)[-1] + 1
    cost, start, length = cost[:, :ends], start[:ends], length[:ends]
    mus = np.concatenate((*_steps(cost, speed), ((cost + eta) / speed[:, None]).min(axis=0)))
    mus = np.unique(mus[np.isfinite(mus) & (mus > 0)])
    mus = np.append(mus, mus[-1] * 1e3)
    gain = np.zeros((ends, len(mus)))  # m_h(mu): what a second of slot h costs at mu, 0 when idle
    for c in range(len(speed)):
        gain = np.minimum(gain, cost[c][:, None] - speed[c] * mus)
    before = np.cumsum(length[:, None] * gain, axis=0) - length[:, None] * gain
    tail = on_time[:ends, None] * gain
    tail += (length - on_time[:ends])[:, None] * np.minimum(gain + eta, 0.0)
    values = (mus * work + before + tail).max(axis=1) + late[:ends]
    return float(np.maximum(values, waits[:ends]).min())


def _steps(cost: Any, speed: Any) -> list[np.ndarray]:
    """By slot the prices of an epoch at which the next faster configuration begins to pay."""
    slots = np.arange(cost.shape[1])
    spent, done, found = np.zeros(len(slots)), np.zeros(len(slots)), []
    for _ in speed:
        more = speed[:, None] - done
        each = np.where(more > 0, (cost - spent) / np.where(more > 0, more, 1.0), np.inf)
        best = each.argmin(axis=0)
        found.append(each[best, slots])
        on = np.isfinite(found[-1])
        spent, done = np.where(on, cost[best, slots], spent), np.where(on, speed[best], done)
    return found


def online_prices(instance: Document, certificate: Document) -> float:
    """sum_i min_t of i's flow and priced GPU time from t on - what all GPUs earn at the prices.

    No prices at all: every job at its submission, at its least time of an iteration.
    """
    cluster, table = instance["cluster"], instance["workload"]
    edges = _edges(certificate)
    price = _numbers(certificate["prices"], edges.size - 1, "prices", 0)
    earned = np.concatenate(([0.0], np.cumsum(price * np.diff(edges))))
    submit = np.array(table["submit_time"], dtype=float)
    submit -= submit.min()
    least: dict[tuple[str, int], float] = {}
    total = 0.0
    for name, gpus, iterations, ready in zip(
        table["model"], table["gpus"], table["iterations"], submit, strict=True
    ):
        if (name, gpus) not in least:
            job = instance["catalogue"]["models"][name]
            least[name, gpus] = _least_iteration(job, cluster, gpus)
        seconds = iterations * least[name, gpus]
        starts = np.concatenate((edges, edges - seconds))
        starts = np.append(starts[starts > ready], ready)
        used = np.interp(starts + seconds, edges, earned) - np.interp(starts, edges, earned)
        total += float((starts + seconds - ready + gpus * used).min())
    paid = cluster["servers"] * cluster["gpus_per_server"] * float(earned[-1])
    return max(total - paid - SUMMED * (total + paid), 0.0)


def _edges(certificate: Document) -> np.ndarray:
    given = certificate["edges"]
    count = len(given) if isinstance(given, list) and 1 < len(given) <= MOST_SLOTS else 2
    edges = _numbers(given, count, "edges of slots")
    if (np.diff(edges) <= 0).any():
        raise RefusedError("edges of slots that do not increase")
    return edges


def _least_iteration(job: Document, cluster: Document, gpus: int) -> float:
    """A bound on an iteration's time: on one server if it fits, else of each stage at its best."""
    stages, room = job["stages"], cluster["gpus_per_server"]
    takes = [stage.get("tensor_parallel", 1) for stage in stages]
    counts = [stage["replicas"] for stage in stages]
    if job.get("micro_batches") is not None or gpus != np.dot(takes, counts):
        raise RefusedError(f"model {job['model']}: micro-batches, or other GPUs than it says")
    if cluster["inter_bandwidth"] > cluster["intra_bandwidth"]:
        return float(max(stage["forward_time"] + stage["backward_time"] for stage in stages))
    bound = 0.0
    for s, (q, k) in enumerate(zip(takes, counts, strict=True)):
        beside = [at if 0 <= at < len(stages) else None for at in (s - 1, s + 1)]
        most = [0 if at is None else counts[at] for at in beside]
        taken = [1 if at is None else takes[at] for at in beside]
        u, w = np.ogrid[: most[0] + 1, : most[1] + 1]
        here: Sequence[int] = range(1, min(k, room // q) + 1)
        if gpus <= room:
            here = [k]
        elif len(stages) == 1:  # some server has no more than an equal share
            here = [k // -(-k // (room // q))]
        best = math.inf
        for v in here:
            fits = taken[0] * u + taken[1] * w + q * v <= room
            best = min(best, float(stage_times(job, cluster, s, v, fits.shape)[fits].min()))
        bound = max(bound, best)
    return bound


Verifier = Callable[[Document, Document], float]
VERIFIERS: dict[tuple[str, str], Verifier] = {
    ("placement", "patterns"): patterns,
    ("makespan", "columns"): columns,
    ("makespan", "contention"): contention,
    ("selection", "prices"): selection_prices,
    ("speed-profile", "multiplier"): multiplier,
    ("rolling", "prices"): rolling_prices,
    ("online", "prices"): online_prices,
}
"""By problem and kind of certificate."""


def main(paths: Sequence[str]) -> int:
    """Verify a file by a file; 0 when it proves a bound."""
    if len(paths) != 2:
        print("usage: python verify.py INSTANCE.json CERTIFICATE.json", file=sys.stderr)
        return 2
    documents = []
    for path in paths:
        with open(path, encoding="utf-8") as stream:
            documents.append(json.load(stream))
    try:
        print(f"proved: at least {verify(*documents)!r}")
    except RefusedError as error:
        print(f"refused: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
