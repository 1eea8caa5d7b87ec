"""Table of policies, and policy options.

Sources: a-srpt, Algorithm 1 and V-A 1-d, as interpreted in models/online/README.md; easy: Lifka,
The ANL/IBM SP scheduling system (JSSPP 1995); las: Gu et al., Tiresias (NSDI 2019), without its
queues; max-min: Narayanan et al., Gavel (OSDI 2020), on one type of GPU.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal, get_args

from optsched.declared import Between, Options
from optsched.errors import InputError, shown, suggestion

Hold = Literal["none", "window", "inf"]
Order = Literal[
    "release", "submission", "duration", "workload", "usage", "attained", "remaining", "share"
]
Offer = Literal["most", "least", "first-fit", "best-fit-last", "adaptive"]
OFFERS = get_args(Offer)
"""Offer rules; adaptive: heavy jobs by most, the others by least."""
MAX_OPTION_VALUE = 1e12
RESTORE_SECONDS, ROUND_SECONDS = 30.0, 360.0
"""Default cost of resuming a preempted job, and default length of a round (as Gavel's)."""


@dataclass(frozen=True)
class Policy:
    """How jobs queue and start.

    `order` is the key of the queue, ties by row: "release" (first in, first out), "submission",
    "duration" (n~ alpha~), "workload" (g n~ alpha~) or "usage" (GPU-seconds that the user's jobs
    have held; a job that does not fit holds back only jobs of its user). Preemptive policies order
    all jobs: "attained" (GPU-seconds of work done), "remaining" (g alpha~ times the predicted
    remaining iterations) or "share" (time received over the time due by max-min fairness).
    """

    name: str
    summary: str
    virtual: bool = False  # a job queues when the virtual machine completes it, not at submission
    order: Order = "release"
    scans_on: bool = False  # later jobs are tried after one that does not fit
    # Heavy jobs wait for a better offer (a-srpt, lines 8-20). With scans_on, every job waits for
    # alpha <= max(comm_heavy, 1 + 1e-9) alpha~, which each offer has on an empty cluster.
    delays: bool = False
    backfills: bool = False  # later jobs that fit start while the head waits for a better offer,
    reserves: bool = False  # or for GPUs, if by the predictions they do not delay it
    offer: Offer = "most"
    hold: Hold = "none"
    perfect: bool = False  # uses the true iterations
    # when waiting jobs with a smaller key preempt; jobs start where they fit in between
    preempts: Literal["never", "events", "rounds"] = "never"


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
        "a-srpt with the true iterations",
        virtual=True,
        delays=True,
        offer="adaptive",
        perfect=True,
    ),
    Policy(
        "spjf",
        "shortest predicted job first, blocks at the first job that does not fit",
        order="duration",
    ),
    Policy(
        "spwf",
        "smallest predicted workload first, blocks at the first job that does not fit",
        order="workload",
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
    Policy("fifo", "first submitted first, blocks at the first job that does not fit"),
    Policy(
        "easy",
        "EASY backfilling: fifo, and later jobs may start that are predicted not to delay the head",
        backfills=True,
        reserves=True,
    ),
    Policy(
        "srpt-workload-hold",
        "extension: virtual SRPT release, smallest workload first; heavy jobs wait for "
        "alpha <= COMM_HEAVY alpha~; last server best-fit",
        virtual=True,
        order="workload",
        delays=True,
        offer="best-fit-last",
        hold="inf",
    ),
    Policy(
        "a-srpt-backfill",
        "extension: a-srpt, and while the head waits later jobs that fit start",
        virtual=True,
        delays=True,
        backfills=True,
        offer="adaptive",
    ),
    Policy(
        "spwf-consolidated",
        "extension: smallest predicted workload first; a job waits for a consolidated offer "
        "(alpha <= COMM_HEAVY alpha~) while later jobs may start; last server best-fit",
        order="workload",
        scans_on=True,
        delays=True,
        offer="best-fit-last",
        hold="inf",
    ),
    Policy(
        "fair-share",
        "the user whose jobs have held the fewest GPU-seconds first, skipping users whose first "
        "job does not fit",
        order="usage",
    ),
    Policy(
        "las",
        "preemptive: least attained service (GPU-seconds) first, by rounds",
        order="attained",
        offer="best-fit-last",
        preempts="rounds",
    ),
    Policy(
        "srpt-preemptive",
        "preemptive: smallest remaining predicted workload first, at every event",
        order="remaining",
        offer="best-fit-last",
        preempts="events",
    ),
    Policy(
        "max-min",
        "preemptive: Gavel's max-min fair shares of the GPUs, by rounds",
        order="share",
        offer="best-fit-last",
        preempts="rounds",
    ),
)

