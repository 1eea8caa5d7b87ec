"""The bound by linear programming and column generation."""
