"""The artefacts of the SJF-BCO paper."""

from __future__ import annotations

from optsched.experiments.papers.artefact import Artefact

ARTEFACTS = (
    Artefact(
        "sjf-bco-fig4",
        "SJF-BCO has the least makespan and mean completion time of four policies",
        "optsched.experiments.papers.sjf_bco.figures:fig4",
        where="sjf-bco, Fig. 4",
        runtime="15 s; --quick 8 s",
    ),
    Artefact(
        "sjf-bco-fig5",
        "as kappa grows, SJF-BCO's makespan drops, rises and drops again",
        "optsched.experiments.papers.sjf_bco.figures:fig5",
        where="sjf-bco, Fig. 5",
        runtime="5 s; --quick 3 s",
    ),
    Artefact(
        "sjf-bco-fig6",
        "makespans fall from 10 to 20 servers, First-Fit's most",
        "optsched.experiments.papers.sjf_bco.figures:fig6",
        where="sjf-bco, Fig. 6",
        runtime="15 s; --quick 4 s",
    ),
    Artefact(
        "sjf-bco-fig7",
        "with kappa = 1, SJF-BCO's makespan falls as lambda grows",
        "optsched.experiments.papers.sjf_bco.figures:fig7",
        where="sjf-bco, Fig. 7",
        runtime="3 s; --quick 2 s",
    ),
)
