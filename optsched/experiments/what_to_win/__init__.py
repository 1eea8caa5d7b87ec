"""What a better scheduler would win on a trace: runs, bounds, and a page about them."""
