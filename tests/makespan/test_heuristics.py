"""Heuristics: always checked, repeatable, as good as they say."""

from pathlib import Path

import numpy as np
import pytest
from commands import printed
from makespan.small import unit_jobs
from sampling import first

import optsched
from optsched.errors import InputError
from optsched.generators.makespan import ZOO_MODELS, generate_makespan
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.contention import evaluate
from optsched.makespan.explain import explain
from optsched.makespan.heuristics.list_scheduling import ListScheduler, longest_order
from optsched.makespan.heuristics.sjf_bco import PACKING, Simulator, distinct_kappas
from optsched.makespan.instance import MakespanInstance, iteration_time
from optsched.makespan.options import MakespanOptions
from optsched.result import Result
from optsched.zoo import profile_model

STRONG = pytest.mark.parametrize(
    "name", first(1, ["makespan/mixed-24x8-strong", "makespan/paper-160x20-strong"])
)


def run(name: str, method: str, **settings: object) -> Result:
    result = optsched.solve(name, method, **{"iterations": 3000, **settings})  # type: ignore[arg-type]
    assert result.check.feasible
    return result


@pytest.mark.parametrize(
    "name", first(2, ["continuous-12x3", "uniform-10x4-strong", "paper-160x20-strong"])
)
@pytest.mark.parametrize("method", ["local-search", "nested"])
def test_searches_are_never_worse_than_longest_first(name: str, method: str) -> None:
    start = run(f"makespan/{name}", "longest-first").objective
    assert run(f"makespan/{name}", method).objective <= start


@STRONG
def test_the_best_kappa_is_found_among_all(name: str) -> None:
    kappas = distinct_kappas(optsched.load(name))
    each = [run(name, "sjf-bco", options={"kappa": kappa}).objective for kappa in kappas]
    # Trying all kappa under one search for theta sees other thetas than each kappa alone.
    assert run(name, "sjf-bco").objective <= max(v for v in each if v is not None)
    assert run(name, "sjf-bco", options={"lambda": 8}).objective is not None


@STRONG
def test_baselines_take_the_order_asked(name: str) -> None:
    arrival, smallest = (
        run(name, "first-fit", options={"order": order}).solution
        for order in ("arrival", "smallest-first")
    )
    assert arrival.jobs != smallest.jobs


@pytest.mark.parametrize(
    "options",
    [{"kappa": "x"}, {"lambda": 0.5}, {"order": "longest"}, {"theta": 3}, {"kappa": True}],
)
def test_bad_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InputError):
        MakespanOptions.from_dict(options)


def test_theorem_5_is_false_on_its_erratum() -> None:
    """Every factor of n_g phi u / l is 1 where SJF-BCO takes half as long again as the optimum."""
    instance = optsched.load("makespan/theorem5-2x1")
    durations = durations_of(instance)
    assert max(job.gpus for job in instance.jobs) == 1
    assert len({iteration_time(instance, job, 1, 0) for job in instance.jobs}) == 1
    assert durations.inside.tolist() == durations.estimate.tolist() == [1, 1, 2]
    greedy = run("makespan/theorem5-2x1", "sjf-bco")
    assert greedy.objective == 3
    assert optsched.solve(instance).objective == 2
    found = explain(instance, greedy.solution, MakespanOptions())
    assert not [key for key in found.to_dict() if "theorem" in key or "ratio" in key]
    assert "Theorem" not in found.table()[3]


def test_explained_slots_add_up() -> None:
    instance = optsched.load("makespan/contended-3x3")
    result = optsched.solve(instance)
    found = explain(instance, result.solution, MakespanOptions())
    assert found.makespan == result.objective
    for row in found.rows:
        assert row.end - row.start == pytest.approx(row.alone + row.contention)
        assert row.contention >= 0
        assert row.spread >= 0
    assert found.to_dict()["bottleneck"] == found.bottleneck.name


def short_of_links(seed: int) -> MakespanInstance:
    """Every job is larger than a server, and two on a link are a third slower than one."""
    return generate_makespan(
        40, 8, contention="strong", server_sizes=(8,), sizes=tuple(range(9, 17)), seed=seed
    )


