"""The column bound: never above a drawn packing's idle GPUs; forged certificates are refused."""

import copy

import numpy as np
import pytest
from oracles.packing import draw
from sampling import first

import optsched
from optsched.library.verify import RefusedError, verify
from optsched.packing.bounds.columns import quick_bound
from optsched.packing.check import check
from optsched.packing.instance import PackingInstance
from optsched.packing.options import PackingOptions
from optsched.packing.tables import Placement, Tables

PACKINGS = 20
"""Drawn for each instance."""


def drawn_packing(tables: Tables, rng: np.random.Generator) -> list[Placement]:
    """Tasks in any order on any node and any GPUs that can take them; some are refused."""
    cpu, memory, gpus = tables.capacity.T.tolist()
    free, placed = [[1000] * count for count in gpus], []
    for a in rng.permutation(len(tables.arrivals)).tolist():
        task = tables.instance.tasks[tables.arrivals[a]]
        for n in rng.permutation(len(cpu)).tolist():
            asked = min(task.gpu_milli, 1000)
            fitting = [g for g, left in enumerate(free[n]) if left >= asked]
            fits = task.cpu_milli <= cpu[n] and task.memory_bytes <= memory[n]
            fits = fits and task.accepts(tables.instance.nodes[n]) and len(fitting) >= task.gpus
            if not fits or rng.random() < 0.05:
                continue
            taken = rng.choice(fitting, task.gpus, replace=False).tolist() if task.gpus else []
            for g in taken:
                free[n][g] -= asked
            cpu[n], memory[n] = cpu[n] - task.cpu_milli, memory[n] - task.memory_bytes
            placed.append((a, n, tuple(taken)))
            break
    return placed


@pytest.mark.parametrize("number", first(12, range(1000)))
def test_no_packing_is_below_the_bound(number: int) -> None:
    """20,000 packings in full: tiny instances, and clusters of up to 16 nodes."""
    rng = np.random.default_rng([11, number])
    instance = PackingInstance.from_dict(draw(11, number))
    if number % 3 == 0:
        size = {"nodes": 1 + number % 16, "sharing": float(rng.random()), "several": 0.3}
        instance = optsched.generate("packing", seed=number, one_model=float(rng.random()), **size)
    tables = Tables(instance)
    bound, _, _ = quick_bound(instance, PackingOptions())
    for _ in range(PACKINGS):
        report = check(instance, tables.solution(drawn_packing(tables, rng)))
        assert report.feasible
        assert bound <= report.objective + 1e-9


BY_HAND = [
    # two GPUs, three tasks of 0.7: one on each; a GPU is worth 0.7 whatever 0.7 pays
    ({"gpu_milli": 700}, {"shares": [[0.7, 0.7]]}, 2 - 1.4),
    ({"gpu_milli": 700}, {"shares": [[0.0, 0.0]]}, 0.0),
    # 8 cores, 6 for each task of 0.5: one and a third of them
    ({"gpu_milli": 500, "cpu_milli": 6000}, {"cpu": [0.5 / 6000]}, 2 - 0.5 * 8 / 6),
    # nine bytes, four for each whole GPU
    ({"gpu_milli": 1000, "memory_bytes": 8}, {"memory": [1 / 8]}, 2 - 9 / 8),
]


def by_hand(**changes: int) -> PackingInstance:
    node = {"name": "a", "cpu_milli": 8000, "memory_bytes": 9, "gpus": 2, "model": "T4"}
    task = {"name": "t", "count": 3, "cpu_milli": 0, "memory_bytes": 0, **changes}
    return PackingInstance(name="by hand", nodes=[node], tasks=[task], arrivals=[0, 0, 0])


@pytest.mark.parametrize(("task", "prices", "bound"), BY_HAND)
def test_what_prices_prove_by_hand(task: dict, prices: dict, bound: float) -> None:
    instance = by_hand(**task)
    sizes = 1 if task["gpu_milli"] == 1000 else 2
    zero = {"cpu": [0.0], "memory": [0.0], "shares": [[0.0] * sizes], "bound": 0.0}
    certificate = {"kind": "prices", **zero, **prices}
    assert verify(instance.to_dict(), certificate) == pytest.approx(bound, abs=1e-8)


def forge(certificate: dict, rng: np.random.Generator) -> dict:
    """A certificate that claims more than its prices prove, or that no prices are."""
    forged = copy.deepcopy(certificate)
    kind = int(rng.integers(6))
    key = str(rng.choice(["cpu", "memory", "shares"]))
    if kind == 0:
        forged["bound"] += float(rng.uniform(1e-3, 5))
    elif kind == 1:
        values = forged[key][0] if key == "shares" else forged[key]
        values[int(rng.integers(len(values)))] = float(rng.choice([-1.0, np.nan, np.inf]))
    elif kind == 2:
        forged[key] = forged[key][:-1] if rng.random() < 0.5 else [*forged[key], *forged[key]]
    elif kind == 3:
        del forged[str(rng.choice(["cpu", "memory", "shares", "bound"]))]
    elif kind == 4:
        forged[key] = str(rng.choice(["none", "0"]))
    else:
        forged["bound"] = float(rng.choice([np.nan, np.inf, 1e6]))
    return forged


@pytest.mark.parametrize("number", first(4, range(40)))
def test_forged_certificates_are_refused(number: int) -> None:
    instance = optsched.generate("packing", nodes=1 + number % 6, seed=number, several=0.4)
    document, rng = instance.to_dict(), np.random.default_rng(number)
    bound, _, prices = quick_bound(instance, PackingOptions())
    assert verify(document, prices.to_dict()) == pytest.approx(bound, abs=1e-6)
    for _ in range(25):
        forged = forge(prices.to_dict(), rng)
        with pytest.raises(RefusedError):
            verify(document, forged)


def test_any_prices_prove_a_bound_that_holds() -> None:
    instance = by_hand(gpu_milli=700, cpu_milli=3000)
    rng = np.random.default_rng(5)
    for _ in range(200):
        certificate = {
            "kind": "prices",
            "cpu": [float(rng.exponential(1e-4))],
            "memory": [float(rng.exponential(0.1))],
            "shares": [rng.exponential(0.7, 2).tolist()],
            "bound": 0.0,
        }
        assert verify(instance.to_dict(), certificate) <= 0.6 + 1e-9  # 0.7 on each of two GPUs
