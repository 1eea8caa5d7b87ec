"""The process in which CP-SAT runs: a request on standard input, what it finds on standard output.

See `cp_sat`. It ends when standard input does, so that it never outlives who started it, and where
memory runs out it asks to be the one that is ended.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any


def main() -> None:
    """Read the request, solve, and say what is found as it is found."""
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    from ortools.sat.python import cp_model

    from optsched.problem import resolve

    model, decisions = resolve(request["model"])(cp_model, request["data"])
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = request["threads"]
    solver.parameters.random_seed = request["seed"] % 2**31
    solver.parameters.relative_gap_limit = request["gap"] / 2  # rounding has the rest
    if request["until"] is not None:
        solver.parameters.max_time_in_seconds = max(request["until"] - time.time(), 0.01)

    class Tell(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
        """Says each incumbent."""

        def on_solution_callback(self) -> None:
            values = [self.value(x) for x in decisions]
            _say(values=values, bound=_whole(self.best_objective_bound))

    solver.best_bound_callback = lambda bound: _say(bound=_whole(bound))
    status = solver.status_name(solver.solve(model, Tell()))
    if status == "MODEL_INVALID":
        raise ValueError(model.validate())
    if status == "INFEASIBLE":
        _say(status=status)
    else:
        _say(status=status, bound=_whole(solver.best_objective_bound))


def _whole(bound: float) -> int:
    """A bound on a whole number."""
    return round(bound)


def _say(**said: Any) -> None:
    print(json.dumps(said, allow_nan=False), flush=True)


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    main()
