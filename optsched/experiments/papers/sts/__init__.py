"""Reproductions of the STS paper."""
