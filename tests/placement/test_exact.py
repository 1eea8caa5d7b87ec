"""Which method `exact` picks, what each refuses, and instances beyond brute force."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from placement.by_hand import BOTTLENECK, OWN
from placement.jobs import made
from sampling import first

import optsched
from optsched.errors import NotApplicableError
from optsched.generators.placement import generate_placement
from optsched.placement.instance import PlacementInstance
from optsched.profiles import Training
from optsched.result import Termination

ANY = Training("global", oversized=True)


@pytest.mark.parametrize(
    ("gpus", "options", "method"),
    [(32, OWN, "repartition"), (16, OWN, "columns"), (16, BOTTLENECK, "ilp")],
)
def test_bounds_first_then_columns_or_the_model(
    gpus: int, options: dict[str, str], method: str
) -> None:
    result = optsched.solve(f"placement/vgg19-{gpus}", options=options)
    assert (result.chosen, result.termination) == (method, Termination.OPTIMAL)
    assert method != "repartition" or "bound" in result.bound_source


@pytest.mark.parametrize("model", ["VGG19", "Inception-V3", "XLNet-large"])
@pytest.mark.parametrize("seed", first(1, range(3)))
def test_exact_methods_agree_on_zoo_jobs(model: str, seed: int) -> None:
    instance = generate_placement(model, 32, stages=4, training=ANY, seed=seed)
    best = optsched.solve(instance, "ilp", gap=0.0)
    assert best.solver == "highs"
    for result in (best, *(optsched.solve(instance, m, gap=0.0) for m in ("columns", "exact"))):
        assert result.termination is Termination.OPTIMAL
        assert result.objective == pytest.approx(best.objective, rel=1e-9)
    assert best.objective <= optsched.solve(instance, "repartition").objective * (1 + 1e-12)


def test_a_model_proves_at_gap_zero_what_its_solver_can_tell_apart() -> None:
    """HiGHS, at 1e-9 a row, leaves a bound 1.03e-9 below the optimum here: that is optimal."""
    stages = [
        {"replicas": 4, "forward_time": 0.002967281446853913, "backward_time": 0.027472142440659014,
         "output_bytes": 1479321.4980182655, "parameter_bytes": 31830428.364337057},
        {"replicas": 6, "forward_time": 0.01945067217745695, "backward_time": 0.038815087070317424,
         "input_bytes": 986214.7264979098, "output_bytes": 4921711.5778144365,
         "parameter_bytes": 1221422.7009804389},
        {"replicas": 8, "forward_time": 0.010354548501682303, "backward_time": 0.005941865034871255,
         "input_bytes": 3691283.6833608276, "parameter_bytes": 19168806.630730387},
    ]  # fmt: skip
    bandwidths = {"inter": 2671438333.9145827, "intra": 46343296895.73976}
    instance = made([3, 9, 6], stages, gpus=9, kind="double-tree", **bandwidths)
    result = optsched.solve(instance, "ilp", options=BOTTLENECK, gap=0.0)
    assert result.termination is Termination.OPTIMAL
    assert result.objective == pytest.approx(0.09489964939487441, rel=1e-9)


def test_columns_go_on_where_the_model_leaves_a_gap() -> None:
    """Links slow enough that HiGHS's model is exact to 5e-8 only; a gap of 0 is asked."""
    sent = {"replicas": 4, "output_bytes": 3.909042777824934e-06, "backward_time": 1.7e7}
    received = {"replicas": 6, "input_bytes": 2.6060285185499556e-06, "backward_time": 520.7}
    received["parameter_bytes"] = 63.87758812060876
    instance = made([2, 2, 4, 2], [sent, received], gpus=4, inter=9.187035573769161e-09, intra=5e8)
    by_model = optsched.solve(instance, "ilp", options=BOTTLENECK, gap=0.0)
    result = optsched.solve(instance, "exact", options=BOTTLENECK, gap=0.0)
    assert not by_model.proved
    assert (result.chosen, result.proved) == ("columns", True)


@pytest.mark.parametrize("method", ["ilp", "columns"])
def test_models_with_savings_refuse_a_slow_link_inside(method: str) -> None:
    """A NIC faster than the link inside: neighbours near cost time."""
    bandwidths = {"inter_bandwidth": 1e12, "intra_bandwidth": 1e9}
    slow_inside = optsched.load("placement/fig2").with_(cluster=bandwidths)
    with pytest.raises(NotApplicableError, match=f"{method}.*B_intra"):
        optsched.solve(slow_inside, method)


def wide(gpus_per_server: int, replicas: int, stages: int) -> PlacementInstance:
    """Servers of very many GPUs: legal files that no table of counts may be built for."""
    full, rest = divmod(replicas * stages, gpus_per_server)
    free = [gpus_per_server] * full + ([rest] if rest else [])
    several = [
        {
            "replicas": replicas,
            "forward_time": 0.1 + 0.01 * s,
            "backward_time": 0.2,
            "input_bytes": 1e6 * s,
            "output_bytes": 0 if s == stages - 1 else 1e6 * (s + 1),
            "parameter_bytes": 1e8 / (s + 1),
        }
        for s in range(stages)
    ]
    return made(free, several, gpus=gpus_per_server)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="address-space limit: Linux only")
@pytest.mark.parametrize(
    ("gpus", "replicas", "stages"),
    first(1, [(1024, 1024, 1), (256, 200, 10), (8, 8, 400), (1, 1, 1000)]),
)
def test_extremes_stay_in_memory(gpus: int, replicas: int, stages: int, tmp_path: Path) -> None:
    """4 GB of address space hold every method's tables; `exact` answers with what is proved."""
    path = tmp_path / "wide.json"
    path.write_text(json.dumps(wide(gpus, replicas, stages).to_dict()))
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30));"
        "from optsched.cli import _code;"
        "sys.exit(max(_code(['solve', sys.argv[1], '--json', '--time-limit', '2', '--method', m])"
        " for m in ('heavy-edge', 'repartition', 'exact')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads("[" + done.stdout.replace("}\n{", "},{") + "]")
    assert all(row["check"]["feasible"] for row in rows)
    assert rows[2]["bound"] >= rows[0]["bound"] * (1 - 1e-12)
    assert rows[2]["objective"] <= rows[1]["objective"] * (1 + 1e-12)


def test_exact_keeps_what_is_known_when_time_is_up() -> None:
    """A NIC faster than the link inside leaves only the vertex model for many states."""
    document = generate_placement("GPT-175B", 32, stages=32, training=ANY).to_dict()
    document["cluster"]["inter_bandwidth"] = 1e14
    instance = PlacementInstance.from_dict(document)
    result = optsched.solve(instance, time_limit=0.0, gap=0.0)
    known = optsched.solve(instance, "repartition")
    assert result.objective <= known.objective * (1 + 1e-12)
    assert result.bound >= known.bound * (1 - 1e-12)


def test_a_link_a_hundred_million_times_faster_inside() -> None:
    """base - a u - b w cancels there; bounds stay below what the checker computes."""
    document = optsched.load("placement/vgg19-16").to_dict()
    document["cluster"].update(inter_bandwidth=1e3, intra_bandwidth=1e13)
    instance = PlacementInstance.from_dict(document)
    for method in ("heavy-edge", "repartition", "exact"):
        result = optsched.solve(instance, method, options={"backward_overlap": 0})
        assert result.check.feasible, (method, result.check.violations)
        assert result.bound <= result.objective
