"""Adversarial placements in four groups, each a list of families that its cases take in turn.

"plain" and "extended" have few enough tables of counts to list: ties, zeros, extreme units, odd
shapes, bad files; extended jobs also have tensor slices, experts and micro-batches. "crowded" ones
are left open by simple bounds: equal servers, near ties, capacities met. In "groups" a stage is
drawn by how many of its replicas have to stand together: with so many on a server it takes as long
as every other stage, with one fewer its all-reduce alone makes it late. Eight that need twos or
threes stand as 2 + 3 + 3; a linear programme takes 8/3 threes.
"""

from itertools import pairwise, product
from math import comb, inf, nan, prod
from typing import Any, NamedTuple

import numpy as np

from oracles import placement as oracle
from oracles.harness import LEFT_OUT, Edit, spoil


class Case(NamedTuple):
    """One drawn case."""

    family: str
    instance: dict
    options: dict[str, Any]
    gap: float
    rng: np.random.Generator


GROUPS = {
    "plain": (
        *("plain", "ties", "zeros", "equal everything", "units", "mixed magnitudes"),
        *("fast network", "no difference", "one server", "one GPU each", "one stage"),
        *("equal servers", "plain", "refused"),
    ),
    # As many as have no divisor in common with the combinations: each family meets each of them.
    "extended": (
        *("balanced", "plain", "ties", "zeros", "equal everything", "balanced", "units"),
        *("mixed magnitudes", "fast network", "one server", "one GPU each", "one stage"),
        *("balanced", "one replica", "odd offer", "balanced", "too wide"),
    ),
    "crowded": (
        *("equal servers", "whole numbers", "near ties", "pairs", "slices"),
        *("slices and spare GPUs", "micro-batches", "alike stages", "two sizes", "experts"),
    ),
    "groups": (
        *("twos and threes", "odd servers", "bottleneck", "chains", "two sizes", "fillers"),
        *("bottleneck", "slices", "slices to spare", "threes", "does not fit", "alike stages"),
        *("many stages", "bottleneck", "equal slices", "whole numbers", "no messages", "experts"),
        *("bottleneck", "far apart", "slow inside", "mixed", "one stage"),
    ),
}
SEEDS = {"plain": (), "extended": (14,), "crowded": (21,), "groups": (33,)}
PARTS = (None, 1, None, 2, 3, 8, 1000)
COMBINATIONS = tuple(
    (PARTS[number % 7], *flags)
    for number, flags in enumerate(7 * tuple(product((False, True), (False, True), (False, True))))
)
"""Micro-batches; whether there are tensor slices, tensor bytes, expert bytes."""
MOST_TABLES = {"plain": 4_000, "extended": 60_000, "crowded": 60_000, "groups": 3_000}
"""Of "groups" under "bottleneck", where the oracle lists every table."""
MOST_STEPS = 2_000_000
"""Of the oracle by server, in "groups"."""


def draw(group: str, seed: int, number: int, most: int | None = None) -> Case:
    """Case ``number`` of a seed; the family follows from the number.

    ``most`` bounds the tables of counts; in "groups" the steps of the oracle.
    """
    rng = np.random.default_rng([seed, number, *SEEDS[group]])
    family = GROUPS[group][number % len(GROUPS[group])]
    if group == "groups":
        return _draw_groups(rng, family, number, most or MOST_STEPS)
    most = most or MOST_TABLES[group]
    if group == "crowded":
        instance = _draw_crowded(rng, family, number, most)
        options = {"all_reduce_bandwidth": "bottleneck"} if rng.random() < 0.15 else {}
        return Case(family, instance, options, float(rng.choice([1e-6, 0])), rng)
    extras = COMBINATIONS[number % len(COMBINATIONS)]
    parts, sliced, *with_bytes = extras if group == "extended" else (None, False, False, False)
    replicas, slices, free = _few_tables(rng, family, sliced, most)
    instance = _document(rng, family, replicas, free, number)
    for stage, gpus in zip(instance["job"]["stages"], slices, strict=True):
        if sliced:
            stage["tensor_parallel"] = gpus
    for key, wanted in zip(("tensor_bytes", "expert_bytes"), with_bytes, strict=True):
        if wanted:
            _give(rng, family, instance, key)
    if parts is not None:
        instance["job"]["micro_batches"] = parts
    if family == "refused":
        spoil(rng, instance, SPOILS)
    options: dict[str, Any] = {}
    if rng.random() < 0.25:
        options["all_reduce_bandwidth"] = "bottleneck"
    if rng.random() < 0.25:
        options["backward_overlap"] = float(rng.choice([0, 0.3, 1, 2.5]))
        options["all_reduce_overlap"] = float(rng.choice([0, 0.7, 1, 3]))
    return Case(family, instance, options, float(rng.choice([1e-6, 1e-6, 0])), rng)


