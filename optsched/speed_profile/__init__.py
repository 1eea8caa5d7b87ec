"""The speed profile of one job: how many GPUs at which epoch, for least expected energy (sts V)."""
