"""Workloads of sliced jobs: what the generator draws, and what it refuses."""

import pytest

import optsched
from optsched.errors import InputError
from optsched.online.data.configuration_draw import SLICED
from optsched.online.data.jobs import prepare_jobs


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
