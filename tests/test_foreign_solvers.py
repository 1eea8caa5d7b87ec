"""A user's own HiGHS, before ours, after ours or meanwhile, changes no answer of either.

HiGHS keeps a pool of worker threads for each calling thread and refuses a run with another thread
count than the pool's. Every script runs in a fresh process, where no pool is made yet.
"""

import pytest
from processes import python

FOREIGN = """
import highspy
import pyomo.environ as pyo

def highs(threads=None):
    model = highspy.Highs()
    model.silent()
    if threads is not None:
        model.setOptionValue("threads", threads)
    model.addVar(0.0, 10.0)
    model.changeColCost(0, -1.0)
    model.changeColIntegrality(0, highspy.HighsVarType.kInteger)
    model.addRow(-highspy.kHighsInf, 5.5, 1, [0], [1.0])
    model.run()
    assert model.modelStatusToString(model.getModelStatus()) == "Optimal", threads
    assert model.getObjectiveValue() == -5.0

def pyomo(name, **options):
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 10), domain=pyo.Integers)
    model.row = pyo.Constraint(expr=model.x <= 5.5)
    model.value = pyo.Objective(expr=-model.x)
    solver = pyo.SolverFactory(name)
    solver.solve(model, **options)
    assert pyo.value(model.value) == -5.0
"""
OWN = """
import optsched

def makespan(threads=1):
    result = optsched.solve("makespan/contended-3x3", "exact", threads=threads)
    assert str(result.termination) == "optimal", result

def placement(threads=1):
    result = optsched.solve("placement/fig2", "ilp", threads=threads)
    assert str(result.termination) == "optimal", result

def selection(threads=1):
    result = optsched.solve("selection/3x6", "sts", threads=threads)
    assert abs(result.bound - 14.472) < 5e-4, result.bound
"""
ALL = "makespan(); placement(); selection()"
SCRIPTS = {
    "highspy, then ours": f"highs(); {ALL}",
    "appsi, then ours": f"pyomo('appsi_highs'); {ALL}",
    "contrib, then ours": f"pyomo('highs'); {ALL}",
    "four threads, then ours": f"highs(4); {ALL}",
    "ours, then any": f"{ALL}; highs(4); pyomo('appsi_highs')",
    "ours, then the default": f"{ALL}; highs(); makespan(2); highs()",
    "ours in any order": "; ".join(f"selection({n}); placement({n})" for n in (1, 2, 4, 1)),
    "side by side": """
import threading
errors = []
def several(count):
    try:
        for _ in range(2):
            selection(count)
            placement(count)
            highs()
    except BaseException as error:
        errors.append(error)
workers = [threading.Thread(target=several, args=(n,)) for n in (1, 2, 4)]
highs(3)
for worker in workers: worker.start()
makespan()
highs(3)
for worker in workers: worker.join()
assert not errors, errors
""",
}

DEFAULT = ("side by side",)
"""The others with `-m full`."""


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(script, id=name, marks=() if name in DEFAULT else pytest.mark.full)
        for name, script in SCRIPTS.items()
    ],
)
def test_order_and_threads_change_nothing(script: str) -> None:
    python("-c", f"{FOREIGN}\n{OWN}\n{script}")


def test_a_run_that_did_not_start_is_an_error() -> None:
    """No bound of 0 from a linear programme that HiGHS never looked at."""
    import highspy
    import numpy as np
    from scipy.sparse import csr_array

    from optsched.backends.arrays import GrowingLp, MilpArrays
    from optsched.backends.running import run_highs
    from optsched.deadline import Deadline
    from optsched.errors import SolverError
    from optsched.result import Settings

    class Refusing(highspy.Highs):
        def run(self) -> highspy.HighsStatus:
            return highspy.HighsStatus.kError

    refusing = Refusing()
    refusing.silent()
    with pytest.raises(SolverError, match="HiGHS did not run: Not Set"):
        run_highs(refusing, Deadline())
    ones = np.ones(1)
    programme = MilpArrays(
        ones, csr_array([[1.0]]), ones, np.full(1, np.inf), 0 * ones, 9 * ones, np.zeros(1, bool)
    )
    answer = GrowingLp(programme, Settings()).solve()
    assert answer is not None
    assert answer.objective == 1.0
