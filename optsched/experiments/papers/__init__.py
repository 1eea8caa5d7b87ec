"""Reproductions of the papers' tables and figures, each with a verdict."""
