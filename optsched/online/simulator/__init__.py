"""Event-driven simulator."""
