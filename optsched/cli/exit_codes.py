"""How commands end."""

DONE = 0
BROKEN = 1
"""Infeasible, or a rule broken."""
BAD_INPUT = 2
"""Or usage, or a missing extra."""
NO_SOLUTION = 3
"""No solution found: a limit was reached, or the method ended without one."""
FAILED = 4
"""A solver's error, or one of ours."""
INTERRUPTED = 130
