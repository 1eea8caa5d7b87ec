"""Independent oracles: literal restatements of the problems, sharing nothing with the package."""