POLICIES: dict[str, Policy] = {policy.name: policy for policy in _ALL}
"""Every policy, by name."""

OFFLINE = "offline-ilp"
"""Name in records of the method that knows the whole future; it is no policy."""

PAPER = tuple(policy.name for policy in _ALL[:7])
"""Policies of the a-srpt paper."""


@dataclass(frozen=True)
class PolicyOptions(Options):
    """Options of the policies.

    Attributes
    ----------
    tau : float
        Delay window as a multiple of a job's length (g/G) n~ alpha~; not stated in a-srpt.
    comm_heavy : float
        Ratio alpha^max/alpha~ of worst to best iteration time above which a job is
        communication-heavy, at least 1. An offer is good if alpha <= max(comm_heavy, 1 + 1e-9)
        alpha~.
    offer : str or None
        Rule that offers free GPUs to a job; by default each policy's own.
    hold : str or None
        When a delayed job starts: "none": if alpha is below its first offer's; "window": if alpha
        <= comm_heavy alpha~; "inf": likewise, but without a time limit. By default the policy's
        own.
    slot : float
        Slot length, seconds: events wait for the next multiple. 0: continuous time.
    checkpoint : float or None
        Seconds a preempted job holds its GPUs without progress when it resumes; by default 30.
    round : float or None
        Round length of policies that preempt by rounds, seconds; by default 360.
    """

    omitted_defaults = ("checkpoint", "round")

    tau: Annotated[float, Between(0, MAX_OPTION_VALUE)] = 100.0
    comm_heavy: Annotated[float, Between(1, MAX_OPTION_VALUE)] = 1.5
    offer: Offer | None = None
    hold: Hold | None = None
    slot: Annotated[float, Between(0, MAX_OPTION_VALUE)] = 0.0
    checkpoint: Annotated[float, Between(0, MAX_OPTION_VALUE)] | None = None
    round: Annotated[float, Between(0, MAX_OPTION_VALUE, above=True)] | None = None

    @property
    def restore(self) -> float:
        """Seconds of restoring a checkpoint at a resumption."""
        return RESTORE_SECONDS if self.checkpoint is None else self.checkpoint

    def for_policy(self, policy: Policy) -> PolicyOptions:
        """The options with the policy's defaults filled in; raises InputError.

        Refused are backfilling with ``hold="inf"``, which could starve the head, another hold with
        scans_on, which has no head with a window, and rounds no longer than a checkpoint's restore.
        """
        source = f"policy {policy.name}"
        hold = (self.hold or policy.hold) if policy.delays else "none"
        if policy.scans_on and policy.delays and hold != "inf":
            raise InputError(source, "hold", hold, "hold=inf (this policy has no delay window)")
        if policy.backfills and hold == "inf":
            raise InputError(
                source,
                "hold",
                "inf",
                "none or window (with inf, backfilling could starve the head)",
            )
        rounds = (self.round or ROUND_SECONDS) if policy.preempts == "rounds" else None
        if rounds is not None and self.restore >= rounds:
            expected = f"less than a round of {rounds:g} s (jobs would only restore)"
            raise InputError(source, "checkpoint", f"{self.restore:g}", expected)
        return replace(
            self,
            offer=self.offer or policy.offer,
            hold=hold,
            checkpoint=None if policy.preempts == "never" else self.restore,
            round=rounds,
        )


def find_policy(name: str) -> Policy:
    if name not in POLICIES:
        raise InputError("simulate", "policy", shown(name), suggestion(name, POLICIES))
    return POLICIES[name]
