"""Reproductions of the STS paper."""

from optsched.experiments.papers.sts import (
    cost_map,
    fig2,
    fig3,
    fig7,
    optimum_over_time,
    over_time,
    price_robustness,
)

ARTEFACTS = (
    *fig2.ARTEFACTS,
    *fig3.ARTEFACTS,
    *cost_map.ARTEFACTS,
    *over_time.ARTEFACTS,
    *price_robustness.ARTEFACTS,
    *optimum_over_time.ARTEFACTS,
    *fig7.ARTEFACTS,
)
