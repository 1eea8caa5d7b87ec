"""Predictors of how long a job runs."""
