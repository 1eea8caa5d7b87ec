"""The options of online runs: the predictor, and the policy options."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from optsched.declared import Between, Options
from optsched.errors import InputError, shown
from optsched.online.policies.by_name import PolicyOptions

if TYPE_CHECKING:
    from optsched.online.instance import OnlineInstance

Share = Annotated[float, Between(0, 1, below=True)]
RefitInterval = Annotated[float, Between(0, 1e15, above=True)]


@dataclass(frozen=True)
class OnlineOptions(Options):
    """Options of `optsched simulate` except the seed.

    Attributes
    ----------
    predictor : str
        Predictor of the jobs' lengths: forest, group-mean, group-median, log-forest, constant or
        perfect, fitted to the training share, or online-*, refitted as jobs end.
    training_share : float or None
        Share of the jobs, earliest first, that only serve to fit the predictor.
    refit_interval : float or None
        Seconds between refits of an online predictor.
    unseen : str
        Prediction for a job of an unseen group: "mean" or "median" length of the observed jobs, or
        "zero" (as in a-srpt).
    policy : PolicyOptions
        Offer rule, tau, comm_heavy, hold, slot.
    """

    predictor: str = "online-group-mean"
    training_share: Share | None = None
    refit_interval: RefitInterval | None = None
    unseen: str = "mean"
    policy: PolicyOptions = field(default_factory=PolicyOptions)

    def __post_init__(self) -> None:
        from optsched.online.prediction.models import UNSEEN
        from optsched.online.prediction.predictors import NAMES

        super().__post_init__()
        for name, allowed in (("predictor", NAMES), ("unseen", UNSEEN)):
            if getattr(self, name) not in allowed:
                expected = f"one of {', '.join(allowed)}"
                raise InputError("options", name, shown(getattr(self, name)), expected)


def features(instance: OnlineInstance, options: OnlineOptions) -> dict[str, tuple[str, str]]:
    """Optional features in use, each with (found, expected) for the error message."""
    if options.policy.slot == 0:
        return {"continuous": ("slot 0 (starts at any time)", "slot > 0, in seconds")}
    return {}
