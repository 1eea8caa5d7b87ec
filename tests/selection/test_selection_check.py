"""The checker: sums of fractions, memory to the last bit, certificates.

Costs and every rule by hand stand in test_selection_values.py.
"""

import pytest
from oracles.selection_cases import document
from selection.small import at, solution

import optsched
from optsched import check, solve
from optsched.library.verify import verify
from optsched.selection.instance import SelectionInstance

JOB = {
    "due_date": 30.0,
    "tardiness_weight": 2.0,
    "memory_bytes": 4.0,
    "completed_epochs": 0,
    "epochs": {"values": [5, 10], "probabilities": [0.5, 0.5]},
    "epoch_time": {"A": [4.0, 3.0], "B": [8.0]},
}


def instance(**changes: object) -> SelectionInstance:
    types = {
        "A": {"memory_bytes": 40.0, "slowdown": {"0.1": 1.5, "0.15": 1.25, "0.50": 1.1}},
        "B": {"memory_bytes": 4.0, "slowdown": {}},
    }
    nodes = [
        {"name": "a", "gpu_type": "A", "gpus": 2, "cost_rate": [1.0, 1.5]},
        {"name": "b", "gpu_type": "B", "gpus": 1, "cost_rate": [0.25]},
    ]
    jobs = [{"name": "j0", **JOB}, {"name": "j1", **JOB}]
    made = document("hand", types, nodes, jobs, interval=100.0, postponement_penalty=10.0)
    return SelectionInstance.from_dict({**made, **changes})


def test_fractions_are_summed_as_rationals() -> None:
    jobs = [{"name": f"j{i}", **JOB} for i in range(8)]
    shares = [0.1, 0.1, 0.1, 0.15, 0.15, 0.15, 0.15, 0.1]  # 1 on paper
    placed = [at(f"j{i}", "a", 0, fraction=share) for i, share in enumerate(shares)]
    small = [{**job, "memory_bytes": 1.0} for job in jobs]
    assert sum(shares) > 1.0  # in binary
    assert check(instance(jobs=small), solution("hand", *placed)).feasible


def test_memory_is_compared_exactly() -> None:
    exact = [{"name": "j0", **JOB, "memory_bytes": 6.0}, {"name": "j1", **JOB}]  # 0.15 x 40 = 6
    placed = solution("hand", at("j0", "a", 0, fraction=0.15), at("j1", None))
    assert check(instance(jobs=exact), placed).feasible


def test_certificate_is_recomputed_and_refused_when_wrong() -> None:
    given = optsched.load("selection/10x40")
    solved = solve(given, "columns").solution
    assert check(given, solved).feasible
    prices = solved.certificate

    def with_certificate(**changes: object) -> set[str]:
        changed = solved.model_copy(update={"certificate": prices.model_copy(update=changes)})
        return {v.rule for v in check(given, changed).violations}

    assert with_certificate(bound=prices.bound * 1.01) == {"certificate"}
    assert with_certificate(jobs=prices.jobs[1:]) == {"certificate"}
    assert with_certificate(opening=1.0) == {"certificate"}
    negative = {name: tuple(-1.0 for _ in mu) for name, mu in prices.slots.items()}
    assert with_certificate(slots=negative) == {"certificate"}
    inflated = tuple(10 * price for price in prices.jobs)
    assert "certificate" in with_certificate(jobs=inflated)  # other prices prove less than claimed


def test_certificate_by_hand() -> None:
    # mu = 0, lam = 1000: lam'_0 is the least tardiness of a follower, 2 GPUs of A: 3 s an epoch,
    # 15 or 30 s, never late: 0, likewise lam'_1. A leader costs its energy, at least 22.5 s x 1.5
    # on two GPUs, 30 s x 1 on one: 30 $ on A; on B 60 $ late and 60 s x 0.25. Nothing is saved by
    # opening a node, so kappa = 0 and LB = 0.
    free = {"A": [0.0] * 5, "B": [0.0]}
    certificate = {"kind": "prices", "jobs": [1000.0, 1000.0]}
    assert verify(instance().to_dict(), {**certificate, "slots": free}) == 0
    # At 3 $ a slot of any kind lam' = 3. A leader alone on a GPU of A costs 10 + 30 - 3, more than
    # the packing beside it, at most 9 tenths x 3 and a GPU shared in tenths, 10 x 3, in a tenth
    # itself: 30 + 45 x 1.5 - 3 - 27 - 30 > 0. So no node saves, and LB = 6.
    cheap = {**certificate, "slots": {"A": [3.0] * 5, "B": [3.0]}}
    assert verify(instance().to_dict(), cheap) == pytest.approx(6.0)


def test_fractions_too_fine_are_refused_and_not_believed() -> None:
    slowdown = {f"0.0000{p}": 1.1 for p in (10001, 10007, 10009, 10037)}
    types = {
        "A": {"memory_bytes": 40.0, "slowdown": slowdown},
        "B": instance().to_dict()["gpu_types"]["B"],
    }
    jobs = [{"name": f"j{i}", **JOB, "memory_bytes": 1e-4} for i in range(2)]
    given = instance(jobs=jobs, gpu_types=types)
    prices = {"jobs": [1.0, 1.0], "slots": {"A": [0.0] * 6, "B": [0.0]}, "bound": 0.0}
    placed = solution("hand", at("j0", "a", 0), at("j1", "b", 0), certificate=prices)
    assert [v.where for v in check(given, placed).violations] == ["fractions too fine to check"]
