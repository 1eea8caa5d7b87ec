"""Resource selection by enumeration, written from the corrected (P1) and nothing else.

A job is waiting, or sits on a node with k whole GPUs or with a fraction of one. Everything is read
from the JSON of an instance; fits are decided with exact rationals, costs are computed in floats.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

Configuration = int | Fraction
"""k whole GPUs, or a fraction of one."""

Placement = tuple[int, Configuration]
"""A node and a configuration."""


class RefusedError(Exception):
    """The instance cannot be used: a job has nothing left to do, or no node can hold it."""


def remaining(job: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Epochs still to make and their probabilities, given that more than those made are needed."""
    done = job.get("completed_epochs", 0)
    epochs = job["epochs"]
    left = [
        (value - done, chance)
        for value, chance in zip(epochs["values"], epochs["probabilities"], strict=True)
        if value > done
    ]
    if not left:
        raise RefusedError(f"{job['name']} has no epochs left")
    total = math.fsum(chance for _, chance in left)
    return [(value, chance / total) for value, chance in left]


def configurations(
    instance: Mapping[str, Any], job: Mapping[str, Any], node: Mapping[str, Any], sharing: bool
) -> dict[Configuration, float]:
    kind = instance["gpu_types"][node["gpu_type"]]
    times = job["epoch_time"].get(node["gpu_type"])
    memory, need = Fraction(kind["memory_bytes"]), Fraction(job["memory_bytes"])
    if times is None or need > memory:
        return {}
    found: dict[Configuration, float] = {k: times[k - 1] for k in range(1, node["gpus"] + 1)}
    if sharing:
        for key, slowdown in kind["slowdown"].items():
            if need <= memory * Fraction(key):
                found[Fraction(key)] = times[0] * slowdown
    return found


@cache
def min_gpus(fractions: tuple[Fraction, ...]) -> int:
    best = len(fractions)

    def put(at: int, free: list[Fraction]) -> None:
        nonlocal best
        if len(free) >= best and at < len(fractions):
            return
        if at == len(fractions):
            best = min(best, len(free))
            return
        for gpu, room in enumerate(free):
            if fractions[at] <= room:
                free[gpu] = room - fractions[at]
                put(at + 1, free)
                free[gpu] = room
        put(at + 1, [*free, 1 - fractions[at]])

    put(0, [])
    return best


