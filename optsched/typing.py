"""Types of the public functions: what an instance, a solution, a run or a method may be.

For annotations: `Instance` is what `optsched.load` and `optsched.generate` return, one class a
problem, distinguished by ``isinstance``. An installed package's problems have classes of their own.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol, TypeAlias

import pyomo.environ as pyo

from optsched.conflict import Conflict as Conflict
from optsched.makespan.explain import MakespanBreakdown as MakespanBreakdown
from optsched.makespan.instance import MakespanInstance as MakespanInstance
from optsched.makespan.solution import MakespanSolution as MakespanSolution
from optsched.modelling import ModelSummary as ModelSummary
from optsched.online import records as online_records
from optsched.online import runs as online_runs
from optsched.online.explain import OnlineBreakdown as OnlineBreakdown
from optsched.online.instance import OnlineInstance as OnlineInstance
from optsched.online.solution import OnlineSolution as OnlineSolution
from optsched.packing.explain import Breakdown as PackingBreakdown
from optsched.packing.instance import PackingInstance as PackingInstance
from optsched.packing.solution import PackingSolution as PackingSolution
from optsched.placement.explain import Breakdown as PlacementBreakdown
from optsched.placement.instance import PlacementInstance as PlacementInstance
from optsched.placement.solution import PlacementSolution as PlacementSolution
from optsched.problem import Method
from optsched.result import Result
from optsched.rolling import records as rolling_records
from optsched.rolling import runs as rolling_runs
from optsched.rolling.explain import RollingBreakdown as RollingBreakdown
from optsched.rolling.instance import RollingInstance as RollingInstance
from optsched.rolling.solution import RollingSolution as RollingSolution
from optsched.selection.explain import Breakdown as SelectionBreakdown
from optsched.selection.instance import SelectionInstance as SelectionInstance
from optsched.selection.solution import SelectionSolution as SelectionSolution
from optsched.speed_profile.explain import Breakdown as SpeedProfileBreakdown
from optsched.speed_profile.instance import SpeedProfileInstance as SpeedProfileInstance
from optsched.speed_profile.solution import SpeedProfileSolution as SpeedProfileSolution

Instance: TypeAlias = (
    PlacementInstance
    | MakespanInstance
    | SelectionInstance
    | SpeedProfileInstance
    | RollingInstance
    | OnlineInstance
    | PackingInstance
)
Solution: TypeAlias = (
    PlacementSolution
    | MakespanSolution
    | SelectionSolution
    | SpeedProfileSolution
    | RollingSolution
    | OnlineSolution
    | PackingSolution
)
Breakdown: TypeAlias = (
    PlacementBreakdown
    | MakespanBreakdown
    | SelectionBreakdown
    | SpeedProfileBreakdown
    | RollingBreakdown
    | OnlineBreakdown
    | PackingBreakdown
)
Explained: TypeAlias = Breakdown | Conflict | ModelSummary
"""Result of `optsched.explain`: a breakdown, a conflict or the summary of a model."""
Run: TypeAlias = (
    rolling_records.Records | online_records.Records | rolling_runs.Run | online_runs.Run
)
"""A run of an online or rolling policy: records, or records with metrics."""


class Policy(Protocol):
    """A policy of the caller's; see `optsched.online.policies` and `optsched.rolling`."""

    @property
    def schedule(self) -> Callable[..., object]:
        """Return the decision for the current state."""


InstanceLike: TypeAlias = Instance | Mapping[str, object] | str | Path
"""An instance, the mapping of its file, the file, its folder or its name."""
MethodLike: TypeAlias = str | Method | Policy | Callable[..., object] | pyo.ConcreteModel
"""A method's name, its import path ``module:name``, or a method or policy of the caller's."""
SolutionLike: TypeAlias = Solution | Result | Run | pyo.ConcreteModel | str | Path
"""A solution, the result or solved model that has it, its run's records, or its file."""
Instances: TypeAlias = InstanceLike | Iterable[InstanceLike]
