"""Reproductions of the A-SRPT paper."""

from optsched.experiments.papers.a_srpt import (
    break_even,
    figures,
    nic_curve,
    simulations,
    table1,
    table2,
    testbed,
)

ARTEFACTS = (
    *table1.ARTEFACTS,
    *table2.ARTEFACTS,
    *nic_curve.ARTEFACTS,
    *figures.ARTEFACTS[:1],
    *testbed.ARTEFACTS,
    *simulations.ARTEFACTS,
    *figures.ARTEFACTS[1:],
    *break_even.ARTEFACTS,
)
