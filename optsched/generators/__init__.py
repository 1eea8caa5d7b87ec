"""Seeded generators of instances, one file a problem."""
