"""Reproductions of the A-SRPT paper."""

from optsched.experiments.papers.a_srpt import figures, table1, table2

ARTEFACTS = (*table1.ARTEFACTS, *table2.ARTEFACTS, *figures.ARTEFACTS)
