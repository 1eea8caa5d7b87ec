"""What an artefact is: a table or figure of a paper, its claim, and the function that makes it."""

from __future__ import annotations

from dataclasses import dataclass


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
        Whether it takes a `Scale` in place of `quick`: it takes a trace, and may have a full size.
    where : str
        Which table or figure of which paper.
    runtime : str
        What it takes on two cores, in full and with ``--quick``.
    modules : tuple of str
        Of optional dependencies, what it takes; all leave a picture.
    """

    name: str
    claim: str
    run: str
    scales: bool = False
    where: str = ""
    runtime: str = ""
    modules: tuple[str, ...] = ("matplotlib",)

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
