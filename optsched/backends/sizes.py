"""How large a model in Pyomo may get, in one unit: nonzeros, the entries of its rows.

Every method counts them before anything is built. Stating a model and handing it to the solver can
be interrupted between its families of rows at best, so what does not fit in the time left is not
begun; what does not fit in memory is refused in the method's name.
"""

from __future__ import annotations

from optsched.deadline import Deadline, OutOfTimeError
from optsched.errors import NotApplicableError

MOST_NONZEROS = 3_000_000
"""Nonzeros of a model: in Pyomo and the solver together some 2 GB and a minute."""
STATED_A_SECOND = 60_000
"""Nonzeros stated, and handed to the solver, in a second on a slow core."""


def fits(deadline: Deadline, nonzeros: float) -> bool:
    """Whether a model of so many nonzeros can be stated in the time left."""
    return deadline.has(nonzeros / STATED_A_SECOND)


def require_time(deadline: Deadline, nonzeros: float) -> None:
    """Raise OutOfTimeError where a model of so many nonzeros does not fit in the time left."""
    if not fits(deadline, nonzeros):
        raise OutOfTimeError


def refuse_many_nonzeros(method: str, nonzeros: float, instead: str) -> None:
    """Refuse a model that would not fit in memory; `instead` is what to use or to change."""
    if nonzeros > MOST_NONZEROS:
        found = f"about {nonzeros:.0f} nonzeros"
        raise NotApplicableError(method, found, f"at most {MOST_NONZEROS}: {instead}")
