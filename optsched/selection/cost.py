"""What every method computes with: configurations, node classes and their expected costs.

Configuration c of a GPU type is k = 1..K whole GPUs (index k - 1) or one fraction of a GPU
(indices K, K+1, ..., largest fraction first). A node class is what nodes have in common: type,
number of GPUs and cost vector. Source: sts (P1), (19')-(21').
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from optsched.selection.instance import SelectionInstance, SelectionJob
from optsched.selection.options import SelectionOptions
from optsched.uncertainty.distribution import Distribution

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

    def __str__(self) -> str:
        return f"{float(self.fraction):g}" if self.shares else str(self.gpus)


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
    expected : array (J, T, C)
        E[W_j] times that: expected seconds to completion.
    late : array (J, T, C)
        eta_j E[(t W - d)^+], dollars.
    postponed : array (J,)
        eta_j (rho max(0, H + Tbar_j - d_j) + max(0, -d_j)), dollars.
    works : tuple of Distribution
        Remaining epochs of each job.
    """

    instance: SelectionInstance
    options: SelectionOptions
    kinds: tuple[Kind, ...]
    classes: tuple[NodeClass, ...]
    kind_of: NDArray[np.int64]
    seconds: Floats
    expected: Floats
    late: Floats
    postponed: Floats
    works: tuple[Distribution, ...]

    @property
    def jobs(self) -> int:
        """|J|."""
        return len(self.postponed)

    @property
    def most_open(self) -> int:
        """min(|J|, |N|), the right-hand side of (16)."""
        return min(self.jobs, len(self.kind_of))

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
        return np.array([self.instance.due_in(job) for job in self.instance.jobs])

    @cached_property
    def in_time(self) -> Floats:
        """d_j and what rounding of the clock may have taken from it: no later is not late."""
        now = abs(float(self.instance.now))
        moments = np.array([now + abs(float(job.due_date)) for job in self.instance.jobs])
        return self.due + CLOCK_ROUNDING * moments

    @cached_property
    def worst(self) -> Floats:
        """Seconds to completion at w^max by job, type and configuration."""
        most = np.array([work.most for work in self.works])
        return self.seconds * most[:, None, None]


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
    """
    kinds = _kinds(instance, options)
    index = {kind.name: t for t, kind in enumerate(kinds)}
    works = tuple(_work(job) for job in instance.jobs)
    seconds = _seconds(instance, kinds)
    means = np.array([work.mean for work in works])
    weights = np.array([job.tardiness_weight for job in instance.jobs])
    late = np.empty_like(seconds)
    for j, (job, work) in enumerate(zip(instance.jobs, works, strict=True)):
        late[j] = work.tardiness(seconds[j], instance.due_in(job))
    fits = np.isfinite(seconds)
    late = np.where(fits, np.where(fits, late, 0.0) * weights[:, None, None], np.inf)
    return Tables(
        instance,
        options,
        kinds,
        _classes(instance, index),
        np.array([index[node.gpu_type] for node in instance.nodes]),
        seconds,
        seconds * means[:, None, None],
        late,
        _postponed(instance, seconds, works, weights),
        works,
    )


def energy_rate(tables: Tables, node: int, used: int) -> float:
    """c_nk for k GPUs in use, dollars per second; 0 for none.

    Parameters
    ----------
    tables : Tables
        What each choice costs; see `tables_of`.
    node : int
        Its index.
    used : int
        k.
    """
    return tables.instance.nodes[node].cost_rate[used - 1] if used else 0.0


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


def _work(job: SelectionJob) -> Distribution:
    work = Distribution.of(job.epochs.values, job.epochs.probabilities)
    left = work.remaining(job.completed_epochs)
    assert left is not None  # the instance refuses such a job
    return left


def _seconds(instance: SelectionInstance, kinds: tuple[Kind, ...]) -> Floats:
    widest = max(len(kind.configurations) for kind in kinds)
    seconds = np.full((len(instance.jobs), len(kinds), widest), np.inf)
    for t, kind in enumerate(kinds):
        gpu = instance.gpu_types[kind.name]
        shared = [kind.configurations[c].fraction for c in kind.fractions]
        slowdowns = [gpu.slowdown_of(fraction) for fraction in shared]
        for j, job in enumerate(instance.jobs):
            if kind.name not in job.epoch_time or not gpu.holds(job.memory_bytes, Fraction(1)):
                continue
            times = job.epoch_time[kind.name]
            seconds[j, t, : kind.gpus] = times
            for c, fraction, slowdown in zip(kind.fractions, shared, slowdowns, strict=True):
                if gpu.holds(job.memory_bytes, fraction):
                    seconds[j, t, c] = times[0] * slowdown
    return seconds


def _postponed(
    instance: SelectionInstance,
    seconds: Floats,
    works: tuple[Distribution, ...],
    weights: Floats,
) -> Floats:
    """(20'): Tbar_j is the most remaining epochs at the slowest admissible configuration."""
    slowest = np.where(np.isfinite(seconds), seconds, 0.0).max(axis=(1, 2))
    most = np.array([work.most for work in works])
    due = np.array([instance.due_in(job) for job in instance.jobs])
    worst = np.maximum(instance.interval + slowest * most - due, 0.0)
    return weights * (instance.postponement_penalty * worst + np.maximum(-due, 0.0))
