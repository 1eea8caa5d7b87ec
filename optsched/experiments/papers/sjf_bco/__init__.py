"""Reproductions of the SJF-BCO paper."""

from optsched.experiments.papers.sjf_bco.figures import FIGURES as ARTEFACTS

__all__ = ["ARTEFACTS"]
