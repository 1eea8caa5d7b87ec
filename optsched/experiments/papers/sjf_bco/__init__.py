"""Reproductions of the SJF-BCO paper."""
