"""The options of online runs: the predictor, and what the policies may choose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from optsched.errors import InputError, shown
from optsched.online.policies.by_name import PolicyOptions
from optsched.option_values import require_known

_PREDICTION = ("predictor", "training_share", "refit_interval")


@dataclass(frozen=True)
class OnlineOptions:
    """What changes a run beside its seed, as on the command line of `optsched simulate`.

    Attributes
    ----------
    predictor : str
        A name of `optsched.online.prediction.predictors.NAMES`.
    training_share : float or None
        The share of jobs, by submission, that a predictor is fitted to; they are not simulated.
    refit_interval : float or None
        Seconds between two fits of a predictor that is fitted again and again.
    policy : PolicyOptions
        Offer rule, tau, comm_heavy, hold, slot.
    """

    predictor: str = "online-group-mean"
    training_share: float | None = None
    refit_interval: float | None = None
    policy: PolicyOptions = field(default_factory=PolicyOptions)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> OnlineOptions:
        """Make options of names and values; raises InputError."""
        from optsched.online.prediction.predictors import NAMES

        known = [*_PREDICTION, *(each.name for each in fields(PolicyOptions))]
        require_known(values, known)
        prediction = {key: values[key] for key in _PREDICTION if key in values}
        if prediction.get("predictor", cls.predictor) not in NAMES:
            expected = f"one of {', '.join(NAMES)}"
            raise InputError("options", "predictor", shown(prediction["predictor"]), expected)
        _require(prediction, "training_share", lambda share: 0 <= share < 1, "a share in [0, 1)")
        _require(prediction, "refit_interval", lambda s: 0 < s <= 1e15, "seconds in (0, 1e15]")
        policy = PolicyOptions(**{k: v for k, v in values.items() if k not in _PREDICTION})
        return cls(**prediction, policy=policy)

    def to_dict(self) -> dict[str, Any]:
        """The options in full as a JSON object."""
        return {key: getattr(self, key) for key in _PREDICTION} | self.policy.to_dict()


def _require(
    values: dict[str, Any], key: str, good: Callable[[float], bool], expected: str
) -> None:
    value = values.get(key)
    if value is not None and (type(value) not in (int, float) or not good(value)):
        raise InputError("options", key, shown(value), expected)
