"""Every problem and method, by name: the package's own, and those of installed packages."""

from __future__ import annotations

from typing import Any

from optsched.errors import InputError
from optsched.external import installed
from optsched.makespan.problem import MAKESPAN
from optsched.placement.problem import PLACEMENT
from optsched.problem import Course, Method, Problem
from optsched.selection.problem import SELECTION
from optsched.speed_profile.problem import SPEED_PROFILE

PROBLEMS: dict[str, Problem] = {
    problem.name: problem for problem in (PLACEMENT, MAKESPAN, SELECTION, SPEED_PROFILE)
}
for _added in installed():
    if isinstance(_added, Problem):
        PROBLEMS.setdefault(_added.name, _added)
    elif _added[0] in PROBLEMS:
        PROBLEMS[_added[0]] = PROBLEMS[_added[0]].with_method(_added[1])

COURSES: dict[str, Course] = {
    course.name: course
    for course in (
        Course(
            "rolling",
            "optsched.rolling.instance:RollingInstance",
            "optsched.rolling.solution:RollingSolution",
            "optsched.rolling.check_run:check",
            objective="total cost",
            unit="$",
        ),
        Course(
            "online",
            "optsched.online.instance:OnlineInstance",
            "optsched.online.solution:OnlineSolution",
            "optsched.online.check_run:check",
            objective="total flow time",
            unit="s",
        ),
    )
}
"""Problems in the course of time, with commands of their own that run policies."""

FORMATS: dict[str, str] = {"rolling": COURSES["rolling"].instance}
"""Instance files that are not solved but run, by a command of their own."""

METHODS: dict[str, dict[str, Method]] = {
    problem.name: {method.name: method for method in problem.methods}
    for problem in PROBLEMS.values()
}


def problem_of(document: dict[str, Any], source: str) -> Problem:
    """The problem whose schema a parsed instance file declares.

    Raises
    ------
    InputError
        If the file declares none that is known.
    """
    schema = document.get("schema")
    known = {f"optsched/{name}": problem for name, problem in PROBLEMS.items()}
    if isinstance(schema, str) and schema in known:
        return known[schema]
    found = "nothing" if schema is None else repr(schema)[:60]
    formats = [f"optsched/{name}" for name in FORMATS]
    raise InputError(source, "schema", found, " or ".join([*known, *formats]))
