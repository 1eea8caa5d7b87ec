"""Solvers: the only room that knows Pyomo's solver interfaces and HiGHS's own.

Two ways in: a Pyomo model (`solve_model`) and bare arrays (`solve_arrays`, `GrowingLp`). Values
come back rounded where a variable is integer.
"""

from optsched.backends.answer import Answer as Answer
from optsched.backends.arrays import GrowingLp as GrowingLp
from optsched.backends.arrays import LpAnswer as LpAnswer
from optsched.backends.arrays import MilpArrays as MilpArrays
from optsched.backends.arrays import solve_arrays as solve_arrays
from optsched.backends.models import relax_model as relax_model
from optsched.backends.models import solve_model as solve_model
from optsched.backends.models import state_and_solve as state_and_solve
from optsched.backends.solvers import require_solver as require_solver
from optsched.backends.solvers import solver_version as solver_version
