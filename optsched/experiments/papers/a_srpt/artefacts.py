"""The artefacts of the A-SRPT paper."""

from __future__ import annotations

from optsched.experiments.papers.artefact import Artefact

_FIGURES = "optsched.experiments.papers.a_srpt.figures"

ARTEFACTS = (
    Artefact(
        "a-srpt-table1",
        "parameters and mini-batches of nine models",
        "optsched.experiments.papers.a_srpt.table1:run",
        where="a-srpt, Table I",
        runtime="2 s",
    ),
    Artefact(
        "a-srpt-table2",
        "Heavy-Edge is within 6% of the ILP (VGG19) or equal to it (GPT-175B), in milliseconds",
        "optsched.experiments.papers.a_srpt.table2:run",
        where="a-srpt, Table II",
        runtime="1 min; --quick 8 s",
    ),
    Artefact(
        "a-srpt-fig4",
        "about 60% of jobs are predicted exactly by the forest on (user, group)",
        f"{_FIGURES}:figure_4",
        scales=True,
        where="a-srpt, Fig. 4",
        runtime="30 s; --quick 5 s",
        modules=("matplotlib", "sklearn.ensemble"),
    ),
    Artefact(
        "a-srpt-fig5",
        "14 GPUs, tau = 0: within 7% of perfect prediction, up to 44% below the baselines",
        f"{_FIGURES}:figure_5",
        scales=True,
        where="a-srpt, Fig. 5",
        runtime="25 s; --quick 10 s",
    ),
    Artefact(
        "a-srpt-fig6",
        "37,500-150,000 jobs: total completion time 31-91% below every baseline",
        f"{_FIGURES}:figure_6",
        scales=True,
        where="a-srpt, Fig. 6",
        runtime="2 min 30 s; --quick 5 s",
    ),
    Artefact(
        "a-srpt-fig7",
        "80-0% single-GPU jobs: 16-57% below the baselines, more with fewer of them",
        f"{_FIGURES}:figure_7",
        scales=True,
        where="a-srpt, Fig. 7",
        runtime="2 min 30 s; --quick 5 s",
    ),
    Artefact(
        "a-srpt-fig8",
        "NICs of 50-1 Gbit/s: 12% below the best baseline at 50, up to 92% at 1",
        f"{_FIGURES}:figure_8",
        scales=True,
        where="a-srpt, Fig. 8",
        runtime="2 min 30 s; --quick 5 s",
    ),
    Artefact(
        "a-srpt-fig9",
        "the forest is 14% above perfect prediction, mean and median are worse",
        f"{_FIGURES}:figure_9",
        scales=True,
        where="a-srpt, Fig. 9",
        runtime="35 s; --quick 15 s",
        modules=("matplotlib", "sklearn.ensemble"),
    ),
)
