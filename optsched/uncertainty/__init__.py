"""Random amounts of work: distributions, their survival, samples of them."""
