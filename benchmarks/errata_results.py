"""What the slips on docs/errata.md do: each result as printed and as corrected; see errata.py."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from printed_selection import printed_optimum

import optsched
from optsched.makespan.instance import (
    MakespanInstance,
    bandwidth,
    iteration_time,
    iterations_per_slot,
)
from optsched.makespan.solution import MakespanSolution
from optsched.placement.instance import PlacementInstance
from optsched.placement.solution import PlacementSolution
from optsched.speed_profile.instance import SpeedProfileInstance

MODELS = Path(__file__).resolve().parent.parent / "models"


# a-srpt


def placement() -> PlacementInstance:
    """The worked example of models/placement: stages A (3 replicas) and B (2) on 2, 2, 1 GPUs."""
    found: Any = optsched.load(MODELS / "placement" / "tiny.json")
    return found


def alpha(counts: list[list[int]], **options: str) -> float:
    """Milliseconds of an iteration, by the checker."""
    solution = PlacementSolution.of("tiny", counts)
    found = optsched.check(placement(), solution, options).objective
    assert found is not None
    return 1e3 * found


BEST = [[2, 1, 0], [0, 1, 1]]
"""The optimum of the worked example, stages x servers."""


def communication() -> tuple[str, str]:
    """(5) of stage A on server 2, beside one of B."""
    instance = placement()
    a, b, cluster = *instance.job.stages, instance.cluster
    outside = 2 * a.output_bytes * (b.replicas - 1) / b.replicas
    inside = 2 * a.output_bytes / b.replicas
    share = cluster.inter_bandwidth / cluster.gpus_per_server
    printed = outside / (share + inside / cluster.intra_bandwidth)
    explained: Any = optsched.explain(instance, PlacementSolution.of("tiny", BEST))
    row = next(r for r in explained.rows if (r.stage, r.server) == (0, 1))
    return f"{1e3 * printed:g} ms", f"{1e3 * (row.inter_server + row.intra_server):g} ms"


def all_reduce() -> tuple[str, str]:
    """(6) by the formula and by the text under it."""
    own, least = alpha(BEST), alpha(BEST, all_reduce_bandwidth="bottleneck")
    return f"{own:g} ms by the formula", f"{least:g} ms by its text"


def pair_weights() -> tuple[str, str]:
    """Bytes of all pairs of A and B in the job graph."""
    a, b = placement().job.stages
    pairs = a.replicas * b.replicas
    printed = pairs * 2 * a.output_bytes / a.replicas
    true = pairs * 2 * b.input_bytes / a.replicas
    return f"{1e-6 * printed:g} MB in all", f"{1e-6 * true:g} MB, what A sends, there and back"


def minimum_cut() -> tuple[str, str]:
    """The iteration time of a minimum cut, and the least."""
    cut, best = (optsched.solve(placement(), method).objective for method in ("min-cut", "exact"))
    assert cut is not None
    assert best is not None
    return f"{1e3 * cut:g} ms", f"{1e3 * best:g} ms"


def fewest_servers() -> tuple[str, str]:
    """One stage of 12 replicas on 8 + 4 and on 6 + 6 GPUs."""

    def seconds(free: list[int]) -> float:
        stage = {
            "name": "s",
            "replicas": 12,
            "forward_time": 0.03,
            "backward_time": 0.06,
            "input_bytes": 0,
            "output_bytes": 0,
            "parameter_bytes": 2e8,
        }
        document = {
            **placement().to_dict(),
            "free_gpus": free,
            "cluster": {"gpus_per_server": 8, "inter_bandwidth": 1.25e9, "intra_bandwidth": 3e11},
            "job": {"model": "m", "all_reduce": "ring", "stages": [stage]},
        }
        found = optsched.solve(PlacementInstance.from_dict(document), "heavy-edge").objective
        assert found is not None
        return found

    return f"{seconds([8, 4]):.3f} s on 8 + 4", f"{seconds([6, 6]):.3f} s on 6 + 6"


# sjf-bco


def makespan(name: str = "tiny") -> MakespanInstance:
    """The worked example of models/makespan, or a shipped instance."""
    found: Any = optsched.load(MODELS / "makespan" / "tiny.json" if name == "tiny" else name)
    return found


def changed(instance: MakespanInstance, **fields: Any) -> MakespanInstance:
    """The same with other fields."""
    return MakespanInstance.from_dict({**instance.to_dict(), **fields})


def lone_job() -> tuple[str, str]:
    """The bandwidth of a job alone on its links, xi_1 = 0.5 and a = 0.2."""
    network = makespan().network.model_copy(update={"contention_share": 0.5, "degradation": 0.2})
    k = network.contention_share
    printed = 1 / (k + network.degradation * (k - 1))
    corrected = bandwidth(network, 2, 1) / network.inter_bandwidth
    return f"{printed:g} times the link's", f"{corrected:g} times"


def overhead() -> tuple[str, str]:
    """Iterations a slot of job a alone on two servers."""
    instance = makespan()
    job, network = instance.jobs[0], instance.network
    others = iteration_time(instance, job, 2, 1) - 2 * network.overhead_per_server
    printed = others + network.contention_share * 2  # gamma = xi_2 x servers, "xi_1 = xi_2"
    whole = int(instance.slot / printed)
    return (
        f"{printed:.3g} s an iteration: {whole} a slot",
        f"{iteration_time(instance, job, 2, 1):.3g} s: "
        f"{iterations_per_slot(instance, job, 2, 1):g} a slot",
    )


def positive_workers() -> tuple[str, str]:
    """A job of one worker on three servers."""
    job = {**makespan().to_dict()["jobs"][0], "gpus": 1}
    found = optsched.solve(changed(makespan(), jobs=[job])).objective
    return "no schedule: it would need 3 workers", f"{found:g} slots in one server"


def frozen_ends() -> tuple[str, str]:
    """A job c of 4 workers that starts when a, whose end was fixed at its start, has "ended"."""
    first = makespan().to_dict()["jobs"]
    third = {**first[0], "name": "c", "gpus": 4, "iterations": 2}
    instance = changed(makespan(), jobs=[*first, third])
    a = {"name": "a", "start": 0, "gpus": {"0": 2, "1": 1}}
    b = {"name": "b", "start": 0, "gpus": {"1": 1, "2": 2}}
    c = {"name": "c", "start": 3, "gpus": {"0": 2, "1": 2}}  # a alone would take 12/4 = 3 slots
    solution = MakespanSolution.from_dict(
        {
            "schema": "optsched/makespan-solution",
            "version": 1,
            "instance": "tiny",
            "jobs": [a, b, c],
        }
    )
    (broken, *_) = optsched.check(instance, solution).violations
    end = next(row.end for row in optsched.explain(makespan(), _together()).rows if row.name == "a")
    return f"a ends at 3, c starts: {broken.where} over by {broken.amount:g}", f"a ends at {end:g}"


def _together() -> MakespanSolution:
    jobs = [
        {"name": "a", "start": 0, "gpus": {"0": 2, "1": 1}},
        {"name": "b", "start": 0, "gpus": {"1": 1, "2": 2}},
    ]
    head = {"schema": "optsched/makespan-solution", "version": 1, "instance": "tiny"}
    return MakespanSolution.from_dict({**head, "jobs": jobs})


def partial_schedule() -> tuple[str, str]:
    """theta = 2 leaves the third job of Theorem 5's instance out."""
    instance = makespan("makespan/theorem5-2x1")
    fitting = changed(instance, jobs=instance.to_dict()["jobs"][:2])
    left_out = optsched.solve(fitting, "sjf-bco").objective
    whole = optsched.solve(instance, "sjf-bco").objective
    return f"{left_out:g} slot, without job-3", f"{whole:g} slots, all jobs"


