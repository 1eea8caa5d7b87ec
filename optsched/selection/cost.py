"""Tables for every method: configurations, node classes and their expected costs.

Configuration c of a GPU type is k = 1..K whole GPUs (index k - 1) or one fraction of a GPU (indices
K, K+1, ..., largest fraction first). A node class groups nodes with equal type, number of GPUs and
cost vector. Source: sts (P1), (19')-(21').
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.arrays import Floats as Floats
from optsched.selection.instance import SelectionInstance
from optsched.selection.options import SelectionOptions
from optsched.uncertainty.remaining_epochs import RemainingEpochs

TARDINESS = "least tardiness of each job"
"""Source of the bound `Tables.unavoidable_cost`."""
CLOCK_ROUNDING = 1e-15
"""Rounding error of a difference of two times, relative to the times."""


@dataclass(frozen=True)
class Configuration:
    """A number of whole GPUs, or one fraction of a GPU."""

    gpus: int
    fraction: Fraction = Fraction(1)

    @cached_property
    def shares(self) -> bool:
        """True for a fraction below 1."""
        return self.fraction != 1

    @cached_property
    def share(self) -> float:
        """The fraction, rounded."""
        return float(self.fraction)

    def __str__(self) -> str:
        return f"{self.share:g}" if self.shares else str(self.gpus)


@dataclass(frozen=True)
class GpuKind:
    """A GPU type on the cluster, the GPUs of its largest node, and its configurations."""

    name: str
    gpus: int
    configurations: tuple[Configuration, ...]

    def configurations_within(self, gpus: int) -> list[int]:
        """Indices of the configurations that a node of so many GPUs can give."""
        return [c for c, one in enumerate(self.configurations) if one.gpus <= gpus]

    def configuration_of(self, gpus: int, fraction: float) -> int:
        """Index of the configuration of some whole GPUs or of a fraction."""
        return next(
            (c for c in self.fractions if self.configurations[c].share == fraction), gpus - 1
        )

    @cached_property
    def fractions(self) -> list[int]:
        """Indices of the shared configurations."""
        return [c for c, one in enumerate(self.configurations) if one.shares]


@dataclass(frozen=True)
class NodeClass:
    """Nodes that differ in name only: v = (type, K, cost vector)."""

    kind: int
    gpus: int
    cost_rate: tuple[float, ...]
    nodes: tuple[int, ...]

    @cached_property
    def node_array(self) -> NDArray[np.int64]:
        return np.array(self.nodes)


@dataclass(frozen=True, eq=False)
class Tables:
    """Costs by job, type and configuration; infinite where the configuration is not admissible.

    `classes` are in the order of their first node, `kind_of` (N,) is the type of each node,
    `seconds` (J, T, C) are per epoch, slowdown included; `due_dates` (J,) are on the clock of the
    instance's ``now``, `weights` (J,) are eta_j in dollars per second.
    """

    instance: SelectionInstance
    options: SelectionOptions
    kinds: tuple[GpuKind, ...]
    classes: tuple[NodeClass, ...]
    kind_of: NDArray[np.int64]
    seconds: Floats
    works: RemainingEpochs
    due_dates: Floats
    weights: Floats

    @property
    def jobs(self) -> int:
        """|J|."""
        return len(self.seconds)

    @property
    def max_open_nodes(self) -> int:
        """min(|J|, |N|), the right-hand side of (16)."""
        return min(self.jobs, len(self.kind_of))

    @cached_property
    def expected(self) -> Floats:
        """E[W_j] times the seconds of an epoch (J, T, C): expected seconds to completion."""
        return self.seconds * self.works.means[:, None, None]

    @cached_property
    def scenarios(self) -> RemainingEpochs:
        """W_j of (19'), or E[W_j] alone where (19) is as printed."""
        if self.options.tardiness == "expected":
            return self.works
        return RemainingEpochs(self.works.means, np.ones(self.jobs), np.arange(self.jobs + 1))

    @cached_property
    def overdue(self) -> Floats:
        """Seconds that overdue jobs pay rho eta_j for in any case (J,): (20) as printed."""
        is_printed = self.options.postponement == "printed"
        return np.maximum(-self.due, 0.0) if is_printed else np.zeros(self.jobs)

    @cached_property
    def tardiness_cost(self) -> Floats:
        """eta_j (E[(t W - d)^+] + rho `overdue`), dollars (J, T, C)."""
        tardiness = np.empty_like(self.seconds)
        overdue = self.instance.postponement_penalty * self.overdue
        for j, work in enumerate(self.scenarios):
            tardiness[j] = work.tardiness(self.seconds[j], float(self.due[j])) + overdue[j]
        fits = np.isfinite(self.seconds)
        return np.where(fits, np.where(fits, tardiness, 0.0) * self.weights[:, None, None], np.inf)

    @cached_property
    def worst_tardiness(self) -> Floats:
        """H + Tbar_j - d_j, seconds (J,), Tbar_j of the slowest configuration; may be negative."""
        seconds = np.where(np.isfinite(self.seconds), self.worst_case_seconds, 0.0)
        return self.instance.interval + seconds.max(axis=(1, 2)) - self.due

    @cached_property
    def postponement_cost(self) -> Floats:
        """(20') eta_j (rho max(0, H + Tbar_j - d_j) + max(0, -d_j)), dollars (J,)."""
        worst = self.instance.postponement_penalty * np.maximum(self.worst_tardiness, 0.0)
        return self.weights * (worst + np.maximum(-self.due, 0.0))

    @cached_property
    def min_cost(self) -> Floats:
        """The least cost of each job in any role, energy left out (J,), dollars."""
        return np.minimum(
            self.tardiness_cost.reshape(self.jobs, -1).min(axis=1), self.postponement_cost
        )

    @property
    def unavoidable_cost(self) -> float:
        """Dollars of all jobs, each in its cheapest role, energy left out: a lower bound."""
        return float(self.min_cost.sum())

    def with_costs(self, **costs: Any) -> Tables:
        """Return a copy with other costs by name: ``expected``, ``tardiness_cost``, ..."""
        copy = replace(self)
        names = ("expected", "tardiness_cost", "postponement_cost")
        copy.__dict__.update({name: getattr(self, name) for name in names} | costs)
        return copy

    @cached_property
    def money_unit(self) -> float:
        """Dollars per unit of the models' money: mean postponement cost, or the largest other."""
        energy = self.max_expected_seconds * max(node.cost_rate[-1] for node in self.instance.nodes)
        largest_tardiness_cost = float(self.tardiness_cost[np.isfinite(self.tardiness_cost)].max())
        return float(self.postponement_cost.mean()) or max(energy, largest_tardiness_cost) or 1.0

    @cached_property
    def max_expected_seconds(self) -> float:
        """Seconds of the longest expected completion."""
        return float(self.expected[np.isfinite(self.expected)].max())

    @cached_property
    def rounding(self) -> float:
        """Rounding error of the total cost caused by d_j - T_c, in dollars."""
        now = abs(self.instance.now)
        jobs = self.instance.jobs
        return CLOCK_ROUNDING * sum(
            job.tardiness_weight * (abs(job.due_date) + now) for job in jobs
        )

    @cached_property
    def due(self) -> Floats:
        """d_j, seconds from now."""
        return self.due_dates - self.instance.now

    @cached_property
    def latest_on_time(self) -> Floats:
        """d_j plus the clock's rounding: a job that ends by then is not late."""
        now = abs(float(self.instance.now))
        return self.due + CLOCK_ROUNDING * (now + np.abs(self.due_dates))

    @cached_property
    def worst_case_seconds(self) -> Floats:
        """Seconds to completion at w^max by job, type and configuration."""
        return self.seconds * self.works.max_epochs[:, None, None]


def tables_of(instance: SelectionInstance, options: SelectionOptions) -> Tables:
    """Tabulate an instance's costs. Complexity: O(jobs x configurations x scenarios).

    Parameters
    ----------
    instance : SelectionInstance
        The instance.
    options : SelectionOptions
        The problem's options.

    Returns
    -------
    Tables
        Seconds, dollars and expected lateness by job, type and configuration.

    Examples
    --------
    >>> import optsched
    >>> tables = tables_of(optsched.load("selection/3x6"), SelectionOptions())
    >>> tables.seconds.shape
    (6, 3, 4)
    """
    kinds = _kinds(instance, options)
    index = {kind.name: t for t, kind in enumerate(kinds)}
    completed = np.array([float(job.completed_epochs) for job in instance.jobs])
    epochs = [(job.epochs.values, job.epochs.probabilities) for job in instance.jobs]
    return Tables(
        instance,
        options,
        kinds,
        _classes(instance, index),
        np.array([index[node.gpu_type] for node in instance.nodes]),
        _seconds(instance, kinds),
        RemainingEpochs.from_lists(epochs).conditioned_on(np.arange(len(epochs)), completed),
        np.array([float(job.due_date) for job in instance.jobs]),
        np.array([float(job.tardiness_weight) for job in instance.jobs]),
    )


def energy_rate(tables: Tables, node: int, used: int) -> float:
    """c_nk for k GPUs in use, dollars per second; 0 for none."""
    return tables.instance.nodes[node].cost_rate[used - 1] if used else 0.0


def type_rates(tables: Tables, kind: int) -> Floats:
    """Dollars per second with 1..K GPUs of a type, of its largest node of lowest cost vector."""
    largest = [c for c in tables.classes if c.kind == kind and c.gpus == tables.kinds[kind].gpus]
    return np.array(min(node_class.cost_rate for node_class in largest))


def _kinds(instance: SelectionInstance, options: SelectionOptions) -> tuple[GpuKind, ...]:
    kinds = []
    for name, gpus in instance.largest.items():
        whole = [Configuration(k) for k in range(1, gpus + 1)]
        fractions = instance.gpu_types[name].fractions if options.shares else ()
        kinds.append(GpuKind(name, gpus, (*whole, *(Configuration(1, f) for f in fractions))))
    return tuple(kinds)


def _classes(instance: SelectionInstance, index: dict[str, int]) -> tuple[NodeClass, ...]:
    nodes_by_class: dict[tuple[int, int, tuple[float, ...]], list[int]] = {}
    for n, node in enumerate(instance.nodes):
        key = (index[node.gpu_type], node.gpus, tuple(float(c) for c in node.cost_rate))
        nodes_by_class.setdefault(key, []).append(n)
    return tuple(NodeClass(*key, tuple(nodes)) for key, nodes in nodes_by_class.items())


def _seconds(instance: SelectionInstance, kinds: tuple[GpuKind, ...]) -> Floats:
    max_configurations = max(len(kind.configurations) for kind in kinds)
    seconds = np.full((len(instance.jobs), len(kinds), max_configurations), np.inf)
    memory = np.array([float(job.memory_bytes) for job in instance.jobs])
    for t, kind in enumerate(kinds):
        gpu = instance.gpu_types[kind.name]
        is_usable = np.array([kind.name in job.epoch_time for job in instance.jobs])
        is_usable &= memory <= gpu.memory_of(Fraction(1))
        times = [instance.jobs[j].epoch_time[kind.name] for j in np.flatnonzero(is_usable)]
        if times:
            seconds[is_usable, t, : kind.gpus] = times
        for c in kind.fractions:
            fraction = kind.configurations[c].fraction
            fits = is_usable & (memory <= gpu.memory_of(fraction))
            seconds[fits, t, c] = seconds[fits, t, 0] * gpu.slowdown_of(fraction)
    return seconds