class Oracle:
    """Costs of one instance, with sharing of GPUs or without."""

    def __init__(self, instance: Mapping[str, Any], sharing: bool = True) -> None:
        self.instance = instance
        self.nodes = instance["nodes"]
        self.jobs = instance["jobs"]
        self.choices = [
            [configurations(instance, job, node, sharing) for node in self.nodes]
            for job in self.jobs
        ]
        self.left = [remaining(job) for job in self.jobs]
        for job, choices in zip(self.jobs, self.choices, strict=True):
            if not any(choices):
                raise RefusedError(f"no node can hold {job['name']}")

    def due(self, job: int) -> float:
        """Seconds until the due date; negative when it has passed."""
        return self.jobs[job]["due_date"] - self.instance["now"]

    def rounding(self) -> float:
        """What the clock's subtraction may leave of a cost, dollars."""
        now = abs(self.instance["now"])
        return 1e-15 * math.fsum(
            job["tardiness_weight"] * (abs(job["due_date"]) + now) for job in self.jobs
        )

    def waiting_cost(self, job: int) -> float:
        """(20') and what (19') leaves of a job that runs nowhere."""
        slowest = max(time for choices in self.choices[job] for time in choices.values())
        longest = max(epochs for epochs, _ in self.left[job]) * slowest
        late = max(0.0, self.instance["interval"] + longest - self.due(job))
        weight = self.jobs[job]["tardiness_weight"]
        return weight * (self.instance["postponement_penalty"] * late + max(0.0, -self.due(job)))

    def late_cost(self, job: int, place: Placement) -> float:
        """eta_j E[(t W - d)^+]."""
        time = self.choices[job][place[0]][place[1]]
        late = math.fsum(p * max(0.0, w * time - self.due(job)) for w, p in self.left[job])
        return self.jobs[job]["tardiness_weight"] * late

    def unavoidable_cost(self) -> float:
        """What the jobs cost at the least, each for itself, without energy."""
        least = []
        for job, choices in enumerate(self.choices):
            roles = [
                self.late_cost(job, (node, c)) for node, each in enumerate(choices) for c in each
            ]
            least.append(min([self.waiting_cost(job), *roles]))
        return math.fsum(least)

    def unit(self, opening: str = "free") -> float:
        """Dollars that models count in, where a solver's tolerances are absolute.

        The mean cost of waiting; where so many nodes must open, also of the longest that a job
        runs on the dearest node.
        """
        jobs = range(len(self.jobs))
        waiting = math.fsum(self.waiting_cost(job) for job in jobs) / len(self.jobs)
        if opening != "printed":
            return waiting
        longest = max(
            self.expected_time(job, (node, c))
            for job in jobs
            for node, each in enumerate(self.choices[job])
            for c in each
        )
        return max(waiting, longest * max(node["cost_rate"][-1] for node in self.nodes))

    def is_resolvable(self, value: float) -> bool:
        """Whether what is left to decide is a ten thousandth of the unit."""
        return value - self.unavoidable_cost() >= 1e-4 * self.unit()

    def expected_time(self, job: int, place: Placement) -> float:
        """E[t W], which decides who ends first."""
        return self.choices[job][place[0]][place[1]] * math.fsum(w * p for w, p in self.left[job])

    def cost(self, placement: list[Placement | None], used: list[int]) -> float:
        """(P1.1) of an assignment with so many GPUs in use on each node."""
        parts = []
        for job, place in enumerate(placement):
            parts.append(self.waiting_cost(job) if place is None else self.late_cost(job, place))
        for node, count in enumerate(used):
            times = [
                self.expected_time(job, place)
                for job, place in enumerate(placement)
                if place is not None and place[0] == node
            ]
            if times:
                parts.append(min(times) * self.nodes[node]["cost_rate"][count - 1])
        return math.fsum(parts)

    def optimum(self, opening: str = "free") -> float | None:
        """The least cost over all assignments; None where (16) as printed cannot be met."""
        return min(self.cost_by_running_jobs(opening).values(), default=None)

    def selections(self, opening: str = "free") -> Iterator[tuple[list[Placement | None], float]]:
        """Every selection, one by one, with its cost."""
        wanted = min(len(self.jobs), len(self.nodes))
        roles = [
            [None, *((node, c) for node, each in enumerate(choices) for c in each)]
            for choices in self.choices
        ]
        for chosen in itertools.product(*roles):
            used = []
            for node in range(len(self.nodes)):
                here = [place[1] for place in chosen if place is not None and place[0] == node]
                shared = sorted((c for c in here if not isinstance(c, int)), reverse=True)
                used.append(sum(c for c in here if isinstance(c, int)) + min_gpus(tuple(shared)))
            fits = all(u <= node["gpus"] for u, node in zip(used, self.nodes, strict=True))
            if fits and (opening != "printed" or sum(u > 0 for u in used) == wanted):
                yield list(chosen), self.cost(list(chosen), used)

    def fewest_waiting(self, opening: str = "free") -> tuple[int, float] | None:
        """The least number of jobs that wait, and the least cost with so many."""
        found = self.cost_by_running_jobs(opening).items()
        return min(((len(self.jobs) - len(ran), cost) for ran, cost in found), default=None)

    def cost_by_running_jobs(self, opening: str = "free") -> dict[frozenset[int], float]:
        """By the jobs that run, wherever so many can: the least cost of their running alone."""
        everybody = range(len(self.jobs))
        subsets = [
            frozenset(part)
            for size in range(len(self.jobs) + 1)
            for part in itertools.combinations(everybody, size)
        ]
        reached: dict[tuple[frozenset[int], int], float] = {(frozenset(), 0): 0.0}
        hosted: dict[Any, dict[frozenset[int], float]] = {}
        for number, node in enumerate(self.nodes):
            alike = (node["gpu_type"], node["gpus"], tuple(node["cost_rate"]))
            if alike not in hosted:
                hosted[alike] = {part: self.hosting(number, part) for part in subsets}
            extended: dict[tuple[frozenset[int], int], float] = {}
            for (seated, opened), value in reached.items():
                for part, cost in hosted[alike].items():
                    if cost < math.inf and not part & seated:
                        key = (part | seated, opened + bool(part))
                        extended[key] = min(extended.get(key, math.inf), value + cost)
            reached = extended
        wanted = min(len(self.jobs), len(self.nodes))
        found: dict[frozenset[int], float] = {}
        for (seated, opened), value in reached.items():
            if opening != "printed" or opened == wanted:
                waiting = [self.waiting_cost(job) for job in everybody if job not in seated]
                found[seated] = min(found.get(seated, math.inf), value + math.fsum(waiting))
        return found

    def hosting(self, node: int, part: frozenset[int]) -> float:
        """The least cost of exactly these jobs on a node; infinite where they do not fit."""
        best = math.inf if part else 0.0
        order = sorted(part)
        tables = [
            [
                (c, self.late_cost(job, (node, c)), self.expected_time(job, (node, c)))
                for c in self.choices[job][node]
            ]
            for job in order
        ]
        rates = self.nodes[node]["cost_rate"]
        for chosen in itertools.product(*tables):
            whole = sum(c for c, _, _ in chosen if isinstance(c, int))
            if not part or whole > len(rates):
                continue
            shared = tuple(
                sorted((c for c, _, _ in chosen if not isinstance(c, int)), reverse=True)
            )
            used = whole + min_gpus(shared)
            if used <= len(rates):
                leader = min(time for _, _, time in chosen) * rates[used - 1]
                best = min(best, math.fsum([leader, *(late for _, late, _ in chosen)]))
        return best

    def judge(self, solution: Mapping[str, Any], opening: str = "free") -> float | None:
        """The cost of a solution file, or None if it breaks a rule."""
        by_name = {entry["name"]: entry for entry in solution["jobs"]}
        if len(by_name) != len(solution["jobs"]) or set(by_name) != {j["name"] for j in self.jobs}:
            return None
        node_of = {node["name"]: number for number, node in enumerate(self.nodes)}
        load: list[dict[int, Fraction]] = [{} for _ in self.nodes]
        placement: list[Placement | None] = []
        for job, given in enumerate(self.jobs):
            entry = by_name[given["name"]]
            if entry.get("node") is None:
                placement.append(None)
                continue
            node, gpus = node_of.get(entry["node"], -1), entry["gpus"]
            if node < 0 or len(set(gpus)) != len(gpus) or not gpus:
                return None
            if not all(0 <= gpu < self.nodes[node]["gpus"] for gpu in gpus):
                return None
            configuration = self.configuration(job, node, len(gpus), entry.get("fraction", 1.0))
            if configuration is None:
                return None
            size = Fraction(1) if isinstance(configuration, int) else configuration
            for gpu in gpus:
                load[node][gpu] = load[node].get(gpu, Fraction(0)) + size
            placement.append((node, configuration))
        if any(share > 1 for shares in load for share in shares.values()):
            return None
        used = [len(shares) for shares in load]
        if opening == "printed":
            wanted = min(len(self.jobs), len(self.nodes))
            if sum(count > 0 for count in used) != wanted:
                return None
        return self.cost(placement, used)

    def configuration(
        self, job: int, node: int, gpus: int, fraction: float
    ) -> Configuration | None:
        """What a solution file's entry means, or None if the job may not have it there."""
        choices = self.choices[job][node]
        if fraction == 1.0:
            return gpus if gpus in choices else None
        found = [c for c in choices if not isinstance(c, int) and float(c) == fraction]
        return found[0] if found and gpus == 1 else None

    def proved(self, certificate: Mapping[str, Any], opening: str = "free") -> Fraction:
        """What prices of jobs, slots and of opening nodes prove, in exact fractions.

        A job that waits or follows costs at least its price; on a node the best leader pays for
        what can be packed beside it as dearly as can be (models/selection, "Certificate").
        """
        opened = Fraction(certificate.get("opening", 0.0)) if opening == "printed" else Fraction(0)
        kinds: dict[str, tuple[list[Fraction], dict[Configuration, Fraction]]] = {}
        largest: dict[str, int] = {}
        for node in self.nodes:
            largest[node["gpu_type"]] = max(largest.get(node["gpu_type"], 0), node["gpus"])
        for kind, most in largest.items():
            given = [Fraction(price) for price in certificate["slots"][kind]]
            shares = sorted(map(Fraction, self.instance["gpu_types"][kind]["slowdown"]))[::-1]
            whole = list(itertools.accumulate(given[:most], max))
            priced: dict[Configuration, Fraction] = dict(zip(shares, given[most:], strict=False))
            filled = best_fill(Fraction(1), priced)
            packed = [Fraction(0)]
            for room in range(1, most + 1):
                items = [max(whole[0], filled), *whole[1:]]
                packed.append(max(packed[room - k] + items[k - 1] for k in range(1, room + 1)))
            kinds[kind] = packed, {**dict(enumerate(whole, 1)), **priced}
        prices = [
            min(
                Fraction(certificate["jobs"][job]),
                Fraction(self.waiting_cost(job)),
                *(
                    Fraction(self.late_cost(job, (n, c))) + kinds[node["gpu_type"]][1][c]
                    for n, node in enumerate(self.nodes)
                    for c in self.choices[job][n]
                ),
            )
            for job in range(len(self.jobs))
        ]
        total = sum(prices, opened * min(len(self.jobs), len(self.nodes)))
        for n, node in enumerate(self.nodes):
            packed, priced = kinds[node["gpu_type"]]
            saved = [Fraction(0)]
            for job, price in enumerate(prices):
                for c in self.choices[job][n]:
                    size, beside = c, Fraction(0)
                    if not isinstance(c, int):
                        size, beside = 1, best_fill(1 - c, priced)
                    for used in range(size, node["gpus"] + 1):
                        cost = Fraction(self.late_cost(job, (n, c)))
                        rate = Fraction(node["cost_rate"][used - 1])
                        cost += Fraction(self.expected_time(job, (n, c))) * rate
                        saved.append(cost - price - packed[used - size] - beside - opened)
            total += min(saved)
        return total


def best_fill(room: Fraction, priced: Mapping[Configuration, Fraction]) -> Fraction:
    """The dearest fractions that fit together in what a GPU has left."""
    fractions = [f for f in priced if not isinstance(f, int) and f <= room]
    return max((priced[f] + best_fill(room - f, priced) for f in fractions), default=Fraction(0))
