"""The synthetic generator: equal seeds, the shape asked for, slices, a trace's shape matched."""

import hashlib
from typing import Any

import numpy as np
import pytest

import optsched
from optsched.errors import InputError
from optsched.generators.online import WorkloadShape, generate_workload, shape_of
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.configuration_draw import SLICED
from optsched.online.data.jobs import Jobs, prepare_jobs

CLUSTER = OnlineCluster.of(20)
FULL = pytest.mark.full


def made(shape: WorkloadShape, seed: int = 0, jobs: int = 3000) -> Jobs:
    workload, catalogue = generate_workload(jobs, CLUSTER, shape, seed=seed)
    return prepare_jobs(workload, catalogue, CLUSTER)


def test_equal_seeds_equal_workloads() -> None:
    first, second, other = (generate_workload(300, CLUSTER, seed=s) for s in (4, 4, 5))
    assert np.array_equal(first[0].submit_time, second[0].submit_time)
    assert first[0].model.text() == second[0].model.text()
    assert first[1] == second[1]
    assert not np.array_equal(first[0].submit_time, other[0].submit_time)


@pytest.mark.parametrize("load", [0.3, *(pytest.param(load, marks=FULL) for load in (0.8, 1.5))])
@pytest.mark.parametrize("share", [0.0, 0.7, pytest.param(1.0, marks=FULL)])
def test_load_and_single_gpu_share(load: float, share: float) -> None:
    jobs = made(WorkloadShape(load=load, single_gpu_share=share))
    assert jobs.load == pytest.approx(load, rel=1e-9)
    assert (jobs.gpus == 1).mean() == pytest.approx(share, abs=0.01)
    assert jobs.replaced == 0


def test_recurring_share() -> None:
    jobs = made(WorkloadShape(recurring_share=0.65))
    count = np.bincount(jobs.workload.group.codes)
    repeated = (count[jobs.workload.group.codes] >= 5).mean()
    assert 0.55 <= repeated <= 0.66


def test_a_shape_read_off_a_workload_is_matched() -> None:
    wanted = WorkloadShape(load=0.6, single_gpu_share=0.5, recurring_share=0.5, users=30,
                           sizes=(2, 8), size_weights=(0.5, 0.5), group_spread=0.4)  # fmt: skip
    jobs = made(wanted, seed=1, jobs=6000)
    read = shape_of(jobs.workload, jobs.iterations * jobs.estimate, CLUSTER)
    again = made(read, seed=2, jobs=6000)
    assert again.load == pytest.approx(0.6, rel=0.02)
    assert (again.gpus == 1).mean() == pytest.approx((jobs.gpus == 1).mean(), abs=0.02)
    assert set(np.unique(again.gpus)) == {1, 2, 8}
    assert read.recurring_share == pytest.approx(0.5, abs=0.08)
    lengths = [j.iterations * j.estimate for j in (jobs, again)]
    medians = [np.median(length) for length in lengths]
    assert medians[1] == pytest.approx(medians[0], rel=0.35)


@pytest.mark.parametrize(
    ("jobs", "shape"),
    [
        (10, {"load": 0.0}),
        (10, {"single_gpu_share": 1.1}),
        (10, {"sizes": (1, 2)}),
        (10, {"users": 0}),
        (10, {"small_groups": ()}),
        (10, {"small_groups": (0.0, 0.0)}),
        (10, {"small_groups": (-1.0, 2.0)}),
        (0, {}),
        (10**9, {}),
    ],
)
def test_what_is_refused(jobs: int, shape: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        generate_workload(jobs, CLUSTER, WorkloadShape(**shape))


@pytest.mark.parametrize("slices", [1, 2, 4, 8])
def test_jobs_of_a_multiple_are_sliced(slices: int) -> None:
    made = optsched.generate("online", seed=3, jobs=200, servers=16, slices=slices)
    jobs = prepare_jobs(made.workload, made.catalogue, made.cluster)
    several = 0
    for key, job in made.catalogue.models.items():
        sizes = {stage.tensor_parallel for stage in job.stages}
        whole = job.gpus > 1 and job.gpus % slices == 0
        assert sizes == {slices if whole else 1}, key
        assert not whole or job.model in SLICED
        several += whole
        sent = any(stage.tensor_bytes > 0 for stage in job.stages)
        assert sent == (whole and slices > 1)
    assert several > 2
    assert jobs.replaced == 0
    assert any(job.model == "Mixtral-8x7B" for job in made.catalogue.models.values()) or slices > 1


@pytest.mark.parametrize(("slices", "per_server"), [(3, 9), (8, 4), (4, 6), (-1, 8), (16, 16)])
def test_what_no_server_divides_into_is_refused(slices: int, per_server: int) -> None:
    with pytest.raises(InputError, match="slices"):
        optsched.generate("online", jobs=10, servers=8, gpus_per_server=per_server, slices=slices)


FROZEN = {
    (): "37bef4f9e38f39d0",
    (("small_groups", (1.0,)), ("recurring_share", 0.3)): "7a3d9a0b7128ab56",
    (("slices", 4), ("single_gpu_share", 0.2)): "20160427a990a056",
    (("sizes", (3, 6, 12)), ("size_weights", (1.0, 2.0, 1.0)), ("zipf", 0.5)): "026e5633392ad08c",
}
"""What is whole in workloads of 2,000 jobs, seed 11; times have last digits of numpy's own."""


@pytest.mark.parametrize("shape", FROZEN)
def test_what_a_seed_gives_is_frozen(shape: Any) -> None:
    workload, catalogue = generate_workload(2000, CLUSTER, WorkloadShape(**dict(shape)), seed=11)
    texts = (workload.user.text(), workload.group.text(), workload.model.text())
    whole = repr((workload.gpus.tolist(), *texts, sorted(catalogue.models)))
    assert hashlib.sha256(whole.encode()).hexdigest()[:16] == FROZEN[shape]
