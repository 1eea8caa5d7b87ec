"""Tables for every method: configurations, node classes and their expected costs.

Configuration c of a GPU type is k = 1..K whole GPUs (index k - 1) or one fraction of a GPU
(indices K, K+1, ..., largest fraction first). A node class is what nodes have in common: type,
number of GPUs and cost vector. Source: sts (P1), (19')-(21').
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from optsched.selection.instance import SelectionInstance
from optsched.selection.options import SelectionOptions
from optsched.uncertainty.works import Works

Floats = NDArray[np.float64]

CLOCK_ROUNDING = 1e-15
"""Relative rounding of a difference of two moments, to the moments."""


@dataclass(frozen=True)
class Configuration:
    """So many GPUs, or one fraction of one."""

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
class Kind:
    """A GPU type on the cluster: K of its largest node and its configurations."""

    name: str
    gpus: int
    configurations: tuple[Configuration, ...]

    def within(self, gpus: int) -> list[int]:
        """Indices of the configurations that a node of so many GPUs can give."""
        return [c for c, each in enumerate(self.configurations) if each.gpus <= gpus]

    @cached_property
    def fractions(self) -> list[int]:
        """Indices of the shared configurations."""
        return [c for c, each in enumerate(self.configurations) if each.shares]


@dataclass(frozen=True)
class NodeClass:
    """Nodes that differ in name only: v = (type, K, cost vector)."""

    kind: int
    gpus: int
    cost_rate: tuple[float, ...]
    nodes: tuple[int, ...]

    @cached_property
    def alike(self) -> NDArray[np.int64]:
        """The nodes, in an array."""
        return np.array(self.nodes)


@dataclass(frozen=True, eq=False)
class Tables:
    """Costs by job, type and configuration; infinite where the job cannot run so.

    Attributes
    ----------
    kinds, classes
        GPU types on the cluster, and node classes in the order of their first node.
    kind_of : array
        Type of each node.
    seconds : array (J, T, C)
        Seconds per epoch, slowdown included.
    works : Works
        Remaining epochs of each job.
    due_dates, weights : array (J,)
        d_j on the clock of the instance's ``now``; eta_j, dollars per second.
    """

    instance: SelectionInstance
    options: SelectionOptions
    kinds: tuple[Kind, ...]
    classes: tuple[NodeClass, ...]
    kind_of: NDArray[np.int64]
    seconds: Floats
    works: Works
    due_dates: Floats
    weights: Floats

    @property
    def jobs(self) -> int:
        """|J|."""
        return len(self.seconds)

    @property
    def most_open(self) -> int:
        """min(|J|, |N|), the right-hand side of (16)."""
        return min(self.jobs, len(self.kind_of))

    @cached_property
    def expected(self) -> Floats:
        """E[W_j] times the seconds of an epoch (J, T, C): expected seconds to completion."""
        return self.seconds * self.works.means[:, None, None]

    @cached_property
    def late(self) -> Floats:
        """eta_j E[(t W - d)^+], dollars (J, T, C)."""
        late = np.empty_like(self.seconds)
        for j, work in enumerate(self.works):
            late[j] = work.tardiness(self.seconds[j], float(self.due[j]))
        fits = np.isfinite(self.seconds)
        return np.where(fits, np.where(fits, late, 0.0) * self.weights[:, None, None], np.inf)

    @cached_property
    def postponed(self) -> Floats:
        """(20') eta_j (rho max(0, H + Tbar_j - d_j) + max(0, -d_j)), dollars (J,).

        Tbar_j is the most remaining epochs at the slowest admissible configuration.
        """
        slowest = np.where(np.isfinite(self.seconds), self.seconds, 0.0).max(axis=(1, 2))
        longest = self.instance.interval + slowest * self.works.most
        worst = np.maximum(longest - self.due, 0.0)
        penalty = self.instance.postponement_penalty
        return self.weights * (penalty * worst + np.maximum(-self.due, 0.0))

    @cached_property
    def least(self) -> Floats:
        """The least cost of each job in any role, energy left out (J,), dollars."""
        return np.minimum(self.late.reshape(self.jobs, -1).min(axis=1), self.postponed)

    def with_costs(self, **costs: Floats) -> Tables:
        """The same with other costs, by name: ``expected``, ``late`` or ``postponed``."""
        made = replace(self)
        known = {name: getattr(self, name) for name in ("expected", "late", "postponed")}
        made.__dict__.update(known | costs)
        return made

    @cached_property
    def dollars(self) -> float:
        """The models' unit of money: all jobs postponed, spread over the jobs.

        Where waiting is free, the dearest or latest that a job can run; 1 where nothing costs.
        """
        energy = self.longest * max(node.cost_rate[-1] for node in self.instance.nodes)
        latest = float(self.late[np.isfinite(self.late)].max())
        return float(self.postponed.mean()) or max(energy, latest) or 1.0

    @cached_property
    def longest(self) -> float:
        """Seconds of the longest expected completion."""
        return float(self.expected[np.isfinite(self.expected)].max())

    @cached_property
    def rounding(self) -> float:
        """Dollars that the clock's own rounding, in d_j - T_c, may leave of a cost."""
        now = abs(self.instance.now)
        jobs = self.instance.jobs
        return 1e-15 * sum(job.tardiness_weight * (abs(job.due_date) + now) for job in jobs)

    @cached_property
    def due(self) -> Floats:
        """d_j, seconds from now."""
        return self.due_dates - self.instance.now

    @cached_property
    def in_time(self) -> Floats:
        """d_j plus the clock's rounding: a job that ends by then is not late."""
        now = abs(float(self.instance.now))
        return self.due + CLOCK_ROUNDING * (now + np.abs(self.due_dates))

    @cached_property
    def worst(self) -> Floats:
        """Seconds to completion at w^max by job, type and configuration."""
        return self.seconds * self.works.most[:, None, None]


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
        Works.given(epochs).after(np.arange(len(epochs)), completed),
        np.array([float(job.due_date) for job in instance.jobs]),
        np.array([float(job.tardiness_weight) for job in instance.jobs]),
    )


