"""(19) and (20) of sts as printed, as options: exact methods against enumeration."""

import math

import pytest
from oracles.selection import Oracle, Placement
from oracles.selection_cases import tiny
from sampling import first

import optsched
from optsched.library.verify import verify
from optsched.selection.instance import SelectionInstance

ROOM = "models/selection/tiny.json"
AS_PRINTED = [("printed", "repaired"), ("expected", "printed"), ("printed", "printed")]


def late(seed: int) -> SelectionInstance:
    """A small instance in which a third of the jobs is overdue and the others can hardly end."""
    document = tiny(seed).to_dict()
    for number, job in enumerate(document["jobs"]):
        due = job["due_date"] - document["now"]
        job["due_date"] = document["now"] + (-0.3 * abs(due) if number % 3 == 0 else 0.4 * due)
    return SelectionInstance.from_dict(document)


class PrintedOracle(Oracle):
    """Costs with one tau_j for the expected time (19), and tau_bar_j of placed jobs (20)."""

    def __init__(self, instance: dict, tardiness: str, postponement: str) -> None:
        super().__init__(instance)
        self.tardiness, self.postponement = tardiness, postponement

    def late_cost(self, job: int, place: Placement) -> float:
        late = super().late_cost(job, place)
        weight = self.jobs[job]["tardiness_weight"]
        if self.tardiness == "printed":
            late = weight * max(0.0, self.expected_time(job, place) - self.due(job))
        if self.postponement == "printed":  # the least tau_bar_j with -d_j <= tau_bar_j
            late += weight * self.instance["postponement_penalty"] * max(0.0, -self.due(job))
        return late


@pytest.mark.parametrize("seeds", first(1, [[0, 3, 4, 9], [*range(10)]]))
@pytest.mark.parametrize(("tardiness", "postponement"), AS_PRINTED)
def test_exact_methods_equal_enumeration(
    tardiness: str, postponement: str, seeds: list[int]
) -> None:
    options = {"tardiness": tardiness, "postponement": postponement}
    changed = 0
    for seed in seeds:
        instance = late(seed)
        optimum = PrintedOracle(instance.to_dict(), tardiness, postponement).optimum()
        changed += not math.isclose(optimum, Oracle(instance.to_dict()).optimum(), rel_tol=1e-6)
        for method in ("milp", "columns", "patterns"):
            result = optsched.solve(instance, method, options=options)
            assert result.objective == pytest.approx(optimum, rel=1e-6), (seed, method)
            assert optsched.check(instance, result.solution, options).feasible
        for method in ("sts", "edf", "dp"):
            result = optsched.solve(instance, method, options=options)
            assert result.bound <= optimum * (1 + 1e-6) <= result.objective * (1 + 2e-6)
    assert changed >= 2


def test_certificates_prove_the_reading_that_they_were_made_for() -> None:
    for tardiness, postponement in AS_PRINTED:
        options = {"tardiness": tardiness, "postponement": postponement}
        instance = late(3)
        document = instance.to_dict()
        optimum = PrintedOracle(document, tardiness, postponement).optimum()
        prices = optsched.solve(instance, "columns", options=options).solution.certificate
        certificate = {"kind": "prices", **prices.model_dump(mode="json")}
        bound = verify(document, certificate, options)
        assert bound == pytest.approx(prices.bound)
        assert 0 < bound <= optimum * (1 + 1e-9)


@pytest.mark.parametrize(
    ("options", "dollars"),
    [({"tardiness": "printed"}, 23.0), ({"postponement": "printed"}, 58.0)],
)
def test_tiny_instance_by_hand(options: dict, dollars: float) -> None:
    """j1's long run is late at no cost (19); overdue j3 pays rho eta 6 s although it runs (20)."""
    for method in ("minlp", "milp"):
        assert optsched.solve(ROOM, method, options=options).objective == pytest.approx(dollars)
