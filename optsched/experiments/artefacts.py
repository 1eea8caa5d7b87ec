"""The artefacts by name, and the command that makes them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from optsched.errors import InputError, shown
from optsched.problem import resolve


@dataclass(frozen=True)
class Artefact:
    """A table or figure of a paper.

    Attributes
    ----------
    name : str
        Such as "a-srpt-table2".
    claim : str
        What the paper says, in a line.
    run : str
        ``module:function`` of ``(folder, quick) -> str``: writes its files, returns its verdict.
    """

    name: str
    claim: str
    run: str


ARTEFACTS: dict[str, Artefact] = {
    artefact.name: artefact
    for artefact in (
        Artefact(
            "a-srpt-table2",
            "Heavy-Edge is within 6% of the ILP (VGG19) or equal to it (GPT-175B), in milliseconds",
            "optsched.experiments.a_srpt_table2:run",
        ),
        Artefact(
            "sjf-bco-fig4",
            "SJF-BCO has the least makespan and mean completion time of four policies",
            "optsched.experiments.sjf_bco_figures:fig4",
        ),
        Artefact(
            "sjf-bco-fig5",
            "as kappa grows, SJF-BCO's makespan drops, rises and drops again",
            "optsched.experiments.sjf_bco_figures:fig5",
        ),
        Artefact(
            "sjf-bco-fig6",
            "makespans fall from 10 to 20 servers, First-Fit's most",
            "optsched.experiments.sjf_bco_figures:fig6",
        ),
        Artefact(
            "sjf-bco-fig7",
            "with kappa = 1, SJF-BCO's makespan falls as lambda grows",
            "optsched.experiments.sjf_bco_figures:fig7",
        ),
        Artefact(
            "sts-fig2",
            "jobs end late (AlexNet), early (ResNet, VGG16) or in the middle (MobileNetV2)",
            "optsched.experiments.sts_fig2:run",
        ),
        Artefact(
            "sts-fig4",
            "STS costs about 40% less than EDF, RG and their average variants, to 80%",
            "optsched.experiments.sts_over_time:fig4",
        ),
        Artefact(
            "sts-fig5",
            "STS's energy is 67% below DP's and 32% below avgDP's",
            "optsched.experiments.sts_over_time:fig5",
        ),
        Artefact(
            "sts-fig6",
            "sharing GPUs saves STS about 17%, 29% on A100",
            "optsched.experiments.sts_over_time:fig6",
        ),
        Artefact(
            "price-robustness",
            "beyond the paper: the price policy against STS by load and regime, 20 seeds each",
            "optsched.experiments.price_robustness:run",
        ),
        Artefact(
            "optimum-over-time",
            "beyond the paper: every interval's optimum, rolled forward, against STS and price",
            "optsched.experiments.optimum_over_time:run",
        ),
        Artefact(
            "sts-fig7",
            "STS decides for 100 nodes and 400 jobs in under 5 s, RG and EDF faster",
            "optsched.experiments.sts_fig7:run",
        ),
    )
}


def reproduce(name: str, folder: str | Path, *, quick: bool = False) -> str:
    """Make one artefact.

    Parameters
    ----------
    name : str
        A name of `ARTEFACTS`.
    folder : str or Path
        Where its files go.
    quick : bool
        Fewer seeds: a smoke test, and the verdict says so.

    Returns
    -------
    str
        The table and the verdict.

    Raises
    ------
    InputError
        If there is no artefact of that name.
    """
    if name not in ARTEFACTS:
        raise InputError("reproduce", "artefact", shown(name), f"one of {', '.join(ARTEFACTS)}")
    text: str = resolve(ARTEFACTS[name].run)(Path(folder), quick)
    return text
