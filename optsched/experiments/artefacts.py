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
    where : str
        Which table or figure of which paper.
    runtime : str
        What it takes on two cores, in full and with ``--quick``.
    """

    name: str
    claim: str
    run: str
    where: str = ""
    runtime: str = ""

    @property
    def command(self) -> str:
        """The command that makes it."""
        return f"optsched reproduce {self.name} -o results"


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
    )
}


def names_of(asked: list[str]) -> list[str]:
    """The artefacts behind names, "all" for every one; raises InputError."""
    for name in asked:
        if name != ALL and name not in ARTEFACTS:
            known = ", ".join(ARTEFACTS)
            raise InputError("reproduce", "artefact", shown(name), f"one of {known}")
    return list(ARTEFACTS) if ALL in asked else list(dict.fromkeys(asked))


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
    names_of([name])
    folder = Path(folder)
    verdict_file(folder, name).unlink(missing_ok=True)
    text: str = resolve(ARTEFACTS[name].run)(folder, quick)
    return text


def verdicts(folder: str | Path) -> dict[str, Verdict | None]:
    """The verdict of every artefact in a folder of results; None where there is none."""
    return {name: read_verdict(Path(folder), name) for name in ARTEFACTS}