def splits(replicas: list[int], servers: int, sliced: bool) -> int:
    """Ways to split each stage over the servers, but for the largest that has to fill them."""
    ways = sorted(comb(k + servers - 1, servers - 1) for k in replicas)
    return prod(ways if sliced else ways[:-1])


def larger(seed: int, number: int) -> dict:
    """An asynchronous instance whose tables are too many to list; its servers hold it or not."""
    rng = np.random.default_rng([seed, number, 15])
    stages, servers = int(rng.integers(3, 6)), int(rng.integers(4, 9))
    slices = _integers(rng.choice([1, 2, 2, 4], stages))
    free = _integers(rng.integers(5, 9, servers))
    order = rng.integers(stages, size=200)
    replicas = _filled(order, slices, sum(free), most=8)
    if max(slices) == 1:
        slices[0], replicas[0] = 2, max(replicas[0] // 2, 1)
    instance = _document(rng, "balanced", replicas, free, number)
    for stage, gpus in zip(instance["job"]["stages"], slices, strict=True):
        stage["tensor_parallel"] = gpus
    _give(rng, "balanced", instance, "tensor_bytes")
    _give(rng, "balanced", instance, "expert_bytes")
    return instance


def planted(seed: int, number: int) -> tuple[dict, list[list[int]]]:
    """A job too large for any oracle, and a table in which every stage takes the same time.

    Groups of a stage go to servers near those of the stage before, some of which are full.
    """
    rng = np.random.default_rng([seed, number, 34])
    stages, gpus = int(rng.integers(12, 40)), int(rng.choice([3, 4, 5, 7, 8]))
    room = [gpus] * int(rng.integers(3 * stages // gpus, 6 * stages // gpus))
    table = np.zeros((stages, len(room)), dtype=np.int64)
    at = 0
    while sum(room):
        s = int(rng.integers(stages)) if table.sum(axis=1).all() else at % stages
        m = int(rng.choice(np.flatnonzero(room)))
        more = min(room[m], int(rng.choice([1, 2, 2, 3])))
        table[s, m] += more
        room[m] -= more
        at += 1
    replicas = table.sum(axis=1).tolist()
    instance = _in_groups(rng, "chains", number, [gpus] * len(room), replicas, [1] * stages)
    every = instance["job"]["stages"]
    for stage in every:
        stage["forward_time"] = stage["backward_time"] = 0.0
    times = [
        sum(oracle.stage_times(instance, s, table[None], oracle.DEFAULTS)) for s in range(stages)
    ]
    alone = [float(time.max()) for time in times]
    for stage, time in zip(every, alone, strict=True):
        stage["forward_time"] = max(alone) - time
    return instance, table.tolist()


# --- "plain", "extended" --------------------------------------------------------------------------


def _few_tables(
    rng: np.random.Generator, family: str, sliced: bool, most_tables: int
) -> tuple[list[int], list[int], list[int]]:
    """Replicas and slices of the stages, free GPUs of the servers; few enough tables to list."""
    while True:
        stages = 1 if family == "one stage" else int(rng.choice([1, 2, 2, 3, 3, 4]))
        stages += family == "balanced" and stages == 1
        most = {"one replica": 1, "one stage": 12, "balanced": 6}.get(family)
        replicas = _integers(
            rng.integers(1, (most or int(rng.choice([1, 2, 3, 4, 6, 8]))) + 1, stages)
        )
        if most is None and rng.random() < 0.2:
            replicas = _integers(2 ** rng.integers(0, 4, stages))
        slices = [1] * stages
        while sliced and max(slices) == 1:
            slices = _integers(
                rng.choice([2, 4] if family == "odd offer" else [1, 1, 2, 2, 3, 4], stages)
            )
        asked = sum(k * q for k, q in zip(replicas, slices, strict=True))
        free = _offer(rng, family, asked, max(slices) if sliced else 0)
        few = len(free) <= 12 or family == "one GPU each"
        if asked <= 24 and few and splits(replicas, len(free), sliced) <= most_tables:
            return replicas, slices, free


def _offer(rng: np.random.Generator, family: str, asked: int, widest: int) -> list[int]:
    """Free GPUs of servers, just those asked for where ``widest`` is 0: no slices."""
    spare = int(rng.choice([0, 0, 1, 2, 4])) if widest else 0
    servers = 1 if family == "one server" else int(rng.choice([1, 2, 2, 3, 3, 4, 5]))
    servers = int(rng.integers(3, 6)) if family == "balanced" else servers
    if family == "one GPU each":
        return [1] * (asked + spare)
    if family == "odd offer" and widest:
        free: list[int] = []
        while sum(free) < asked + 2 * spare:
            free.append(int(rng.choice([1, 3, 3, 5])))
        return free
    if family == "too wide" and widest:
        full, rest = divmod(asked + spare, widest - 1)
        return [widest - 1] * full + [rest] * (rest > 0)
    if (family == "equal servers" or rng.random() < 0.1) and not (asked + spare) % servers:
        return [(asked + spare) // servers] * servers
    return _integers(rng.multinomial(asked + spare, np.full(servers, 1 / servers)))


def _document(
    rng: np.random.Generator, family: str, replicas: list[int], free: list[int], number: int
) -> dict:
    """An instance of a family, with no tensor slices, experts or micro-batches."""

    def size(low: float, high: float) -> float:
        return float(10 ** rng.uniform(low, high))

    time, byte = 1.0, 1.0
    if family == "units":
        time, byte = 10.0 ** rng.integers(-9, 10), 10.0 ** rng.integers(-9, 10)
        # bandwidths (bytes per second) stay within the format's 1e-9..1e18
        byte = float(np.clip(byte, time * 1e-12, time * 1e5))
    gpus = max(int(rng.choice([1, 2, 4, 8])), max(free), 1)
    inter = size(8, 10)
    intra = inter * size(0.2, 2.5)
    if family == "fast network":
        intra = inter / gpus * size(-2, -0.01)
    elif family == "no difference":
        inter = float(rng.integers(1, 9)) * 2.0**30
        intra = inter / gpus
    elif family in ("ties", "equal everything"):
        inter, intra = float(rng.integers(1, 3)), float(rng.integers(2, 9))
    elif family == "mixed magnitudes":
        inter, intra = size(-9, 9), size(-9, 9)
        inter = min(inter, intra * gpus)

    equal = {"forward_time": 1.0, "backward_time": 2.0, "parameter_bytes": 4.0, "volume": 8.0}
    stages: list[dict[str, Any]] = []
    for s, k in enumerate(replicas):
        if family == "equal everything":
            drawn = dict(equal)
        elif family == "ties":
            drawn = {key: float(rng.integers(0, 3)) for key in equal}
        elif family == "mixed magnitudes":
            drawn = {key: size(-9, 9) for key in equal}
        elif family == "balanced":
            drawn = {key: inter / gpus * size(-1, 0) for key in equal}
            drawn |= {"forward_time": size(-1, 0), "backward_time": size(-1, 0)}
        else:
            drawn = {"forward_time": size(-3, -1), "backward_time": size(-3, -1)}
            drawn |= {"parameter_bytes": size(6, 8.5), "volume": size(6, 8.5)}
        if family == "zeros":
            drawn = {key: value * (rng.random() < 0.4) for key, value in drawn.items()}
        drift = 1.0 + (rng.choice([-1, 1]) * 4e-7 if rng.random() < 0.05 else 0.0)
        volume = drawn["volume"] * byte
        stages.append(
            {
                "name": f"stage {s}",
                "replicas": k,
                "forward_time": drawn["forward_time"] * time,
                "backward_time": drawn["backward_time"] * time,
                "input_bytes": stages[-1]["volume"] / k * drift if s else 0.0,
                "output_bytes": 0.0 if s == len(replicas) - 1 else volume / k,
                "parameter_bytes": drawn["parameter_bytes"] * byte,
                "volume": volume,
            }
        )
    for stage in stages:
        del stage["volume"]
    inter, intra = inter * byte / time, intra * byte / time
    return oracle.document(f"case-{number}", (gpus, inter, intra), free, stages, _all_reduce(rng))


def _give(rng: np.random.Generator, family: str, instance: dict, key: str) -> None:
    """Bytes for some of the stages, at least one: comparable to its times, or far above them."""
    cluster, stages = instance["cluster"], instance["job"]["stages"]
    chosen = rng.random(len(stages)) < 0.7
    chosen[rng.integers(len(stages))] = True
    for stage, wanted in zip(stages, chosen, strict=True):
        time = stage["forward_time"] + stage["backward_time"]
        if not wanted:
            continue
        if family == "balanced":
            inside = key == "tensor_bytes"
            bandwidth = cluster["intra_bandwidth" if inside else "inter_bandwidth"]
            stage[key] = float(bandwidth * time * rng.uniform(0.1, 2))
        elif family in ("ties", "equal everything"):
            stage[key] = float(rng.integers(1, 3)) if family == "ties" else 8.0
        else:
            high = 6 if rng.random() < 0.15 else 1
            size = cluster["inter_bandwidth"] * time * 10 ** rng.uniform(high - 3, high)
            stage[key] = min(float(size), 1e18) or float(rng.choice([1.0, 1e9]))


SPOILS: tuple[Edit, ...] = (
    ("free_gpus.*", lambda gpus, _: gpus + 1),
    ("free_gpus", lambda free, _: [*free, -1]),
    ("cluster.gpus_per_server", lambda _, file: max(file["free_gpus"]) - 1),
    ("cluster.inter_bandwidth", 0.0, -1.0, nan, inf),
    ("cluster.intra_bandwidth", 0.0, -1.0, nan, inf),
    ("job.stages", [], lambda stages, _: [*stages, {**stages[0], "input_bytes": 3.0}]),
    ("job.stages.0.input_bytes", 1e-9),
    ("job.stages.-1.output_bytes", 1e-9),
    ("job.stages.*.replicas", lambda replicas, _: replicas + 1, 0, 1.5),
    *(
        (f"job.stages.*.{key}", -1.0, -1e-300, inf, -inf, nan, LEFT_OUT)
        for key in ("forward_time", "backward_time", "parameter_bytes")
    ),
    ("job.stages.*.tensor", 1),
    ("job.stages.*.tensor_parallel", 0, -2, 1.5, "2"),
    ("job.stages.*.tensor_bytes", -1.0, inf),
    ("job.stages.*.expert_bytes", -1e-300, nan),
    ("job.stages.*.micro_batches", 2),
    ("job.all_reduce", "tree"),
    ("job.micro_batches", 0, -4, 2.5),
    ("job.tensor_parallel", 2),
    ("version", 2),
)
"""Edits of one place, each of which breaks the contract of the file."""


# --- "crowded" ------------------------------------------------------------------------------------


def _draw_crowded(rng: np.random.Generator, family: str, number: int, most_tables: int) -> dict:
    """Servers filled by 2 to 4 stages; redrawn until there are few enough tables."""
    sliced = family.startswith("slices")
    while True:
        if family == "two sizes":
            two = rng.choice([1, 2, 3, 4, 5], 2, replace=False)
            free = _integers(rng.choice(two, rng.integers(3, 6)))
        elif family == "pairs":
            free = [2] * int(rng.integers(3, 7))
        else:
            free = [int(rng.integers(2, 5))] * int(rng.integers(3, 6))
        stages = int(rng.integers(2, 5))
        slices = _integers(rng.choice([1, 2, 2, 3, 4] if sliced else [1], stages))
        room = sum(free) - (int(rng.integers(0, 3)) if "spare" in family else 0)
        replicas = _filled(rng.integers(stages, size=60), slices, room)
        used = sum(k * q for k, q in zip(replicas, slices, strict=True))
        fits = used <= sum(free) if sliced else used == sum(free)
        if not fits or (max(slices) > 1) != sliced:
            continue
        if splits(replicas, len(free), sliced=False) > most_tables:
            continue
        instance = _document(rng, "balanced", replicas, free, number)
        _crowd(rng, family, instance, slices)
        if len(oracle.tables(instance)) <= most_tables:
            return instance


def _crowd(rng: np.random.Generator, family: str, instance: dict, slices: list[int]) -> None:
    """What makes a family, on top of times and bytes that balance."""
    job, cluster = instance["job"], instance["cluster"]
    stages = job["stages"]
    if family in ("whole numbers", "alike stages"):
        whole = family == "whole numbers"
        volumes = [float(rng.integers(0, 3)) * 24 for _ in stages]
        if whole:
            cluster |= {"gpus_per_server": 4, "inter_bandwidth": 4.0}
            cluster["intra_bandwidth"] = float(rng.choice([1.0, 2.0, 8.0]))
        else:
            volumes = [cluster["inter_bandwidth"] * 10 ** rng.uniform(-2, 0.5)] * len(stages)
        first = 4 * stages[0]["parameter_bytes"]
        for s, stage in enumerate(stages):
            k = stage["replicas"]
            for key in ("forward_time", "backward_time"):
                stage[key] = float(rng.integers(0, 4)) if whole else 1.0
            stage["parameter_bytes"] = float(rng.integers(0, 5)) if whole else first
            stage["input_bytes"] = volumes[s - 1] / k if s else 0.0
            stage["output_bytes"] = volumes[s] / k if s < len(stages) - 1 else 0.0
    if family == "near ties":
        apart = 10.0 ** int(rng.integers(-12, -5))
        for stage in stages:
            for key in ("forward_time", "parameter_bytes"):
                stage[key] = stages[0][key] * (1 + apart * int(rng.integers(-2, 3)))
            stage["backward_time"] = stages[0]["backward_time"]
    if family.startswith("slices"):
        for stage, gpus in zip(stages, slices, strict=True):
            stage["tensor_parallel"] = gpus
        if rng.random() < 0.5:
            _give(rng, "balanced", instance, "tensor_bytes")
    if family == "experts" or (family == "micro-batches" and rng.random() < 0.4):
        _give(rng, "balanced", instance, "expert_bytes")
    if family == "micro-batches":
        job["micro_batches"] = int(rng.choice([1, 2, 3, 4, 8]))


def _filled(order: Any, slices: list[int], room: int, most: int = 10**9) -> list[int]:
    """Replicas of the stages, one more at a time in this order where the room allows it."""
    replicas, used = [1] * len(slices), sum(slices)
    for s in order:
        if used + slices[s] <= room and replicas[s] < most:
            replicas[s], used = replicas[s] + 1, used + slices[s]
    return replicas


# --- "groups" -------------------------------------------------------------------------------------


def _draw_groups(rng: np.random.Generator, family: str, number: int, most_steps: int) -> Case:
    while True:
        drawn = _group_shape(rng, family)
        if drawn is None:
            continue
        free, replicas, takes = drawn
        instance = _in_groups(rng, family, number, free, replicas, takes)
        if np.prod([k + 1 for k in replicas]) > 20_000 or oracle.steps(instance) > most_steps:
            continue
        options: dict[str, Any] = {}
        if family == "bottleneck":
            if splits(replicas, len(free), max(takes) > 1) > MOST_TABLES["groups"]:
                continue
            options["all_reduce_bandwidth"] = "bottleneck"
        if rng.random() < 0.1:
            options["backward_overlap"] = float(rng.choice([0, 0.5, 2]))
            options["all_reduce_overlap"] = float(rng.choice([0, 0.5, 2]))
        return Case(family, instance, options, float(rng.choice([1e-6, 0])), rng)


def _group_shape(
    rng: np.random.Generator, family: str
) -> tuple[list[int], list[int], list[int]] | None:
    """Free GPUs of the servers, replicas and GPUs a replica of the stages."""
    servers, stages = int(rng.integers(2, 8)), int(rng.integers(2, 6))
    size = int(rng.integers(2, 9))
    if family in ("odd servers", "equal slices"):
        size = int(rng.choice([3, 5, 7]))
    elif family == "threes":
        size = int(rng.choice([4, 5, 7, 8]))
    elif family == "one stage":
        stages = 1
    elif family == "many stages":
        servers, stages, size = int(rng.integers(3, 6)), int(rng.integers(6, 9)), 3
    elif family in ("fillers", "does not fit"):
        servers, size = int(rng.integers(3, 7)), int(rng.integers(4, 7))
    elif family == "bottleneck":
        servers, stages, size = int(rng.integers(2, 5)), int(rng.integers(1, 4)), size // 2 + 1
    free = [size] * servers
    if family == "two sizes":
        free = _integers(rng.choice(rng.choice(range(1, 9), 2, replace=False), servers))
    elif family in ("mixed", "far apart", "slow inside") or rng.random() < 0.15:
        free = _integers(rng.integers(1, 9, servers))
    takes = [1] * stages
    if family in ("slices", "slices to spare", "does not fit", "equal slices"):
        widths = {"does not fit": [2, 3, 3], "equal slices": [int(rng.integers(2, 4))]}
        takes = _integers(rng.choice(widths.get(family, [1, 1, 2, 2, 3]), stages))
    room = sum(free)
    if family in ("slices to spare", "does not fit"):
        room -= int(rng.integers(0 if family == "does not fit" else 1, 4))
    elif family == "equal slices":
        room = sum(gpus - gpus % takes[0] for gpus in free) - takes[0] * int(rng.integers(0, 2))
    elif family == "alike stages":
        replicas = [max(room // stages, 1)] * stages
        left = sum(free) - sum(replicas)  # on fewer GPUs of the last server
        return ([*free[:-1], free[-1] - left], replicas, takes) if 0 <= left < free[-1] else None
    weight = rng.dirichlet(np.full(stages, 2.0))
    replicas = _filled(rng.choice(stages, size=80, p=weight), takes, room)
    used = sum(k * q for k, q in zip(replicas, takes, strict=True))
    if used > sum(free) or max(replicas) > 16 or (used < sum(free) and max(takes) == 1):
        return None
    return free, replicas, takes


def _in_groups(
    rng: np.random.Generator,
    family: str,
    number: int,
    free: list[int],
    replicas: list[int],
    takes: list[int],
) -> dict:
    """Stages that all take about a second in their groups, and about what makes the family."""
    gpus = max(*free, int(rng.choice([1, 8])))
    unit, byte = 10.0 ** rng.integers(-3, 4), 10.0 ** rng.integers(-3, 10)
    far = 1.0 / byte  # seconds a byte of a replica of one GPU
    near = far * rng.uniform(0.001, 0.9) / max(takes)
    if family == "far apart":
        near = max(far * 10.0 ** -rng.uniform(4, 9), 1e-17 / unit)
    elif family == "slow inside":
        near = far * 10 ** rng.uniform(0.01, 1)
    if family == "whole numbers":
        unit, byte, far, near = 1.0, 1.0, 1.0, 1 / float(rng.choice([2, 4, 8]))
    volumes = [0.0, *_volumes(rng, family, replicas, takes, byte), 0.0]
    stages = []
    for s, (k, q) in enumerate(zip(replicas, takes, strict=True)):
        sent = 2 * (volumes[s] + volumes[s + 1]) / k * far / q
        group = _group(rng, family, k)
        reduce = group * rng.uniform(0.3, 1.0) if group > 1 else rng.uniform(0, 0.3)
        slack = 1.0 + (0.0 if family == "alike stages" else rng.uniform(-0.15, 0.15))
        compute = slack - reduce / group - sent * rng.uniform(0.3, 1.0)
        if family == "fillers" and s % 3:
            compute, reduce = rng.uniform(0, 0.1), 0.0
        if family == "whole numbers":
            compute, reduce = float(rng.integers(0, 5)), float(group * rng.integers(1, 5))
        forward = max(compute, 0.0) * rng.choice([0.0, 0.25, 0.5])
        stage = {
            "name": f"stage {s}",
            "replicas": k,
            "forward_time": forward * unit,
            "backward_time": (max(compute, 0.0) - forward) * unit,
            "input_bytes": volumes[s] / k,
            "output_bytes": volumes[s + 1] / k,
            "parameter_bytes": reduce * q / far / 2 * k / (k - 1) if k > 1 else byte,
        }
        if max(takes) > 1:
            stage["tensor_parallel"] = q
            stage["tensor_bytes"] = byte * rng.uniform(0, 0.1) / near * far
        if family == "experts" or (max(takes) > 1 and rng.random() < 0.2):
            stage["expert_bytes"] = byte * q * rng.uniform(0, 0.5)
        stages.append(stage)
    if family == "alike stages":
        alike = {key: stages[0][key] for key in stages[0] if key.endswith("_time")}
        alike["parameter_bytes"] = stages[0]["parameter_bytes"]
        stages = [stage | alike for stage in stages]
    cluster = (gpus, gpus / far / unit, 1 / near / unit)
    return oracle.document(f"groups-{number}", cluster, free, stages, _all_reduce(rng))


def _all_reduce(rng: np.random.Generator) -> str:
    return str(rng.choice(["ring", "double-tree"]))


def _volumes(
    rng: np.random.Generator, family: str, replicas: list[int], takes: list[int], byte: float
) -> list[float]:
    """Bytes between neighbours, all replicas together: some seconds of the smaller side's NICs."""
    found = []
    for (k, q), (n, p) in pairwise(zip(replicas, takes, strict=True)):
        most = 1.5 if family in ("chains", "bottleneck") else 0.3
        share = rng.uniform(0, most) if rng.random() < 0.8 else 0.0
        if family == "alike stages":
            share = 0.2
        found.append(min(k * q, n * p) / 2 * share * byte)
    if family == "no messages":
        return [0.0] * len(found)
    if family == "whole numbers":
        return [float(rng.integers(0, 3) * 12) for _ in found]
    return found


def _group(rng: np.random.Generator, family: str, replicas: int) -> int:
    """How many replicas of a stage have to stand together."""
    wanted = {
        "twos and threes": [2, 2, 3],
        "odd servers": [2],
        "threes": [3],
        "fillers": [2, 3],
        "many stages": [1, 2],
        "alike stages": [2],
    }.get(family, [1, 1, 2, 2, 3, 4])
    return min(int(rng.choice(wanted)), replicas)


def _integers(values: Any) -> list[int]:
    return [int(value) for value in values]
