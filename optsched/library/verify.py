"""Whether a certificate proves its bound: one file that needs numpy alone, and no solver.

`python verify.py INSTANCE.json CERTIFICATE.json` prints the bound that is proved, or why none is.
The instance is the plain JSON of its file. Nothing of the certificate is believed: from its prices
the bound is worked out anew, with what each instance says. It shares no code with the methods that
find certificates, nor with the checkers of the package. The objective is the default reading of
its options. A price that is wrong makes a bound weaker, never false.

Every certificate is a relaxation's dual. In each kind prices are put on what is scarce (replicas,
GPU time, slots on GPUs, the deadline); what any schedule must pay at least at these prices, less
what all there is can earn, is the bound. Where that falls short, a tree branches on whole numbers,
k at most or more, and each leaf has prices of its own: its least is the bound.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

EXACT = 1e-12
"""Of a comparison of two sums of a few terms: a tie proves nothing."""
SUMMED = 1e-10
"""Of what was added up, taken off a bound: the rounding of thousands of terms."""
NOTHING = -(2**60)
MOST_PRICE, MOST_RESOLUTION, MOST_SLOTS = 10**9, 4000, 20_000
MOST_WHOLE = 64
"""Slots of a job, counted as whole ones."""
Document = Mapping[str, Any]
ENUMERATION = "enumeration"


class RefusedError(ValueError):
    """Why a certificate proves nothing, in a line."""


def verify(instance: Document, certificate: Document) -> float:
    """The lower bound that a certificate proves of every solution of an instance."""
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


def _whole(values: Any, count: int, what: str, least: int = 0) -> list[int]:
    """So many whole prices, small enough that their sums are exact."""
    _numbers(values, count, what, least)
    if any(type(value) is not int or value > MOST_PRICE for value in values):
        raise RefusedError(f"{what} that are not whole numbers up to {MOST_PRICE}")
    return list(values)


# --- placement: prices of the stages' replicas (a-srpt (4)-(7); models/placement, "Bounds")


def patterns(instance: Document, certificate: Document) -> float:
    """No placement is within theta: the replicas' prices exceed what the servers can hold.

    z_g is the most that one server of g free GPUs can hold, in prices, with every stage there
    within theta; sum k_s pi_s > sum N_g z_g. Micro-batches only lengthen what is counted here.
    """
    theta = float(certificate["threshold"])
    _exceeds(instance, theta, certificate, [], least=0)
    return theta


def pattern_branches(instance: Document, certificate: Document) -> float:
    """The same in each leaf of a tree, whose branches leave no placement within theta out.

    A branch says how many servers hold so many replicas of a stage at least: k at most, or more.
    In a leaf each such row has a price, paid by every server that it counts. With micro-batches it
    may also say how many servers spend more than W seconds on a stage's work, or its all-reduce:
    none, or at least one, and the pipeline waits for that.
    """
    theta = float(certificate["threshold"])
    for leaf, path in _leaves(certificate["nodes"], dict):
        _exceeds(instance, theta, leaf, path, least=-MOST_PRICE)
    return theta


def _exceeds(instance: Document, theta: float, leaf: Document, path: Path, least: int) -> None:
    """Refuse prices by which some placement may be within theta."""
    job, free = instance["job"], [free for free in instance["free_gpus"] if free]
    stages = job["stages"]
    prices = _whole(leaf["prices"], len(stages), "prices", least)
    if not 0 <= theta < math.inf:
        raise RefusedError(f"the threshold {theta}")
    worked = [row for row in path if "least" not in row[1]]
    counts = [row for row in path if "least" in row[1]]
    paid = _whole(leaf.get("rows", []), len(counts), "prices of rows")
    within, _ = patterns_within(instance, theta, max(free), worked)
    takes = [stage.get("tensor_parallel", 1) for stage in stages]
    wanted = sum(stage["replicas"] * price for stage, price in zip(stages, prices, strict=True))
    wanted -= sum(price * most for price, (_, _, most) in zip(paid, counts, strict=True))
    full = sum(free) <= sum(s["replicas"] * q for s, q in zip(stages, takes, strict=True))
    offers, known = 0, {}
    for size, servers in Counter(free).items():
        here = tuple(row["free"] == size if "free" in row else True for _, row, _ in counts)
        if here not in known:  # servers that the same rows count
            worth = [p * np.arange(held.shape[1]) for p, held in zip(prices, within, strict=True)]
            for price, (sign, row, _), is_met in zip(paid, counts, here, strict=True):
                if not set(row) <= {"stage", "least", "free"} or row["least"] < 1:
                    raise RefusedError(f"a count by {sorted(row)}")
                if is_met:
                    worth[range(len(stages))[row["stage"]]][row["least"] :] -= sign * price
            known[here] = _dearest_pattern(within, worth, takes, max(free))
            if not full:  # a server may keep GPUs free
                known[here] = np.maximum.accumulate(known[here])
        if known[here][size] < NOTHING // 2:  # it can hold nothing at all
            return
        offers += servers * int(known[here][size])
    if wanted <= offers:
        raise RefusedError(f"the replicas are worth {wanted}, the servers hold {offers}")


def _dearest_pattern(
    within: Sequence[np.ndarray], worth: Sequence[np.ndarray], takes: Sequence[int], size: int
) -> np.ndarray:
    """By GPUs used the most that a server holds, in prices, stage by stage along the pipeline."""
    best = np.full((1, within[0].shape[1], size + 1), NOTHING)  # by u, v and GPUs used
    for v in range(min(best.shape[1], size // takes[0] + 1)):
        best[0, v, v * takes[0]] = worth[0][v]
    for s, held in enumerate(within):
        last = s + 1 == len(within)
        after = np.full((held.shape[1], held.shape[2], size + 1), NOTHING)
        for v in range(held.shape[1]):
            for w in range(held.shape[2]):
                used, more = (0, 0) if last else (w * takes[s + 1], int(worth[s + 1][w]))
                if used <= size and held[:, v, w].any():
                    found = best[held[:, v, w], v].max(axis=0)
                    after[v, w, used:] = found[: size + 1 - used] + more
        best = np.where(after < NOTHING // 2, NOTHING, after)
    return np.asarray(best.max(axis=(0, 1)))


def patterns_within(
    instance: Document, theta: float, size: int, worked: Path
) -> tuple[list[np.ndarray], np.ndarray]:
    """By stage, and u, v, w: whether v replicas of it beside u and w may be within theta."""
    job, cluster = instance["job"], instance["cluster"]
    stages = job["stages"]
    takes = [0, *(stage.get("tensor_parallel", 1) for stage in stages), 0]
    most = [min(st["replicas"], size // q) for st, q in zip(stages, takes[1:], strict=False)]
    beside = [0, *most, 0]
    works, reduces, found = [], [], []
    for s, v in enumerate(most):
        shape = beside[s] + 1, beside[s + 2] + 1
        each = [stage_times(job, cluster, s, n, shape) for n in range(1, v + 1)]
        works.append(np.stack([np.zeros(shape), *(work for work, _ in each)], axis=1))
        reduces.append(np.array([0.0, *(reduce for _, reduce in each)]))
        u, n, w = np.ogrid[: shape[0], : v + 1, : shape[1]]
        found.append(takes[s] * u + takes[s + 1] * n + takes[s + 2] * w <= size)
    if job.get("micro_batches") is not None:
        return _pipelined(job, theta, (works, reduces, found), worked)
    if worked:
        raise RefusedError("a row of work, without micro-batches")
    for work, reduce, fits in zip(works, reduces, found, strict=True):
        fits &= work + reduce[:, None] <= theta * (1 + EXACT)
    return found, np.zeros((2, len(stages)))


def _pipelined(
    job: Document, theta: float, times: tuple[list[Any], list[Any], list[Any]], worked: Path
) -> tuple[list[np.ndarray], np.ndarray]:
    """The same, where a stage is as slow on its slowest server and micro-batches pass all stages.

    (mu - 1)/mu max P + sum P / mu + max (A - hidden) <= theta, with each P and A as it is here or
    at its least: on the server that has fewest replicas of a stage, all k or half of them at most.
    """
    works, reduces, found = times
    mu, stages = job["micro_batches"], job["stages"]
    hidden = np.cumsum([0.0, *(stage["backward_time"] for stage in stages[:-1])]) / mu
    work_least, reduce_least = np.zeros(len(stages)), np.zeros(len(stages))
    for sign, row, limit in worked:
        s = range(len(stages))[row["stage"]]
        if set(row) not in ({"stage", "work"}, {"stage", "reduce"}) or limit not in (0, -1):
            raise RefusedError(f"a count by {sorted(row)}")
        here, least = (works[s], work_least) if "work" in row else (reduces[s], reduce_least)
        most = float(row.get("work", row.get("reduce")))
        if sign > 0:
            slow = here > most * (1 + EXACT)
            found[s] &= ~(slow if slow.ndim > 1 else slow[:, None])
        else:
            least[s] = max(least[s], most)
    for _ in stages:
        for s, (work, reduce, fits) in enumerate(zip(works, reduces, found, strict=True)):
            k = stages[s]["replicas"]
            fewest = np.array([v > 0 and (v == k or 2 * v <= k) for v in range(len(reduce))])
            there = fits & fewest[:, None]
            work_least[s] = max(work_least[s], work[there].min(initial=math.inf))
            somewhere = reduce[there.any(axis=(0, 2))]
            reduce_least[s] = max(reduce_least[s], somewhere.min(initial=math.inf))
        for s, (work, reduce, fits) in enumerate(zip(works, reduces, found, strict=True)):
            others = np.delete(work_least, s)
            here = np.maximum(work, work_least[s])
            longest = np.maximum(here, others.max(initial=0.0))
            exposed = np.delete(reduce_least - hidden, s).max(initial=-math.inf)
            exposed = np.maximum(np.maximum(reduce, reduce_least[s]) - hidden[s], exposed)
            waits = (mu - 1) / mu * longest if mu > 1 else 0.0  # 0 times infinity is no number
            total = waits + (here + others.sum()) / mu + exposed[:, None]
            fits[:, 1:] &= total[:, 1:] <= theta * (1 + EXACT)  # no replica takes no time
    return found, np.array([work_least, reduce_least])


def stage_times(
    job: Document, cluster: Document, s: int, v: int, shape: Sequence[int]
) -> tuple[np.ndarray, float]:
    """Seconds of v replicas of a stage beside u of the one before and w of the next, by u and w."""
    stages, stage = job["stages"], job["stages"][s]
    inside, k, q = cluster["intra_bandwidth"], stage["replicas"], stage.get("tensor_parallel", 1)
    nic = q * cluster["inter_bandwidth"] / cluster["gpus_per_server"]
    time = np.full(shape, float(stage["forward_time"] + stage["backward_time"]))
    time += 2 * (q - 1) / q * stage.get("tensor_bytes", 0) / inside
    time += stage.get("expert_bytes", 0) * ((k - v) / k / nic + (v - 1) / k / inside)
    for at, size, axis in ((s - 1, "input_bytes", 0), (s + 1, "output_bytes", 1)):
        if 0 <= at < len(stages):
            near = np.arange(shape[axis]) / stages[at]["replicas"]
            passed = 2 * stage[size] * ((1 - near) / nic + near / inside)
            time += passed[:, None] if axis == 0 else passed[None, :]
    all_reduce = 2 * (k - 1) / k * stage["parameter_bytes"]
    return time, all_reduce / (q * inside if v == k else v * nic)


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
        gpus, iterations, ways = job["gpus"], job["iterations"], []
        if gpus <= widest and (speed := _speed(instance, job, 1, 1)) > 0:
            slots = Fraction(iterations) / Fraction(speed)
            ways.append((inside[gpus - 1] + sigma) * (math.ceil(slots) if slotted else slots))
        if gpus > 1 and len(sizes) > 1:
            fewest = max(2, _fewest(instance, job))
            runs = [
                (speed, _cheapest_pieces(gpus, row) + sigma)
                for level, row in enumerate(cheapest, start=1)
                if (speed := _speed(instance, job, fewest, level)) > 0
            ]
            ways += [_least_paid(iterations, runs, slotted)] if runs else []
        needed.append(min(ways))
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


def _least_paid(iterations: int, runs: Sequence[tuple[float, int]], slotted: bool) -> Fraction:
    """The least that iterations cost at these speeds and their prices of a slot, in any mixture.

    Whole slots t at speed phi have sum ceil(phi / g) t >= ceil(F / g) for any whole g: a few are
    tried where a job is so short that rounding matters.
    """
    if not slotted:
        return min(price * Fraction(iterations) / Fraction(speed) for speed, price in runs)
    grains = {1}
    if iterations <= MOST_WHOLE * max(speed for speed, _ in runs):
        grains |= {-(-int(speed) // m) for speed, _ in runs for m in range(1, 9)}
    return max(
        min(Fraction(price * -(-iterations // g), -(-int(speed) // g)) for speed, price in runs)
        for g in grains
    )


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
    for leaf, path in _leaves(certificate["nodes"], lambda said: _counted(roles, said)):
        dearer, paid = roles.cost.copy(), []
        prices = _numbers(leaf["rows"], len(path), "prices of rows", 0)
        for price, (sign, counted, most) in zip(prices, path, strict=True):
            dearer += price * sign * counted
            paid.append(price * most)
        proved = _relaxed(roles._replace(cost=dearer), leaf)[0] - sum(paid)
        least = min(least, proved - SUMMED * sum(map(abs, paid)))
    return max(least, bound, 0.0)


Path = list[tuple[int, Any, int]]
"""Of each row a sign, what it counts, and the most that sign times its count is."""


def _leaves(
    nodes: Sequence[Document], read: Callable[[Document], Any]
) -> Iterator[tuple[Document, Path]]:
    """The leaves of a tree, each with the rows on its way; every branch is followed both ways."""
    if not 0 < len(nodes) <= MOST_SLOTS:
        raise RefusedError("no tree, or one too large")
    reached, waiting = 0, [(0, Path())]
    while waiting and reached < len(nodes):
        at, path = waiting.pop()
        node, reached = nodes[at], reached + 1
        if "count" not in node:
            yield node, path
            continue
        counted, most = read(node["count"]), node["most"]
        few, more = node["children"]
        if type(most) is not int or not at < min(few, more):
            raise RefusedError(f"node {at} of the tree")
        waiting.append((few, [*path, (1, counted, most)]))
        waiting.append((more, [*path, (-1, counted, -most - 1)]))
    if waiting or reached < len(nodes):
        raise RefusedError(f"{len(nodes)} nodes that are no tree")


class _Roles(NamedTuple):
    """What every role costs every job, dollars: a row a job, a column a role.

    `said` are the columns in words; `kinds` are by GPU type its most GPUs, its fractions and the
    columns that follow there, `alike` the nodes of one cost: type, number and columns that lead.
    """

    cost: np.ndarray
    said: list[dict[str, Any]]
    kinds: dict[str, tuple[int, list[Fraction], slice]]
    alike: list[tuple[str, int, slice]]


def _roles(instance: Document) -> _Roles:
    """To wait; to follow in a configuration of a type; to lead so, with so many GPUs in use."""
    jobs = instance["jobs"]
    columns = [np.zeros((len(jobs), 1))]
    said: list[dict[str, Any]] = [{"role": "waits"}]
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
        said += [{"role": "follows", "type": name, "configuration": c} for c in here]
        kinds[name] = most, fractions, slice(len(said) - len(here), len(said))
    waits = [_postponed(instance, job, t) for job, t in zip(jobs, slowest, strict=True)]
    columns[0][:, 0] = waits
    nodes = [(node["gpu_type"], tuple(node["cost_rate"])) for node in instance["nodes"]]
    alike = []
    for (name, rates), number in Counter(nodes).items():
        start, (most, fractions, _) = len(said), kinds[name]
        for c in range(most + len(fractions)):
            for used in range(c + 1 if c < most else 1, len(rates) + 1):
                lead = {"role": "leads", "type": name, "configuration": c, "used": used}
                said.append({**lead, "node": nodes.index((name, rates))})
                columns.append(rates[used - 1] * seconds[name][:, [c]] + late[name][:, [c]])
        alike.append((name, number, slice(start, len(said))))
    return _Roles(np.hstack(columns), said, kinds, alike)


def _relaxed(roles: _Roles, given: Document) -> tuple[float, np.ndarray]:
    """The bound at prices, and by job and role how much more a selection with it costs."""
    prices = _numbers(given["jobs"], len(roles.cost), "prices of jobs")
    if given.get("opening"):
        raise RefusedError("a price of opening nodes: any number may be open")
    surplus, packings, fills = roles.cost.copy(), {}, {}
    for name, (most, fractions, follow) in roles.kinds.items():
        count = most + len(fractions)
        slots = _numbers(given["slots"].get(name), count, f"prices of slots on {name}", 0)
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
        for said in roles.said[lead]:
            c, used = said["configuration"], said["used"]
            rest = used - c - 1 if c < most else used - 1
            beside.append(packings[name][rest] + (0.0 if c < most else fills[name][1 + c - most]))
        surplus[:, lead] -= beside
        saved = min(float(surplus[:, lead].min()), 0.0)
        surplus[:, lead] -= saved
        total, size = total + number * saved, size + number * abs(saved)
    size += float(np.abs(prices).sum())
    return float(prices.sum()) + total - SUMMED * size, surplus


def _below(roles: _Roles, prices: Document, target: float) -> tuple[float, _Roles]:
    """The bound at prices, and the roles that a selection below a target may have."""
    bound, surplus = _relaxed(roles, prices)
    within = bound + surplus < target * (1 + EXACT)
    return bound, roles._replace(cost=np.where(within, roles.cost, math.inf))


def _counted(roles: _Roles, wanted: Document) -> np.ndarray:
    """1 where a row counts a job's role: to follow or lead, and as the row says."""
    if not set(wanted) <= {"job", "role", "type", "configuration", "used", "node"}:
        raise RefusedError(f"a count by {sorted(wanted)}")
    asked = [(key, value) for key, value in wanted.items() if key != "job"]
    columns = [
        said["role"] != "waits" and all(said.get(key) == value for key, value in asked)
        for said in roles.said
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

    No prices at all: every job at its submission, at its least time of an iteration. With `early`
    a second price stands on each second that a job runs before its submission and least time; of
    the jobs between the two at a moment no more run than the smallest that fit, which earn it.
    """
    cluster, table = instance["cluster"], instance["workload"]
    edges = _edges(certificate)
    price = _numbers(certificate["prices"], edges.size - 1, "prices", 0)
    earned = np.concatenate(([0.0], np.cumsum(price * np.diff(edges))))
    submit = np.array(table["submit_time"], dtype=float)
    submit -= submit.min()
    least: dict[tuple[str, int], float] = {}
    for name, gpus in zip(table["model"], table["gpus"], strict=True):
        if (name, gpus) not in least:
            job = instance["catalogue"]["models"][name]
            least[name, gpus] = _least_iteration(job, cluster, gpus)
    each = zip(table["model"], table["gpus"], table["iterations"], strict=True)
    lengths = np.array([n * least[name, gpus] for name, gpus, n in each])
    room = cluster["servers"] * cluster["gpus_per_server"]
    paid, sooner = room * float(earned[-1]), np.zeros(edges.size)
    if "early" in certificate:
        early = _numbers(certificate["early"], edges.size - 1, "early prices", 0)
        sooner = np.concatenate(([0.0], np.cumsum(early * np.diff(edges))))
        paid += float(early @ _most_at_once(submit, lengths, table["gpus"], room, edges))
    total = 0.0
    for ready, seconds, gpus in zip(submit, lengths, table["gpus"], strict=True):
        starts = np.concatenate((edges, edges - seconds))
        starts = np.append(starts[starts > ready], ready)
        if "early" in certificate:
            starts = np.append(starts, ready + seconds)
        used = np.interp(starts + seconds, edges, earned) - np.interp(starts, edges, earned)
        ahead = np.interp(ready + seconds, edges, sooner) - np.interp(starts, edges, sooner)
        cost = starts + seconds - ready + gpus * used + np.maximum(ahead, 0.0)
        total += float(cost.min())
    return max(total - paid - SUMMED * (total + paid), 0.0)


def _most_at_once(submit: Any, lengths: Any, gpus: Any, room: int, edges: Any) -> np.ndarray:
    """By cell the integral of how many jobs that would run had none waited fit at once."""
    times = np.concatenate((submit + lengths, submit))
    order = np.argsort(times, kind="stable")
    size, change = np.tile(gpus, 2)[order], np.repeat([-1, 1], len(submit))[order]
    free, count, times = np.full(len(order), room), np.zeros(len(order)), times[order]
    for each in np.unique(size):  # the smallest first are the most
        fit = np.minimum(np.cumsum(np.where(size == each, change, 0)), free // each)
        count, free = count + fit, free - fit * each
    until = np.concatenate(([0.0], np.cumsum(count[:-1] * np.diff(times))))
    return np.diff(np.interp(edges, times, until))


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
            work, reduce = stage_times(job, cluster, s, v, fits.shape)
            best = min(best, float(work[fits].min()) + reduce)
        bound = max(bound, best)
    return bound


Verifier = Callable[[Document, Document], float]
VERIFIERS: dict[tuple[str, str], Verifier] = {
    ("placement", "patterns"): patterns,
    ("placement", "branches"): pattern_branches,
    ("makespan", "columns"): columns,
    ("makespan", "contention"): contention,
    ("selection", "prices"): selection_prices,
    ("selection", "branches"): selection_branches,
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
