"""Every problem and method, by name: the package's own, and those of installed packages."""

from typing import Any

from optsched.errors import InputError
from optsched.external import with_installed
from optsched.makespan.problem import MAKESPAN
from optsched.online.problem import ONLINE
from optsched.packing.problem import PACKING
from optsched.placement.problem import PLACEMENT
from optsched.problem import Method, Problem
from optsched.rolling.problem import ROLLING
from optsched.selection.problem import SELECTION
from optsched.speed_profile.problem import SPEED_PROFILE

PROBLEMS: dict[str, Problem] = with_installed(
    (PLACEMENT, MAKESPAN, SELECTION, SPEED_PROFILE, ROLLING, ONLINE, PACKING)
)

METHODS: dict[str, dict[str, Method]] = {
    problem.name: {method.name: method for method in problem.methods}
    for problem in PROBLEMS.values()
}


def problem_of(document: dict[str, Any], source: str) -> Problem:
    """The problem whose schema a parsed instance file declares."""
    schema = document.get("schema")
    known = {f"optsched/{name}": problem for name, problem in PROBLEMS.items()}
    if isinstance(schema, str) and schema in known:
        return known[schema]
    found = "nothing" if schema is None else repr(schema)[:60]
    raise InputError(source, "schema", found, " or ".join(known))
