"""Solvers by name: HiGHS always, SCIP as an extra, others if Pyomo finds them."""

from __future__ import annotations

from typing import Any

from optsched.backends.by_pyomo import pyomo_solver_version, require_pyomo_solver
from optsched.extras import require_extras


def solver_version(solver: str) -> str:
    """Return the installed version of a solver."""
    if solver == "highs":
        import highspy

        parts = (
            highspy.HIGHS_VERSION_MAJOR,
            highspy.HIGHS_VERSION_MINOR,
            highspy.HIGHS_VERSION_PATCH,
        )
        return ".".join(str(part) for part in parts)
    return str(_pyscipopt().Model().version()) if solver == "scip" else pyomo_solver_version(solver)


def require_solver(name: str) -> None:
    """Refuse a solver that is unknown or not installed."""
    if name == "scip":
        _pyscipopt()
    elif name != "highs":
        require_pyomo_solver(name)


def _pyscipopt() -> Any:
    require_extras(["pyscipopt"])
    import pyscipopt

    return pyscipopt
