"""Reproductions of the A-SRPT paper."""
