"""The options of runs over time: the options of selection, and the price policy's constants."""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from optsched.declared import Between, Options
from optsched.selection.options import SelectionOptions

Weight = Annotated[float, Between(0, 1e6)]
Rounds = Annotated[int, Between(1, 100)]


@dataclass(frozen=True)
class PriceConstants(Options):
    """The policy's constants: tuned once on other seeds of the same workloads.

    `python docs/beyond/make.py price-robustness -o results` measures their robustness.
    """

    omitted_defaults: ClassVar[tuple[str, ...]] = (
        *("wake", "price_share", "congestion_weight", "congestion_start"),
        *("most_congestion", "memory", "rounds", "bisections"),
    )

    wake: Annotated[float, Between(1, 1e9)] = 900.0  # maximum seconds between decisions
    price_share: Weight = 0.4  # share of the mean price added to the planned cost of a GPU second
    # an epoch's value grows by weight x (g - start) when the backlog g exceeds start
    congestion_weight: Weight = 0.5
    congestion_start: Weight = 0.3
    most_congestion: Weight = 3.0  # cap on g
    # weight of the previous mean price in exponential smoothing
    memory: Annotated[float, Between(0, 1)] = 0.5
    rounds: Rounds = 3  # rounds over GPU types and bisection steps of the price search
    bisections: Rounds = 14


@dataclass(frozen=True)
class RollingOptions(Options):
    """Options of a run except its seed."""

    omitted_defaults: ClassVar[tuple[str, ...]] = ("knowledge", "repeat")

    selection: SelectionOptions = field(  # over time ``postprocessing`` is off unless asked for
        default_factory=lambda: SelectionOptions(postprocessing="off")
    )
    # of the policies ``price`` and ``price-patterns``
    constants: PriceConstants = field(default_factory=PriceConstants)
    # whether policies see the jobs' epochs and epoch times, or estimates from ended jobs
    knowledge: Literal["true", "estimated"] = "true"
    # index of the replication of a randomised policy (same true epochs)
    repeat: Annotated[int, Between(0, 1_000_000)] = 0
