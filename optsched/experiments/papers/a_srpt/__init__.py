"""Reproductions of the A-SRPT paper."""

from optsched.experiments.papers.a_srpt import figures, nic_curve, table1, table2

ARTEFACTS = (*table1.ARTEFACTS, *table2.ARTEFACTS, *nic_curve.ARTEFACTS, *figures.ARTEFACTS)
