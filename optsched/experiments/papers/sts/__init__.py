"""Reproductions of the STS paper."""

from optsched.experiments.papers.sts import fig2, fig3, fig7, over_time

ARTEFACTS = (fig2.ARTEFACT, fig3.ARTEFACT, *over_time.ARTEFACTS, fig7.ARTEFACT)
