"""Small random online cases full of ties: what both simulators are fed."""

from contextlib import suppress

import numpy as np

from optsched.errors import InputError
from optsched.online.data.catalogue import Catalogue
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.configurations import prepare_configurations
from optsched.online.data.jobs import Jobs, prepare_jobs
from optsched.online.data.workload import Workload
from optsched.placement.instance import Job, Stage
from oracles.online import Simulation, min_total_flow

VOLUMES = (0.0, 1e5, 1e7, 2e8)
LARGE_VOLUMES = (1e8, 5e8, 1e9)


def random_job(
    rng: np.random.Generator, gpus: int, name: str, volumes_of: tuple[float, ...] = VOLUMES
) -> Job:
    """A job of `gpus` replicas in random stages; sizes from light to heavy communication."""
    cuts = np.sort(rng.choice(np.arange(1, gpus), min(gpus - 1, int(rng.integers(0, 4))), False))
    replicas = np.diff(np.concatenate(([0], cuts, [gpus]))).tolist()
    scale = float(rng.choice(volumes_of))
    volumes = [scale * float(rng.integers(1, 4)) for _ in replicas[1:]]
    stages = []
    for s, count in enumerate(replicas):
        stages.append(
            Stage(
                name=f"s{s}",
                replicas=count,
                forward_time=float(rng.integers(1, 5)) / 16,
                backward_time=float(rng.integers(0, 5)) / 16,
                input_bytes=volumes[s - 1] / count if s else 0,
                output_bytes=volumes[s] / count if s + 1 < len(replicas) else 0,
                parameter_bytes=float(rng.choice([0.0, 1e6, 1e8])),
            )
        )
    kind = "ring" if rng.random() < 0.7 else "double-tree"
    return Job(model=name, all_reduce=kind, stages=tuple(stages))


def sliced_job(rng: np.random.Generator, gpus: int, name: str) -> Job:
    """A job of about so many GPUs, some of its replicas sliced, with experts or micro-batches."""
    job = random_job(rng, gpus, name, LARGE_VOLUMES if rng.random() < 0.5 else VOLUMES)
    stages = [
        stage.model_copy(
            update={
                "tensor_parallel": int(rng.choice([1, 1, 2, 2, 3, 4])),
                "tensor_bytes": float(rng.choice([0.0, 1e8])),
                "expert_bytes": float(rng.choice([0.0, 0.0, 1e7, 5e8])),
            }
        )
        for stage in job.stages
    ]
    batches = None if rng.random() < 0.5 else int(rng.choice([1, 2, 8]))
    return job.model_copy(update={"stages": tuple(stages), "micro_batches": batches})


def sliced_jobs(rng: np.random.Generator, cluster: OnlineCluster, count: int) -> dict[str, Job]:
    models: dict[str, Job] = {}
    while len(models) < count:
        name = f"m{len(models)}"
        fewest = min(2, cluster.gpus)
        job = sliced_job(rng, int(rng.integers(fewest, cluster.gpus_per_server + 2)), name)
        if job.gpus <= cluster.gpus:
            with suppress(InputError):
                prepare_configurations([job], cluster)
                models[name] = job
    return models


def random_case(
    seed: int, jobs: tuple[int, int] = (30, 200), *, delays: bool = False, sliced: bool = False
) -> tuple[Jobs, np.ndarray]:
    """Jobs on a small cluster, and mispredicted iterations; the largest job fills the cluster.

    With `sliced` replicas take several GPUs of one server, so that free GPUs may be of no use.
    With `delays` most jobs of several GPUs communicate much and few wait for GPUs, so that a-srpt
    refuses offers, waits, and sees windows end.
    """
    rng = np.random.default_rng(seed)
    per_server = int(rng.choice([2, 4, 8] if delays else [1, 2, 4, 8]))
    cluster = OnlineCluster.of(int(rng.integers(3 if delays else 1, 7)), per_server, 1.25e9, 3e11)
    sizes = sorted({1, 2, 3, per_server, per_server + 1, cluster.gpus, cluster.gpus // 2 + 1})
    sizes = [size for size in sizes if size <= cluster.gpus]
    if delays:
        sizes = [*range(2, per_server + 1), per_server + 2]
    models = {}
    for number in range(int(rng.integers(2, 9))):
        gpus = int(rng.choice(sizes))
        volumes = LARGE_VOLUMES if delays else VOLUMES
        models[f"m{number}"] = random_job(rng, gpus, f"m{number}", volumes)
    if sliced:
        models = sliced_jobs(rng, cluster, len(models))
    models["all"] = random_job(rng, cluster.gpus, "all")
    models["one"] = random_job(rng, 1, "one")
    count = int(rng.integers(*jobs, endpoint=True))
    keys = list(models)
    share = np.array([1.0] * (len(keys) - 2) + [0.15, 3.0])
    drawn = rng.choice(len(keys), count, p=share / share.sum())
    gpus = [models[keys[k]].gpus for k in drawn]
    grid = float(rng.choice([1.0, 7.0, 60.0]))  # whole seconds: many equal times
    submit = rng.integers(0, 1 + count // 2, count) * grid
    if rng.random() < 0.1:
        submit[:] = 5.0
    iterations = rng.integers(1, 40, count).astype(float)
    if rng.random() < 0.5:
        iterations = iterations * rng.lognormal(0.0, 1.0, count)
    if delays:  # a load of about 0.5 to 1.5 at some 0.3 s an iteration
        span = 0.3 * float((np.array(gpus) * iterations).sum()) / cluster.gpus
        submit = np.round(rng.random(count) * span / rng.uniform(0.5, 1.5))
    predicted = iterations * rng.choice([0.0, 0.5, 1.0, 1.0, 1.0, 2.0, 10.0], count)
    workload = Workload.of(
        submit_time=submit.tolist(),
        gpus=gpus,
        iterations=iterations.tolist(),
        model=[keys[k] for k in drawn],
    )
    prepared = prepare_jobs(workload, Catalogue.of(models), cluster)
    order = np.argsort(submit, kind="stable")
    return prepared, predicted[order]


def min_total_flow_of(jobs: Jobs) -> float:
    configurations = enumerate(jobs.configurations.jobs)
    models = {
        str(at): job.model_dump(mode="json", exclude_unset=True) for at, job in configurations
    }
    rows = [
        {
            "job_id": str(row),
            "submit_time": float(jobs.submit[row]),
            "gpus": int(jobs.gpus[row]),
            "iterations": float(jobs.iterations[row]),
            "model": str(jobs.configuration[row]),
        }
        for row in range(len(jobs))
    ]
    return min_total_flow(Simulation(rows, {"models": models}, jobs.cluster.to_dict(), "spjf"))
