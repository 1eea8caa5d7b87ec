"""Policies that place each arrival, and an offline packing that chooses its tasks."""
