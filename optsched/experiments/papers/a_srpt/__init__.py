"""Reproductions of the A-SRPT paper."""

from optsched.experiments.papers.a_srpt import fig4, fig5, simulations, table1, table2

ARTEFACTS = (
    table1.ARTEFACT,
    table2.ARTEFACT,
    fig4.FIG4,
    fig5.ARTEFACT,
    *simulations.ARTEFACTS,
    fig4.FIG9,
)
