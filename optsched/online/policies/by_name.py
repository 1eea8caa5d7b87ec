"""The policies by name, and the options that change what they do.

Sources: a-srpt, Algorithm 1 and V-A 1-d, in the readings of models/online/README.md; easy: Lifka,
The ANL/IBM SP scheduling system (JSSPP 1995).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal, get_args

from optsched.declared import Between, Options
from optsched.errors import InputError, shown

Hold = Literal["none", "window", "inf"]
Offer = Literal["most", "least", "first-fit", "best-fit-last", "adaptive"]
OFFERS = get_args(Offer)
"""Offer rules; adaptive: heavy jobs by most, the others by least."""
LARGEST = 1e12


@dataclass(frozen=True)
class Policy:
    """How jobs queue and start.

    Attributes
    ----------
    name, summary : str
        The name of the command line, and a line about it.
    virtual : bool
        Whether a job queues when the virtual machine completes it, instead of at submission.
    order : str
        Key of the queue, ties by row: "release" (first in, first out), "submission",
        "duration" (n~ alpha~) or "workload" (g n~ alpha~).
    scans_on : bool
        Whether a pass goes on past a job that does not fit.
    delays : bool
        Whether heavy jobs wait for a better offer (a-srpt, lines 8-20).
    backfills : bool
        Whether later jobs that fit start while the head waits.
    reserves : bool
        Whether they do only where by the predictions they do not delay the head; otherwise, while
        it waits for a better offer.
    offer, hold : str
        What applies unless the options say otherwise.
    perfect : bool
        Whether it knows the true iterations.
    """

    name: str
    summary: str
    virtual: bool = False
    order: Literal["release", "submission", "duration", "workload"] = "release"
    scans_on: bool = False
    delays: bool = False
    backfills: bool = False
    reserves: bool = False
    offer: Offer = "most"
    hold: Hold = "none"
    perfect: bool = False


_ALL = (
    Policy(
        "a-srpt",
        "virtual SRPT order, heavy jobs wait for a better offer",
        virtual=True,
        delays=True,
        offer="adaptive",
    ),
    Policy(
        "a-srpt-perfect",
        "a-srpt that knows the true iterations",
        virtual=True,
        delays=True,
        offer="adaptive",
        perfect=True,
    ),
    Policy("spjf", "shortest predicted job first, stops at the first misfit", order="duration"),
    Policy(
        "spwf", "smallest predicted workload first, stops at the first misfit", order="workload"
    ),
    Policy(
        "wcs-duration", "work conserving, shortest predicted first", order="duration", scans_on=True
    ),
    Policy(
        "wcs-workload",
        "work conserving, smallest predicted workload first",
        order="workload",
        scans_on=True,
    ),
    Policy(
        "wcs-subtime", "work conserving, first submitted first", order="submission", scans_on=True
    ),
    Policy("fifo", "first submitted first, stops at the first misfit"),
    Policy(
        "easy",
        "EASY backfilling: fifo, and later jobs start that by prediction do not delay the head",
        backfills=True,
        reserves=True,
    ),
    Policy(
        "srpt-workload-hold",
        "beyond the paper: virtual SRPT release, smallest workload first, heavy jobs hold for an "
        "offer as good as alpha~ asks, last piece best-fit",
        virtual=True,
        order="workload",
        delays=True,
        offer="best-fit-last",
        hold="inf",
    ),
    Policy(
        "a-srpt-backfill",
        "beyond the paper: a-srpt, and while the head waits later jobs that fit start",
        virtual=True,
        delays=True,
        backfills=True,
        offer="adaptive",
    ),
)

POLICIES: dict[str, Policy] = {policy.name: policy for policy in _ALL}
"""Every policy, by name."""

PAPER = tuple(policy.name for policy in _ALL[:7])
"""Those of a-srpt."""


@dataclass(frozen=True)
class PolicyOptions(Options):
    """What a run may choose.

    Attributes
    ----------
    tau : float
        The delay's window is tau L, L = (g/G) n~ alpha~. The paper gives none for V-B.
    comm_heavy : float
        A job is heavy from alpha^max/alpha~ >= comm_heavy on; below 1 is refused.
    offer : str or None
        An offer rule for every policy; None leaves each its own.
    hold : str or None
        "none": a delayed job starts when alpha falls below its first offer's; "window": when
        alpha <= comm_heavy alpha~; "inf": likewise, and without a window. None: the policy's own.
    slot : float
        Seconds; events act at its next multiple. 0 for none.
    """

    tau: Annotated[float, Between(0, LARGEST)] = 100.0
    comm_heavy: Annotated[float, Between(1, LARGEST)] = 1.5
    offer: Offer | None = None
    hold: Hold | None = None
    slot: Annotated[float, Between(0, LARGEST)] = 0.0

    def for_policy(self, policy: Policy) -> PolicyOptions:
        """The options with the policy's own where none was chosen.

        Raises
        ------
        InputError
            For backfilling with ``hold="inf"``: a held head would never be reached.
        """
        hold = (self.hold or policy.hold) if policy.delays else "none"
        if policy.backfills and hold == "inf":
            raise InputError(
                f"policy {policy.name}", "hold", "inf", "none or window: backfilling could starve"
            )
        return replace(self, offer=self.offer or policy.offer, hold=hold)


def find_policy(name: str) -> Policy:
    """The policy of that name; raises InputError."""
    if name not in POLICIES:
        raise InputError("simulate", "policy", shown(name), f"one of {', '.join(POLICIES)}")
    return POLICIES[name]
