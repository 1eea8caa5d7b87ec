"""The policies by name. Each is made fresh for a run, because it may remember."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from optsched.errors import InputError, shown
from optsched.rolling.policies.greedy import DynamicProgramme, Queue, RandomisedGreedy
from optsched.rolling.policies.interval_optimum import NAMES, IntervalOptimum
from optsched.rolling.policies.price import Price, PriceConstants
from optsched.rolling.policies.sts import Sts
from optsched.rolling.simulator.simulator import Policy
from optsched.rolling.simulator.world import World


@dataclass(frozen=True)
class RollingSettings:
    """What a caller may ask of the policies.

    Attributes
    ----------
    seed : int
        Of every random choice, and of the true epochs.
    iterations : int or None
        Passes of ``rg`` at each decision (default 20).
    time_limit : float or None
        Seconds of ``patterns``, the other optima of intervals, and the assignment of
        ``price-patterns`` at each decision.
    postprocessing : bool
        Whether ``sts`` hands idle GPUs of open nodes out.
    constants : PriceConstants or None
        Of ``price``.
    """

    seed: int = 0
    iterations: int | None = None
    time_limit: float | None = None
    postprocessing: bool = False
    constants: PriceConstants | None = None


Maker = Callable[[World, RollingSettings], Policy]


def _queue(name: str, *, by_due_date: bool, average: bool) -> Maker:
    return lambda world, _: Queue(world, name, by_due_date=by_due_date, average=average)


def _rg(name: str, *, average: bool) -> Maker:
    return lambda world, settings: RandomisedGreedy(
        world, name, average=average, seed=settings.seed, starts=settings.iterations
    )


def _dp(name: str, *, average: bool) -> Maker:
    return lambda world, _: DynamicProgramme(world, name, average=average)


def _optimum(name: str) -> Maker:
    return lambda world, settings: IntervalOptimum(
        world, name, time_limit=settings.time_limit, seed=settings.seed
    )


def _sts(world: World, settings: RollingSettings) -> Policy:
    return Sts(world, postprocessing=settings.postprocessing)


POLICIES: dict[str, Maker] = {
    "sts": _sts,
    "edf": _queue("edf", by_due_date=True, average=False),
    "fifo": _queue("fifo", by_due_date=False, average=False),
    "rg": _rg("rg", average=False),
    "dp": _dp("dp", average=False),
    "price": lambda world, s: Price(world, constants=s.constants),
    "price-patterns": lambda world, s: Price(
        world,
        "price-patterns",
        constants=s.constants,
        by_patterns=True,
        time_limit=s.time_limit,
    ),
    "avg-edf": _queue("avg-edf", by_due_date=True, average=True),
    "avg-rg": _rg("avg-rg", average=True),
    "avg-dp": _dp("avg-dp", average=True),
    **{name: _optimum(name) for name in NAMES},
}


def policy(name: str, world: World, settings: RollingSettings) -> Policy:
    """A fresh policy; raises InputError for an unknown name."""
    if name not in POLICIES:
        raise InputError("roll", "policy", shown(name), f"one of {', '.join(POLICIES)}")
    world.options.require_free_opening(name)
    return POLICIES[name](world, settings)
