"""Makespan of ring-all-reduce jobs that contend for the links between servers (sjf-bco)."""