@pytest.mark.parametrize("limit", [0, 1, 2, 3])
@pytest.mark.parametrize("shares", [False, True])
def test_a_limit_is_kept_while_a_job_runs(limit: int, shares: bool) -> None:
    instance = short_of_links(0)
    scheduler, order = ListScheduler(instance), longest_order(instance)
    limits = np.full(len(order), limit)
    scheduler.run(order, scheduler.rules(link_limit=limits, shares=shares))
    found = evaluate(instance, scheduler.schedule())
    assert found.fits
    servers = (found.placed_matrix > 0).sum(axis=1)
    if limit:
        assert min(limit, 2) <= found.levels.max() <= limit
        assert (servers == 2).all()
    else:
        assert found.levels.max() > 2 or servers.max() > 2


def test_a_patient_job_keeps_others_off_its_links() -> None:
    """The first job has a limit of one, the others none: none of them comes beside it."""
    instance = short_of_links(1)
    scheduler, order = ListScheduler(instance), longest_order(instance)
    limit = np.zeros(len(order), dtype=np.int64)
    limit[order[:3]] = 1
    scheduler.run(order, scheduler.rules(link_limit=limit))
    levels = evaluate(instance, scheduler.schedule()).levels.max(axis=0)
    assert (levels[order[:3]] == 1).all()
    assert levels.max() > 2


@pytest.mark.parametrize("seed", first(1, range(3)))
def test_where_jobs_must_span_the_search_looks_after_links(seed: int) -> None:
    instance = short_of_links(seed)
    found = optsched.solve(instance, "local-search", iterations=300)
    assert found.bound_source == "contention bound"
    assert found.excess < 0.05


@pytest.mark.parametrize(("packing", "server"), [("least-used", 1), ("occupied", 0)])
def test_a_small_job_joins_servers_in_use_only_if_asked(packing: str, server: int) -> None:
    """At 4 job 0 holds GPU 0; GPU 1, beside it, has worked 4 slots, GPUs 2 and 3 have worked 2."""
    simulator = Simulator(unit_jobs([2, 2], [(1, 9), (1, 3), (2, 1), (3, 1), (1, 1)]))
    _, schedule = simulator.run(np.arange(5), PACKING[packing], theta=40)
    assert (schedule.starts[4], schedule.placed[4]) == (4, {server: 1})


def test_sjf_bco_states_lemma_3() -> None:
    """Jobs of 2 GPUs, 3 and 2 slots, on 2 GPUs; the first theta that the bisection tries is 20."""
    details = optsched.solve(unit_jobs([2], [(2, 3), (2, 2)]), "sjf-bco").details
    assert (details["theta"], details["lemma_3"]["makespan"]) == (20, 5)
    assert (details["lemma_3"]["limit"], details["lemma_3"]["holds"]) == (40, True)


@pytest.mark.parametrize("zoo", [False, True])
def test_jobs_of_a_trace(zoo: bool, tmp_path: Path) -> None:
    """The first two of at most 8 GPUs, in order of submission; fractions are whole GPUs."""
    trace = tmp_path / "trace.csv"
    trace.write_text("submit_time,gpus\n30,2\n10,0.5\n20,16\n40,8\n")
    arguments = ["--trace", str(trace), "--jobs", "2", "--largest-job", "8", "--servers", "2"]
    printed("generate makespan", *arguments, *(["--zoo"] if zoo else []), "-o", tmp_path)
    (path,) = tmp_path.glob("*.json")
    jobs = optsched.load(path).jobs
    assert [job.gpus for job in jobs] == [1, 2]
    layers = [profile_model(model).layers for model in ZOO_MODELS]
    sizes = {sum(layer.parameter_bytes for layer in each) for each in layers}
    assert {job.gradient_bytes in sizes for job in jobs} == {zoo}
    if zoo:
        job = jobs[0]
        seconds = job.batch_size * job.forward_time_per_sample + job.backward_time
        assert 49 < job.iterations * seconds < 301
