"""Exit codes of the commands."""

DONE = 0
INFEASIBLE = 1
"""Infeasible instance, or a violated constraint."""
BAD_INPUT = 2
"""Invalid input or usage, or a missing extra."""
NO_SOLUTION = 3
"""No solution found: a limit was reached, or the method ended without one."""
FAILED = 4
"""Solver or internal error."""
INTERRUPTED = 130
