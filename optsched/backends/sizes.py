"""Limits on the size of Pyomo models, in nonzeros.

Every method counts them before it builds a model. Building and passing a model to the solver can be
interrupted only between families of rows, so a model that does not fit in the time left is not
built, and one that does not fit in memory is refused.
"""

from optsched.deadline import Deadline, OutOfTimeError
from optsched.errors import NotApplicableError

MAX_NONZEROS = 3_000_000
"""Nonzeros of a model; Pyomo and the solver need about 2 GB and a minute for so many."""
NONZEROS_PER_SECOND = 60_000
"""Nonzeros built and passed to the solver per second on a slow core; a fast one takes 200,000."""


def fits(deadline: Deadline, nonzeros: float) -> bool:
    """Whether a model of so many nonzeros can be built in the time left."""
    return deadline.has(nonzeros / NONZEROS_PER_SECOND)


def require_time(deadline: Deadline, nonzeros: float) -> None:
    """Raise OutOfTimeError where a model of so many nonzeros does not fit in the time left."""
    if not fits(deadline, nonzeros):
        raise OutOfTimeError


def refuse_many_nonzeros(method: str, nonzeros: float, alternative: str) -> None:
    """Raise NotApplicableError if a model would not fit in memory."""
    if nonzeros > MAX_NONZEROS:
        found = f"about {nonzeros:.0f} nonzeros"
        raise NotApplicableError(method, found, f"at most {MAX_NONZEROS}: {alternative}")
