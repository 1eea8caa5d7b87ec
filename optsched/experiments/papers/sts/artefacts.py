"""The artefacts of the STS paper."""

from __future__ import annotations

from optsched.experiments.papers.artefact import Artefact

ARTEFACTS = (
    Artefact(
        "sts-fig2",
        "jobs end late (AlexNet), early (ResNet, VGG16) or in the middle (MobileNetV2)",
        "optsched.experiments.papers.sts.fig2:run",
        where="sts, Fig. 2",
        runtime="3 s; --quick 2 s",
    ),
    Artefact(
        "sts-fig3",
        "jobs arrive 50,000 s / nodes apart, or as Poisson arrivals, high at four times low",
        "optsched.experiments.papers.sts.fig3:run",
        where="sts, Fig. 3",
        runtime="2 min; --quick 30 s",
    ),
    Artefact(
        "sts-fig4",
        "STS costs about 40% less than EDF, RG and their average variants, to 80%",
        "optsched.experiments.papers.sts.over_time:fig4",
        where="sts, Fig. 4",
        runtime="11 min on two cores; --quick 15 s",
    ),
    Artefact(
        "sts-fig5",
        "STS's energy is 67% below DP's and 32% below avgDP's",
        "optsched.experiments.papers.sts.over_time:fig5",
        where="sts, Fig. 5",
        runtime="5 min on two cores; --quick 10 s",
    ),
    Artefact(
        "sts-fig6",
        "sharing GPUs saves STS about 17%, 29% on A100",
        "optsched.experiments.papers.sts.over_time:fig6",
        where="sts, Fig. 6",
        runtime="6 min on two cores; --quick 10 s",
    ),
    Artefact(
        "price-robustness",
        "the price policy against STS by load and regime, 20 seeds each",
        "optsched.experiments.papers.sts.price_robustness:run",
        where="beyond sts, VII",
        runtime="8 min on two cores; --quick 25 s",
    ),
    Artefact(
        "optimum-over-time",
        "every interval's optimum, rolled forward, against STS and price",
        "optsched.experiments.papers.sts.optimum_over_time:run",
        where="beyond sts, VII",
        runtime="35 s on two cores; --quick 10 s",
    ),
    Artefact(
        "sts-fig7",
        "STS decides for 100 nodes and 400 jobs in under 5 s, RG and EDF faster",
        "optsched.experiments.papers.sts.fig7:run",
        where="sts, Fig. 7",
        runtime="40 s; --quick 5 s",
    ),
)
