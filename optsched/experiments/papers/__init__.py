"""Reproductions of the papers' tables and figures, a verdict beside each."""
