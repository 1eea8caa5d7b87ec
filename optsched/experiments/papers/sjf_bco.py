"""The artefacts of the SJF-BCO paper."""

from __future__ import annotations

from optsched.experiments.papers.artefact import Artefact

ARTEFACTS = (
    Artefact(
        "sjf-bco-fig4",
        "SJF-BCO has the least makespan and mean completion time of four policies",
        "optsched.experiments.papers.sjf_bco_figures:fig4",
    ),
    Artefact(
        "sjf-bco-fig5",
        "as kappa grows, SJF-BCO's makespan drops, rises and drops again",
        "optsched.experiments.papers.sjf_bco_figures:fig5",
    ),
    Artefact(
        "sjf-bco-fig6",
        "makespans fall from 10 to 20 servers, First-Fit's most",
        "optsched.experiments.papers.sjf_bco_figures:fig6",
    ),
    Artefact(
        "sjf-bco-fig7",
        "with kappa = 1, SJF-BCO's makespan falls as lambda grows",
        "optsched.experiments.papers.sjf_bco_figures:fig7",
    ),
)