def energy_rate(tables: Tables, node: int, used: int) -> float:
    """c_nk for k GPUs in use, dollars per second; 0 for none."""
    return tables.instance.nodes[node].cost_rate[used - 1] if used else 0.0


def type_rates(tables: Tables, kind: int) -> Floats:
    """Dollars per second with 1..K GPUs of a type: those of its largest node, the cheapest one."""
    most = tables.kinds[kind].gpus
    return np.array(min(c.cost_rate for c in tables.classes if c.kind == kind and c.gpus == most))


def _kinds(instance: SelectionInstance, options: SelectionOptions) -> tuple[Kind, ...]:
    kinds = []
    for name, gpus in instance.largest.items():
        whole = [Configuration(k) for k in range(1, gpus + 1)]
        fractions = instance.gpu_types[name].fractions if options.shares else ()
        kinds.append(Kind(name, gpus, (*whole, *(Configuration(1, f) for f in fractions))))
    return tuple(kinds)


def _classes(instance: SelectionInstance, index: dict[str, int]) -> tuple[NodeClass, ...]:
    found: dict[tuple[int, int, tuple[float, ...]], list[int]] = {}
    for n, node in enumerate(instance.nodes):
        key = (index[node.gpu_type], node.gpus, tuple(float(c) for c in node.cost_rate))
        found.setdefault(key, []).append(n)
    return tuple(NodeClass(*key, tuple(nodes)) for key, nodes in found.items())


def _seconds(instance: SelectionInstance, kinds: tuple[Kind, ...]) -> Floats:
    widest = max(len(kind.configurations) for kind in kinds)
    seconds = np.full((len(instance.jobs), len(kinds), widest), np.inf)
    memory = np.array([float(job.memory_bytes) for job in instance.jobs])
    for t, kind in enumerate(kinds):
        gpu = instance.gpu_types[kind.name]
        able = np.array([kind.name in job.epoch_time for job in instance.jobs])
        able &= memory <= gpu.room(Fraction(1))
        times = [instance.jobs[j].epoch_time[kind.name] for j in np.flatnonzero(able)]
        if times:
            seconds[able, t, : kind.gpus] = times
        for c in kind.fractions:
            fraction = kind.configurations[c].fraction
            fits = able & (memory <= gpu.room(fraction))
            seconds[fits, t, c] = seconds[fits, t, 0] * gpu.slowdown_of(fraction)
    return seconds
