"""Input data: workloads, catalogues, clusters."""
