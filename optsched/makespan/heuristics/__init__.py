"""Heuristics: each method beside its compiled loop."""
