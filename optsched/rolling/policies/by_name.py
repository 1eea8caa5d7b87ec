"""The policies by name. Each is made fresh for a run, because it may remember."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from optsched.errors import InputError, shown, suggestion
from optsched.problem import resolve

if TYPE_CHECKING:
    from optsched.result import Settings
    from optsched.rolling.simulator.engine import Decider
    from optsched.rolling.simulator.world import World

_HERE = "optsched.rolling.policies"
_FIRST_MODEL = f"{_HERE}.interval_optimum:first_model"
MODELS = ("patterns", "milp", "minlp", "columns")
"""Policies that solve a Pyomo model at each decision; ``exact`` picks one of them."""


@dataclass(frozen=True)
class Policy:
    """A policy: `make` is ``module:function`` of ``(name, world, settings)``, or the function, and
    returns a fresh `Decider`; `build`, of ``(name, instance, options)``, returns the Pyomo model of
    its first decision."""

    name: str
    summary: str
    make: str | Callable[..., Decider]
    build: str | None = None


_QUEUE = f"{_HERE}.queue:queue"
_GREEDY = f"{_HERE}.randomised_greedy:randomised_greedy"
_PROGRAMME = f"{_HERE}.queue:dp"
_PATTERNS = f"{_HERE}.price_patterns:price_patterns"
_OPTIMUM = f"{_HERE}.interval_optimum:interval_optimum"
_ALL = (
    Policy("sts", "the stochastic scheduler of sts at every event", f"{_HERE}.sts:sts"),
    Policy("sts-postprocessing", "sts, and idle GPUs of open nodes (VI-C)", f"{_HERE}.sts:sts"),
    Policy("edf", "earliest due date first", _QUEUE),
    Policy("fifo", "first come, first served", _QUEUE),
    Policy("rg", "randomised greedy", _GREEDY),
    Policy("dp", "dynamic programme over jobs x GPUs with the proxy (28)", _PROGRAMME),
    Policy("price", "GPU time has a price, jobs take what it is worth", f"{_HERE}.price:price"),
    Policy("price-patterns", "price, with a MILP over node patterns for the seats", _PATTERNS),
    Policy("avg-edf", "edf by mean lengths", _QUEUE),
    Policy("avg-rg", "rg by mean lengths", _GREEDY),
    Policy("avg-dp", "dp by mean lengths", _PROGRAMME),
    *(
        Policy(name, f"each interval's optimum by {name}, rolled forward", _OPTIMUM, _FIRST_MODEL)
        for name in MODELS
    ),
    Policy("exact", "each interval's optimum, rolled forward", _OPTIMUM),
)

STRIDE = 1_000_003
"""Between the seeds of repeated runs: those of other workloads are nearer."""

POLICIES: dict[str, Policy] = {policy.name: policy for policy in _ALL}
"""Every policy, by name."""


def find_policy(name: str) -> Policy:
    """The policy of that name; raises InputError."""
    if name not in POLICIES:
        raise InputError("roll", "policy", shown(name), suggestion(name, POLICIES))
    return POLICIES[name]


def make_policy(name: str, world: World, settings: Settings) -> Decider:
    """A fresh policy for a run.

    Parameters
    ----------
    name : str
        A policy, such as sts.
    world : World
        The instance, prepared.
    settings : Settings
        The seed; `iterations` are the passes of ``rg`` at each decision (default 20), `deadline`
        cuts what a solver does at a decision. One optimum takes at most 5 s in any case. Once the
        deadline has passed, `optsched.rolling.policies.limited` decides in the policy's place.

    Returns
    -------
    Decider
        An object with ``decide(view)`` and ``wake``.

    Raises
    ------
    InputError
        For an unknown name, or options that it refuses.

    Examples
    --------
    >>> from optsched.library import load
    >>> from optsched.result import Settings
    >>> from optsched.rolling.options import RollingOptions
    >>> from optsched.rolling.simulator.world import World
    >>> world = World(load("rolling/three-by-hand"), RollingOptions())
    >>> callable(make_policy("sts", world, Settings()).decide)
    True
    """
    entry = find_policy(name)
    world.readings.require_free_opening(name)
    drawn = replace(settings, seed=settings.seed + STRIDE * world.options.repeat)
    made: Decider = resolve(entry.make)(name, world, drawn)
    return made
