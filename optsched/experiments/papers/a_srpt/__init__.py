"""Reproductions of the A-SRPT paper."""

from optsched.experiments.papers.a_srpt import (
    break_even,
    figures,
    nic_curve,
    simulations,
    table1,
    table2,
)

ARTEFACTS = (
    *table1.ARTEFACTS,
    *table2.ARTEFACTS,
    *nic_curve.ARTEFACTS,
    *figures.ARTEFACTS[:2],
    *simulations.ARTEFACTS,
    *figures.ARTEFACTS[2:],
    *break_even.ARTEFACTS,
)
