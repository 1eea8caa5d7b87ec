"""The result store."""
