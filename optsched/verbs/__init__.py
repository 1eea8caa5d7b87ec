"""What can be asked of every problem alike; `optsched.methods` has solve, check and build_model."""
