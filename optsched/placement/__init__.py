"""Placement of one job's pipeline stages and replicas on servers (a-srpt, (4)-(7), IV-B)."""
