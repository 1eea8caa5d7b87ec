"""Seeded generators of instances, one file per problem.

Equal arguments and seeds give equal instances. All raise InputError for invalid arguments.
"""
