"""Exact methods without a Pyomo model, and the choice between all of them."""