def theorem_five() -> tuple[str, str]:
    """SJF-BCO where n_g = phi = u/l = 1, and the optimum."""
    instance = makespan("makespan/theorem5-2x1")
    found, best = (optsched.solve(instance, method).objective for method in ("sjf-bco", "exact"))
    return f"{best:g} slots: 1 times the optimum", f"{found:g} slots, the optimum is {best:g}"


# sts


def selection(erratum: str) -> Callable[[], tuple[str, str]]:
    """The optimum of models/selection/tiny.json with one equation as printed."""

    def results() -> tuple[str, str]:
        path = str(MODELS / "selection" / "tiny.json")
        printed, corrected = printed_optimum(path, erratum), printed_optimum(path, "none")
        said = "infeasible" if printed is None else f"{printed:.6g} $"
        return said, f"{corrected:.6g} $"

    return results


def algorithm_1(name: str) -> Callable[[], tuple[str, str]]:
    """Algorithm 1 as printed, and the optimum."""

    def results() -> tuple[str, str]:
        instance: Any = optsched.load(f"speed-profile/{name}")
        printed = optsched.solve(instance, "dichotomy", options={"algorithm": "printed"})
        best = optsched.solve(instance).objective
        if printed.objective is None:
            message = str(printed.details["message"])
            return message.partition(": ")[2], f"{best:.6g} J"
        return f"{printed.objective:.6g} J", f"{best:.6g} J"

    return results


def rearranged() -> tuple[str, str]:
    """(26) on y_1 = 4 with speeds 1 and 2 and w^max = 10, against (25)."""
    speeds, change, most = (1.0, 2.0), 4.0, 10.0
    printed = most / speeds[1] + change * speeds[0]
    corrected = most / speeds[1] + change * (1 / speeds[0] - 1 / speeds[1])
    by_25 = change / speeds[0] + (most - change) / speeds[1]
    assert corrected == by_25
    return f"{printed:g} s", f"{corrected:g} s, as (25)"


def started() -> tuple[str, str]:
    """(26) with 2 of the epochs done."""
    instance = SpeedProfileInstance.from_dict(
        {
            "schema": "optsched/speed-profile",
            "version": 1,
            "name": "started",
            "speeds": [1.0, 2.0],
            "power": [1.0, 4.0],
            "deadline": 5.0,
            "completed": 2.0,
            "work": {"values": [10.0], "probabilities": [1.0]},
        }
    )
    solution: Any = optsched.solve(instance).solution
    change = next(piece.to for piece in solution.pieces if piece.speed == 0)
    printed = 10 / 2 + change * (1 - 1 / 2)
    return f"{printed:g} s for a profile of 5 s", f"{printed - 2 / 1:g} s"
