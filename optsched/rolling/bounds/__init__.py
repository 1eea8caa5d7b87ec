"""Lower bounds, each with what certifies it."""
