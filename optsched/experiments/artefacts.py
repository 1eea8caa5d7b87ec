"""The artefacts by name, and the command that makes them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from optsched.errors import InputError, shown
from optsched.experiments.verdict import Verdict, read_verdict, verdict_file
from optsched.problem import resolve

ALL = "all"


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
        ``module:function`` of ``(folder, quick) -> str``: writes its files, returns its text. Its
        files are ``NAME.csv``, ``NAME.png``, ``NAME.pdf``, and its verdict by `write_verdict`.
    scales : bool
        Whether it takes a `Scale` in place of `quick`: it has a full size, and takes a trace.
    where : str
        Which table or figure of which paper.
    runtime : str
        What it takes on two cores, in full and with ``--quick``.
    """

    name: str
    claim: str
    run: str
    scales: bool = False
    where: str = ""
    runtime: str = ""

    @property
    def command(self) -> str:
        """The command that makes it."""
        return f"optsched reproduce {self.name} -o results"


@dataclass(frozen=True)
class Scale:
    """How much of an artefact to make: fewer seeds, the paper's sizes, a trace of the user's."""

    quick: bool = False
    full: bool = False
    trace: str | None = None


_ONLINE = "optsched.experiments.a_srpt_figures"


ARTEFACTS: dict[str, Artefact] = {
    artefact.name: artefact
    for artefact in (
        Artefact(
            "a-srpt-table2",
            "Heavy-Edge is within 6% of the ILP (VGG19) or equal to it (GPT-175B), in milliseconds",
            "optsched.experiments.a_srpt_table2:run",
            where="a-srpt, Table II",
            runtime="6 min on two busy cores; --quick 25 s",
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
            "a-srpt-fig4",
            "about 60% of jobs are predicted exactly by the forest on (user, group)",
            f"{_ONLINE}:figure_4",
            scales=True,
        ),
        Artefact(
            "a-srpt-fig5",
            "14 GPUs, tau = 0: within 7% of perfect prediction, up to 44% below the baselines",
            f"{_ONLINE}:figure_5",
            scales=True,
        ),
        Artefact(
            "a-srpt-fig6",
            "37,500-150,000 jobs: total completion time 31-91% below every baseline",
            f"{_ONLINE}:figure_6",
            scales=True,
        ),
        Artefact(
            "a-srpt-fig7",
            "80-0% single-GPU jobs: 16-57% below the baselines, more with fewer of them",
            f"{_ONLINE}:figure_7",
            scales=True,
        ),
        Artefact(
            "a-srpt-fig8",
            "NICs of 50-1 Gbit/s: 12% below the best baseline at 50, up to 92% at 1",
            f"{_ONLINE}:figure_8",
            scales=True,
        ),
        Artefact(
            "a-srpt-fig9",
            "the forest is 14% above perfect prediction, mean and median are worse",
            f"{_ONLINE}:figure_9",
            scales=True,
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


def names_of(asked: list[str]) -> list[str]:
    """The artefacts behind names, "all" for every one; raises InputError."""
    for name in asked:
        if name != ALL and name not in ARTEFACTS:
            known = ", ".join(ARTEFACTS)
            raise InputError("reproduce", "artefact", shown(name), f"one of {known}")
    return list(ARTEFACTS) if ALL in asked else list(dict.fromkeys(asked))


def reproduce(
    name: str,
    folder: str | Path,
    *,
    quick: bool = False,
    full: bool = False,
    trace: str | None = None,
) -> str:
    """Make one artefact.

    Parameters
    ----------
    name : str
        A name of `ARTEFACTS`.
    folder : str or Path
        Where its files go.
    quick : bool
        Fewer seeds: a smoke test, and the verdict says so.
    full : bool
        The paper's sizes, for the artefacts that are scaled down by default.
    trace : str, optional
        A PAI job CSV for the artefacts that need one; without it they run on synthetic jobs.

    Returns
    -------
    str
        The table and the verdict.

    Raises
    ------
    InputError
        If there is no artefact of that name.
    """
    names_of([name])
    artefact = ARTEFACTS[name]
    if (full or trace) and not artefact.scales:
        raise InputError("reproduce", name, "--full or --trace", "neither: it has one size")
    if quick and full:
        raise InputError("reproduce", name, "--quick and --full", "one of them")
    folder = Path(folder)
    verdict_file(folder, name).unlink(missing_ok=True)
    how = Scale(quick, full, trace) if artefact.scales else quick
    text: str = resolve(artefact.run)(folder, how)
    return text


def verdicts(folder: str | Path) -> dict[str, Verdict | None]:
    """The verdict of every artefact in a folder of results; None where there is none."""
    return {name: read_verdict(Path(folder), name) for name in ARTEFACTS}
