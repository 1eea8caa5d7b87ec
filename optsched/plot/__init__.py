"""Plots: a function takes results and an optional Axes, and returns the Axes."""
