"""Seeded generators of instances, one file a problem.

Equal arguments and seeds give equal instances. All raise InputError for an argument that they
cannot use.
"""
