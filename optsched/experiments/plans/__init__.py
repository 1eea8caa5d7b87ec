"""Sweep plans: from a TOML file to units of work."""
