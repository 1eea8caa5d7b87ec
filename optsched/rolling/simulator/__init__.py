"""The simulator: what happens when."""
