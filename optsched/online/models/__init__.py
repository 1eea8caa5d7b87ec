"""Pyomo models of the online problem with everything known."""
