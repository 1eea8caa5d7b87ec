"""Solver backends: no other package uses Pyomo's or HiGHS's solver interfaces."""
