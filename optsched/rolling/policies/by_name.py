"""The policies by name. A policy object is created per run, since it may keep state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from optsched.errors import InputError, shown, suggestion
from optsched.problem import resolve

if TYPE_CHECKING:
    from optsched.result import Settings
    from optsched.rolling.simulator.engine import Policy
    from optsched.rolling.simulator.world import World

_HERE = "optsched.rolling.policies"
_FIRST_MODEL = f"{_HERE}.interval_optimum:first_model"
MODELS = ("patterns", "milp", "minlp", "columns")
"""Policies that solve a Pyomo model at each decision; ``exact`` picks one of them."""


@dataclass(frozen=True)
class PolicyEntry:
    name: str
    summary: str
    # class of ``(world, name, settings)``, a `Policy`, or ``module:class``
    make: str | Callable[..., Policy]
    # ``module:function`` of ``(name, instance, options)``; returns the Pyomo model of the
    # first decision
    build: str | None = None


_QUEUE = f"{_HERE}.queue:Queue"
_GREEDY = f"{_HERE}.queue:RandomisedGreedy"
_PROGRAMME = f"{_HERE}.queue:DynamicProgramme"
_PATTERNS = f"{_HERE}.price:PricePatterns"
_OPTIMUM = f"{_HERE}.interval_optimum:IntervalOptimum"
_ALL = (
    PolicyEntry("sts", "the stochastic scheduler of sts at every event", f"{_HERE}.sts:Sts"),
    PolicyEntry(
        "sts-postprocessing", "sts, and idle GPUs of open nodes (VI-C)", f"{_HERE}.sts:Sts"
    ),
    PolicyEntry("edf", "earliest due date first", _QUEUE),
    PolicyEntry("fifo", "first come, first served", _QUEUE),
    PolicyEntry("rg", "randomised greedy", _GREEDY),
    PolicyEntry("dp", "dynamic programme over jobs x GPUs with the proxy (28)", _PROGRAMME),
    PolicyEntry(
        "price",
        "market prices for GPU time; jobs maximise value minus price",
        f"{_HERE}.price:Price",
    ),
    PolicyEntry("price-patterns", "price, with placement by a MILP over node patterns", _PATTERNS),
    PolicyEntry("avg-edf", "edf with expected run times", _QUEUE),
    PolicyEntry("avg-rg", "rg with expected run times", _GREEDY),
    PolicyEntry("avg-dp", "dp with expected run times", _PROGRAMME),
    *(
        PolicyEntry(
            name, f"each interval's optimum by {name}, rolled forward", _OPTIMUM, _FIRST_MODEL
        )
        for name in MODELS
    ),
    PolicyEntry("exact", "each interval's optimum, rolled forward", _OPTIMUM),
)

REPEAT_SEED_STRIDE = 1_000_003
"""Offset between seeds of repeated runs; larger than any range of workload seeds."""

POLICIES: dict[str, PolicyEntry] = {policy.name: policy for policy in _ALL}
"""Every policy, by name."""


def find_policy(name: str) -> PolicyEntry:
    if name not in POLICIES:
        raise InputError("roll", "policy", shown(name), suggestion(name, POLICIES))
    return POLICIES[name]


def make_policy(name: str, world: World, settings: Settings) -> Policy:
    """Create a policy for a run.

    Parameters
    ----------
    name : str
        A policy, such as sts.
    world : World
        The instance, prepared.
    settings : Settings
        The seed; `iterations` are the passes of ``rg`` at each decision (default 20), `deadline`
        limits a solver at a decision, which takes at most 5 s in any case. After the deadline
        `optsched.rolling.runs.Limited` decides instead of the policy.

    Returns
    -------
    Policy
        An object with ``decide(view)`` and ``wake``.

    Raises
    ------
    InputError
        For an unknown name, or options that it does not allow.

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
    from optsched.rolling.simulator.estimates import Knowledge  # imports numpy and numba

    entry = find_policy(name)
    world.selection_options.require_free_opening(name)
    seed = settings.seed + REPEAT_SEED_STRIDE * world.options.repeat
    policy: Policy = resolve(entry.make)(Knowledge(world).world, name, replace(settings, seed=seed))
    return policy
