"""Formulations in Pyomo, and the methods that solve them."""
