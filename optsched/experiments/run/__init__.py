"""Running units: worker processes on this machine or on a Dask cluster."""
