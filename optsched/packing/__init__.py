"""Packing tasks on shared GPUs: which tasks a cluster holds, and where its idle GPUs are (FGD)."""
