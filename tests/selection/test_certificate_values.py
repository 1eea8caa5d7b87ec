"""Price certificates by hand: what they prove, what is refused, and by how much they miss."""

import pytest
from oracles.selection_cases import document
from selection.small import at, solution

from optsched.checking import BOUND_TOLERANCE, CLAIM_TOLERANCE
from optsched.library.verify import RefusedError, verify
from optsched.selection.check import check
from optsched.selection.instance import SelectionInstance

JOB = {  # 4 epochs left, due in 2 s: 8 s and 12 $ late on a GPU of A, 12 s and 20 $ on half of one
    "name": "j0",
    "due_date": 52.0,
    "tardiness_weight": 2.0,
    "memory_bytes": 6.0,
    "epochs": {"values": [4.0], "probabilities": [1.0]},
    "epoch_time": {"A": [2.0]},
}
ROUNDED = 1e-8
"""What `verify` takes off for rounding, relative to all prices, with room."""


def instance(*jobs: dict[str, object], idle: bool = True, **changes: object) -> SelectionInstance:
    """Two nodes of A with a GPU each; if `idle`, one of a type that no job knows."""
    nodes = [
        {"name": name, "gpu_type": kind, "gpus": 1, "cost_rate": [1.0]}
        for name, kind in (("a", "A"), ("b", "A"), ("idle", "D"))
    ]
    types = {
        "A": {"memory_bytes": 40.0, "slowdown": {"0.5": 1.5}},
        "D": {"memory_bytes": 4.0, "slowdown": {}},
    }
    usual = {"now": 50.0, "interval": 100.0, "postponement_penalty": 3.0}
    made = document("prices", types, nodes if idle else nodes[:2], list(jobs or (JOB,)), **usual)
    return SelectionInstance.from_dict({**made, **changes})


def prices(
    *jobs: float, a: tuple[float, ...] = (0.0, 0.0), d: float | None = 0.0, **more: float
) -> dict[str, object]:
    slots = {"A": list(a)} if d is None else {"A": list(a), "D": [d]}
    return {"jobs": list(jobs), "slots": slots, **more}


def proved(given: SelectionInstance, certificate: dict[str, object], **options: str) -> float:
    return verify(given.to_dict(), {"kind": "prices", **certificate}, options)


# --- the bound


@pytest.mark.parametrize(
    ("certificate", "bound"),
    [
        (prices(50.0), 12),  # lam' = 12, the follower on a GPU; its leader pays 8 $ more
        (prices(7.0), 7),
        # lam' = 32: alone 12 + 8 - 32; in a half 20 + 12 - 32 beside a half for 15
        (prices(50.0, a=(20.0, 15.0)), 32 - 2 * 15),
        # postponed at 2 x 3 (112 - 2); in a half 20 + 12 - 660, beside a half for 1000
        (prices(1000.0, a=(1000.0, 1000.0)), 0),
    ],
)
def test_bounds_by_hand(certificate: dict[str, object], bound: float) -> None:
    assert proved(instance(), certificate) == pytest.approx(bound, rel=ROUNDED)
    without = {**certificate, "slots": {"A": certificate["slots"]["A"]}}
    assert proved(instance(idle=False), without) == pytest.approx(bound, rel=ROUNDED)


def test_a_fraction_counts_only_where_gpus_are_shared() -> None:
    assert proved(instance(), prices(50.0, a=(20.0,)), sharing="off") == pytest.approx(32 - 2 * 12)
    with pytest.raises(RefusedError, match="prices of slots on A"):
        proved(instance(), prices(50.0, a=(20.0,)))


@pytest.mark.parametrize(
    ("due", "weight", "dollars"),
    [
        (30.0, 2.0, 2 * 3 * (100 + 80 - 30)),
        (-30.0, 0.5, 0.5 * (3 * (100 + 80 + 30) + 30)),
        (1000.0, 1.0, 0),
    ],
)
def test_postponing_costs(due: float, weight: float, dollars: float) -> None:
    """10 epochs at most of 8 s; slots and nodes are too dear for the job to run."""
    epochs = {"values": [10.0, 4.0], "probabilities": [0.5, 0.5]}
    job = {**JOB, "due_date": 50 + due, "tardiness_weight": weight, "epochs": epochs}
    job["epoch_time"] = {"A": [8 / 1.5]}
    rates = [{**node, "cost_rate": [1e6]} for node in instance(job).to_dict()["nodes"]]
    given = instance(job, nodes=rates)
    certificate = prices(1e9, a=(1e6, 5e5))
    assert proved(given, certificate) == pytest.approx(dollars, abs=1e-2)


def test_a_larger_slot_costs_no_less() -> None:
    """On nodes of 3 GPUs prices 5, 1, 2 are 5, 5, 5: a job on 3 GPUs pays 5, not 2."""
    nodes = [{"name": "a", "gpu_type": "A", "gpus": 3, "cost_rate": [1e3, 1e3, 1e3]}]
    job = {**JOB, "due_date": 1050.0, "epoch_time": {"A": [2.0, 2.0, 2.0]}, "memory_bytes": 30.0}
    given = instance(job, nodes=nodes, postponement_penalty=300.0, interval=1e5)
    assert proved(given, prices(1e3, a=(5.0, 1.0, 2.0, 0.0), d=None)) == pytest.approx(5)


