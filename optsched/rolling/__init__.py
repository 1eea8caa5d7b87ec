"""Selection over time: jobs arrive, run for a random number of epochs, move and change speed."""
