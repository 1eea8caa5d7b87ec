"""The packing problem as a Pyomo model."""
