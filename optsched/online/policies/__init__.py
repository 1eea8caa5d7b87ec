"""Policies: what to do at an event."""
