"""Freezes the sets of the library: `python instances/make_library.py [SET ...]`.

A set that is frozen is made again and compared, never changed: one with a flaw is followed by
another, of the next number.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import optsched
from optsched.files import instance_sha256, json_text, read_document
from optsched.io.writing import write_text
from optsched.library.sets import library_folder

Arguments = dict[str, Any]


class Family(NamedTuple):
    """Instances that differ in seeds only."""

    arguments: Arguments
    seeds: range


class Made(NamedTuple):
    """A set to freeze: why it is there, its methods and their options, its families or files."""

    why: str
    methods: list[str]
    families: list[Family]
    files: list[str] = []  # noqa: RUF012
    options: Arguments = {}  # noqa: RUF012


def gbits(rate: float) -> float:
    """Bytes a second."""
    return rate * 1.25e8


EFFICIENT = {
    "VGG19": (25, 25, 50, 100), "ResNet152": (100, 200, 200, 200),
    "Inception-V3": (50, 50, 50, 100), "BERT-large": (50, 100, 100, 100),
    "XLNet-large": (25, 50, 100, 100), "T5-11B": (10, 25, 25, 25), "GPT-6.7B": (10, 10, 10, 25),
    "GPT-13B": (10, 10, 10, 10),
}  # fmt: skip
"""Gbit/s of the NIC on 16, 32, 64 and 128 GPUs, as in instances/make_placement.sh."""
SIZES = (16, 32, 64, 128)
SHARED = ("VGG19", "ResNet152", "Inception-V3", "BERT-large", "XLNet-large", "T5-11B", "GPT-6.7B")
SLICED = (
    *(("GPT-13B", gpus, slices) for gpus in (32, 64) for slices in (2, 4, 8)),
    *(("T5-11B", gpus, slices) for gpus in (32, 64) for slices in (2, 8)),
    *(("Mixtral-8x7B", gpus, 2) for gpus in (32, 64)),
)
MEASURED = [
    f"placement/efficient/measured-{name}-{gpus}-{rate}g"
    for name, rates in (("vgg16", (25, 50, 50, 50)), ("resnet101", (25, 25, 25, 100)),
                        ("gnmt-large", (50, 100, 100, 100)))
    for gpus, rate in zip(SIZES, rates, strict=True)
]  # fmt: skip


def placement_sets() -> Iterator[tuple[str, Made]]:
    """Placements."""
    methods = ["repartition", "exact"]
    plans = [
        Family({"model": model, "gpus": gpus, "inter_bandwidth": gbits(rate)}, range(2, 4))
        for model, rates in EFFICIENT.items()
        for gpus, rate in zip(SIZES, rates, strict=True)
    ]
    yield "placement/plans-1", Made(
        "Plans one would run: every model of Table I of a-srpt on 16 to 128 GPUs of 8-GPU servers,"
        " a mini-batch a GPU, under the slowest NIC of 10 to 200 Gbit/s at which the plan reaches"
        " half of the GPUs' speed; the offers of free GPUs are drawn.",
        methods, plans)  # fmt: skip
    shared = [
        Family({"model": model, "gpus": gpus, "batch": "global", "oversized": True}, range(2, 4))
        for model, gpus in product(SHARED, (16, 32))
    ]
    tree = [
        Family({**each.arguments, "all_reduce": "double-tree"}, range(2, 3))
        for each in shared[1:8:2]
    ]
    yield "placement/shared-batch-1", Made(
        "One mini-batch shared by all GPUs at 10 Gbit/s, as a-srpt sets its jobs: communication"
        " decides everything. Few would run such plans; the paper's results are on them.",
        methods, [*shared, *tree])  # fmt: skip
    large = {"device": "A100-BF16", "inter_bandwidth": gbits(800)}
    sliced = [
        Family({"model": model, "gpus": gpus, "tensor_parallel": slices, **large},
               range(1, 2 if slices == 8 else 3))  # in whole servers every offer is alike
        for model, gpus, slices in SLICED
    ]  # fmt: skip
    yield "placement/slices-1", Made(
        "Large language models in tensor slices on 80 GB A100s with 800 Gbit/s a server; the"
        " pipeline is asynchronous.",
        [*methods, "columns"], sliced)  # fmt: skip
    flushed = [Family({**each.arguments, "micro_batches": 32}, range(1, 2)) for each in sliced]
    yield "placement/micro-batches-1", Made(
        "The same models in synchronous pipelines of 32 micro-batches, as they are trained.",
        methods, flushed)  # fmt: skip
    yield "placement/measured-1", Made(
        "Profiles measured by PipeDream's authors (MIT licence), cut and offered as in the set"
        " plans-1; they are stored, since a generator cannot measure.",
        methods, [], MEASURED)  # fmt: skip


def makespan_sets() -> Iterator[tuple[str, Made]]:
    """Makespans."""
    methods = ["list-scheduling", "local-search", "exact"]
    small = [
        Family({"jobs": jobs, "servers": 4, "server_sizes": [4], "largest_job": 8, "slot": 30.0,
                "contention": contention}, range(1, 6))
        for jobs in (8, 10, 12) for contention in ("mild", "strong")
    ]  # fmt: skip
    yield "makespan/small-1", Made(
        "8 to 12 jobs on 4 servers of 4 GPUs, in slots of 30 s, under mild and strong contention:"
        " of a size that an exact method can be asked to prove.",
        methods, small)  # fmt: skip
    medium = [
        Family({"jobs": jobs, "servers": 8, "server_sizes": [2, 4, 8], "largest_job": 8,
                "slot": slot}, range(1, 9))
        for jobs, slot in ((24, 30.0), (40, 15.0), (64, 5.0))
    ]  # fmt: skip
    yield (
        "makespan/medium-1",
        Made("24 to 64 jobs on 8 servers of 2 to 8 GPUs, mild contention.", methods, medium),
    )
    paper = [Family({"contention": contention}, range(2, 5)) for contention in ("mild", "strong")]
    yield "makespan/paper-1", Made(
        "The size of sjf-bco's section 7: 160 jobs on 20 servers, slots of 1 s.",
        methods, paper)  # fmt: skip
    spanning = [
        Family({"jobs": 10, "servers": 4, "server_sizes": [4], "sizes": [3], "slot": 15.0},
               range(2, 6)),
        Family({"jobs": 8, "servers": 6, "server_sizes": [4], "sizes": [5, 6, 7, 8], "slot": 15.0,
                "contention": "strong"}, range(2, 6)),
    ]  # fmt: skip
    yield "makespan/spanning-1", Made(
        "Jobs of 3 GPUs on servers of 4, which pack badly, and jobs larger than every server:"
        " where to span is worth its slowdown, or cannot be avoided.",
        methods, spanning)  # fmt: skip


def other_sets() -> Iterator[tuple[str, Made]]:
    """Selections, speed profiles, runs over time."""
    interval = [
        Family({"nodes": 10}, range(2, 18)),
        Family({"nodes": 10, "overdue": 0.3}, range(2, 10)),
        Family({"nodes": 10, "jobs": 20, "gpus_per_node": 8}, range(2, 10)),
        Family({"nodes": 24, "cost_classes": 2}, range(2, 12)),
        Family({"nodes": 40}, range(2, 14)),
        Family({"nodes": 12, "cost_classes": 0}, range(2, 12)),
        Family({"nodes": 100, "bin_width": 10}, range(2, 6)),
    ]
    yield "selection/interval-1", Made(
        "One scheduling point as in sts, VII-A: 10 to 100 nodes of three GPU types, four jobs a"
        " node or fewer, GPUs that may be shared; equal prices a type, two classes, or each node"
        " its own.",
        ["sts", "columns", "exact"], interval)  # fmt: skip
    profiles = [
        Family({"network": network, "deadline": deadline, "idle_power": idle}, range(1, 3))
        for network in ("AlexNet", "ResNet", "VGG16", "MobileNetV2")
        for deadline, idle in ((2500.0, 0.0), (4000.0, 0.0), (7000.0, 0.0), (2350.0, 60.0),
                               (2600.0, 60.0))
    ]  # fmt: skip
    yield "speed-profile/fig2-1", Made(
        "One job of a network of sts, Fig. 2, on 1 to 8 GPUs of a node, from deadlines that bind"
        " hard to none that binds; with and without idle power.",
        ["hull"], profiles)  # fmt: skip
    rolling = [
        Family({"nodes": 6, "arrivals": "load", "load": load}, range(2, 5))
        for load in (0.5, 0.9, 1.3)
    ]
    yield "rolling/three-types-1", Made(
        "60 jobs on 6 nodes over time at offered loads of 0.5 to 1.3; the bound knows the true"
        " epochs of seed 0 in advance, no policy does.",
        ["sts", "edf", "price"], rolling)  # fmt: skip
    online = [
        Family({"jobs": 300, "servers": 20, "load": load}, range(2, 6))
        for load in (0.3, 0.6, 0.8, 1.0)
    ]
    yield "online/mixed-1", Made(
        "300 recurring jobs of one GPU and more on 20 servers of 8, at loads of 0.3 to 1.",
        ["a-srpt", "a-srpt-perfect", "spjf", "wcs-subtime"], online)  # fmt: skip
    tiny = [
        Family({"jobs": jobs, "servers": 3, "gpus_per_server": 4, "load": load,
                "single_gpu_share": 0.3, "sizes": [2, 4, 6, 8],
                "size_weights": [0.35, 0.35, 0.15, 0.15],
                "durations": [120.0, 240.0, 420.0, 660.0, 960.0]}, range(2, 7))
        for jobs in (6, 8) for load in (1.0, 2.0)
    ]  # fmt: skip
    yield "online/tiny-1", Made(
        "6 or 8 jobs of 2 to 16 minutes on 3 servers of 4 GPUs, at loads of 1 and 2: so few that"
        " problem (8) of a-srpt can be solved with the whole future known. Runs have slots of a"
        " minute; the best of such schedules is not always the best of all.",
        ["offline-ilp", "a-srpt", "a-srpt-perfect", "spjf", "wcs-subtime"], tiny,
        options={"slot": 60.0})  # fmt: skip
    packing = [
        Family({"nodes": nodes, **tasks}, range(2, 5))
        for nodes in (20, 100)
        for tasks in ({"requested": 0.95}, {"sharing": 1.0}, {"requested": 0.95, "several": 0.5},
                      {"requested": 0.95, "one_model": 0.5})
    ]  # fmt: skip
    yield "packing/mixed-1", Made(
        "Tasks that ask 95 to 130% of the GPUs of 20 or 100 unequal nodes: shares and whole GPUs"
        " mixed, shares alone, tasks of several GPUs, tasks that accept one model of GPUs only.",
        ["columns", "fgd", "best-fit", "random", "offline"], packing)  # fmt: skip


def features(problem: str, instance: Any) -> dict[str, float]:
    """What an instance is like, in a few numbers."""
    if problem == "placement":
        cluster, scaling = instance.cluster, instance.provenance["scaling"]
        return {
            "GPUs": instance.job.gpus,
            "stages": len(instance.job.stages),
            "Gbit/s": _digits(8e-9 * cluster.inter_bandwidth),
            "speed-up": _digits(scaling["speed_up"]),
        }
    if problem == "makespan":
        largest = max(instance.servers)
        return {
            "jobs": len(instance.jobs),
            "servers": len(instance.servers),
            "GPUs": instance.gpus,
            "jobs that must span": sum(job.gpus > largest for job in instance.jobs),
        }
    if problem == "speed-profile":
        fastest = instance.most_work / instance.speeds[-1]
        return {
            "speeds": len(instance.speeds),
            "deadline (s)": instance.deadline,
            "fastest (s)": _digits(fastest),
        }
    if problem == "packing":
        tasks = instance.tasks
        return {
            "nodes": len(instance.nodes),
            "GPUs": instance.gpus,
            "tasks": sum(task.count for task in tasks),
            "of them shares": sum(task.count for task in tasks if task.is_share),
        }
    if problem == "online":
        from optsched.online.data.jobs import prepare_jobs

        jobs = prepare_jobs(instance.workload, instance.catalogue, instance.cluster)
        return {
            "jobs": len(jobs),
            "servers": instance.cluster.servers,
            "load": _digits(jobs.load or 0.0),
            "jobs of one GPU": int((jobs.gpus == 1).sum()),
        }
    made = {
        "jobs": len(instance.jobs),
        "nodes": len(instance.nodes),
        "cost vectors": len({(n.gpu_type, n.cost_rate) for n in instance.nodes}),
    }
    if problem == "rolling":
        from optsched.rolling.metrics import offered_load

        made["load"] = _digits(offered_load(instance))
    return made


def _digits(value: float) -> float:
    return float(f"{value:.3g}")


def frozen(name: str, made: Made) -> dict[str, Any]:
    """The set's document, every instance made once."""
    rows: list[dict[str, Any]] = []
    for arguments, seeds in made.families:
        for seed in seeds:
            number = f"{len(rows) + 1:03d}"
            problem, short = name.split("/")
            instance = optsched.generate(problem, seed, name=f"{short}-{number}", **arguments)
            sha256 = instance_sha256(instance.to_dict())
            row = {"number": number, "seed": seed, "arguments": arguments, "sha256": sha256}
            rows.append({**row, "features": features(problem, instance)})
    for file in made.files:
        instance = optsched.load(file)
        sha256 = instance_sha256(instance.to_dict())
        row = {"number": f"{len(rows) + 1:03d}", "file": file, "sha256": sha256}
        rows.append({**row, "features": features("placement", instance)})
    head = {"schema": "optsched/library-set", "version": 1, "name": name}
    options = {"options": made.options} if made.options else {}
    return {**head, "why": made.why, "methods": made.methods, **options, "instances": rows}


def main(names: list[str]) -> int:
    """Freeze the sets named, or all; 1 if a frozen one would come out another."""
    changed = 0
    for name, made in (*placement_sets(), *makespan_sets(), *other_sets()):
        if names and name not in names:
            continue
        path, document = library_folder() / f"{name}.json", frozen(name, made)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, json_text(document) + "\n")
            print(f"{name}: {len(document['instances'])} instances frozen")
        elif read_document(path) != document:
            changed += 1
            print(f"{name}: this would come out another; make a set of the next number")
    return 1 if changed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
