"""Workloads, catalogues and clusters: what a run is given."""