def test_the_dearest_packing_beside_a_leader() -> None:
    """Beside one GPU of 3: 7 for a GPU, 13 for two at once, or a GPU filled by two halves at 4."""
    nodes = [{"name": "a", "gpu_type": "A", "gpus": 3, "cost_rate": [0.0, 0.0, 0.0]}]
    job = {**JOB, "due_date": 1050.0, "epoch_time": {"A": [2.0, 2.0, 2.0]}}
    given = instance(job, nodes=nodes, postponement_penalty=300.0, interval=1e5)
    # lam' = 4, on a half; it leads on a half beside a half (4) and two GPUs by halves (2 x 8)
    assert proved(given, prices(1e3, a=(7.0, 13.0, 13.0, 4.0), d=None)) == 0
    three = [{**job, "name": f"j{j}"} for j in range(9)]
    given = instance(*three, nodes=nodes, postponement_penalty=300.0, interval=1e5)
    certificate = prices(*[1e3] * 9, a=(7.0, 13.0, 13.0, 4.0), d=None)
    assert proved(given, certificate) == pytest.approx(9 * 4 - (4 + 4 + 16))


def test_opening_prices_count_only_where_nodes_must_open() -> None:
    given = instance(*({**JOB, "name": f"j{j}"} for j in range(3)), idle=False)
    certificate = prices(50.0, 50.0, 50.0, d=None, opening=5.0)
    bound = proved(given, certificate, node_opening="printed")
    assert bound == pytest.approx(3 * 12 + 2 * 5)  # a leader costs 8 $ more than a follower
    dearer = {**certificate, "opening": 2.0**30}  # paid back: by whoever opens, less 8 $
    assert proved(given, dearer, node_opening="printed") == pytest.approx(3 * 12 + 2 * 8, rel=0.1)
    with pytest.raises(RefusedError, match="opening"):
        proved(given, certificate)


@pytest.mark.parametrize(
    ("certificate", "says"),
    [
        (prices(), "0 prices of jobs, expected 1"),
        (prices(1.0, d=None), "prices of slots on"),
        (prices(1.0, a=(20.0, -3.0)), "prices of slots on A out of range"),
        (prices(1.0, d=-3.0), "prices of slots on D out of range"),
        (prices(1.0, opening=-2.0), "opening"),
    ],
)
def test_prices_of_the_wrong_shape_or_sign(certificate: dict[str, object], says: str) -> None:
    with pytest.raises(RefusedError, match=says):
        proved(instance(), certificate)


# --- the checker: the bound claimed, and the objective


def violations(
    bound: float, postponed: bool = True, price: float = 50.0, opening: float = 0.0
) -> list[tuple[str, str, float, float]]:
    """Of a postponed job (660 $), or of one alone on a GPU, 12 $ late at 8 $ of energy."""
    claimed = {**prices(price, opening=opening), "bound": bound}
    options = {"node_opening": "printed"} if opening else {}
    job = at("j0", None) if postponed else at("j0", "a", 0)
    made = solution("prices", job, certificate=claimed, options=options)
    found = check(instance(), made).violations
    assert {v.rule for v in found} <= {"certificate"}
    return [(v.equation, v.where, v.amount, v.tolerance) for v in found]


def test_a_bound_overstated() -> None:
    assert violations(12 * (1 + 0.9e-6)) == []
    assert violations(0.0, postponed=False) == []
    half = pytest.approx(0.5, rel=1e-6)
    assert violations(24.0) == [("LB", "the bound claimed", half, CLAIM_TOLERANCE)]
    ((_, _, over, _),) = violations(12 * (1 + 1.1e-6))
    assert over == pytest.approx(1.1e-6, rel=1e-2)


@pytest.mark.parametrize("price", [1e11, 1e15, -1e11, -1e15])
def test_enormous_prices_do_not_excuse_an_overstated_bound(price: float) -> None:
    """A price counts up to the cost of postponing its job; one far below 0 proves nothing."""
    proved = 12 if price > 0 else 0
    over = pytest.approx((20 - proved) / 20, rel=1e-6)
    expected = [("LB", "the bound claimed", over, CLAIM_TOLERANCE)]
    assert violations(20.0, price=price) == expected
    assert violations(proved * (1 + 0.9e-6), price=price) == []


@pytest.mark.parametrize("opening", [1e11, 1e15, -1e11, -1e15])
def test_enormous_prices_of_opening_do_not_excuse_an_overstated_bound(opening: float) -> None:
    ((equation, *_),) = violations(19.0, postponed=False, opening=opening)
    assert equation == "LB"


def test_a_bound_above_the_objective(monkeypatch: pytest.MonkeyPatch) -> None:
    def above(bound: float) -> list[tuple[str, str, float, float]]:
        monkeypatch.setattr("optsched.selection.check.verify", lambda *_: bound)
        return violations(0.0, postponed=False)

    assert above(20 * (1 + 0.9e-9)) == []
    assert len(above(20 * (1 + 1.1e-9))) == 1
    third = pytest.approx(1 / 3)
    assert above(30.0) == [("LB <= objective", "the bound", third, BOUND_TOLERANCE)]
