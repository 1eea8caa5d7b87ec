"""Data of the offline model of (8): occupancies, their best placements, and slots.

An occupancy is how many GPUs a job takes on how many servers, a partition of g_i. Which servers
they are does not change alpha, so that each occupancy has one best placement.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, takewhile
from typing import NamedTuple

import numpy as np

from optsched.deadline import OutOfTimeError
from optsched.errors import NotApplicableError
from optsched.makespan.models.data import grouped
from optsched.online.data.jobs import SLOT_RTOL, Jobs
from optsched.online.policies.by_name import OFFLINE
from optsched.online.simulator.event_loop import next_multiple
from optsched.placement.exact.exact import exact
from optsched.placement.instance import SCHEMA, PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.progress import Progress
from optsched.result import Settings, Termination

MAX_OCCUPANCIES = 500
"""Occupancies of all configurations together; each needs an exact placement."""

Occupancy = tuple[int, ...]
"""GPUs by server, in descending order."""


class Placed(NamedTuple):
    """Best placement of an occupancy: seconds an iteration, and replicas by server and stage."""

    alpha: float
    replicas: tuple[tuple[int, ...], ...]


class Run(NamedTuple):
    """A job, the name of its occupancy in the model, and its start slot."""

    job: int
    occupancy: str
    start: int


class Window(NamedTuple):
    """Maintenance of servers, in seconds from the first submission."""

    start: float
    end: float
    servers: list[int]


def name_of(occupancy: Occupancy) -> str:
    """Name of an occupancy in the model: "4+2"."""
    return "+".join(map(str, occupancy))


def occupancies(gpus: int, servers: Sequence[int]) -> Iterator[Occupancy]:
    """Yield the partitions of `gpus` that servers can hold; the largest servers come first."""
    if gpus == 0:
        yield ()
    for part in range(min([gpus, *servers[:1]]), 0, -1):
        room = [min(part, size) for size in servers]
        if sum(room) < gpus:
            break
        for rest in occupancies(gpus - part, room[1:]):
            yield (part, *rest)


def best_placements(jobs: Jobs, settings: Settings) -> list[dict[str, Placed]]:
    """Return each configuration's best placement by occupancy.

    Raises OutOfTimeError, and NotApplicableError for too many occupancies or without a proof.
    """
    servers = np.sort(jobs.cluster.server_gpus)[::-1]
    listed = [
        list(islice(occupancies(job.gpus, servers[: job.gpus].tolist()), MAX_OCCUPANCIES + 1))
        for job in jobs.configurations.jobs
    ]
    if sum(map(len, listed)) > MAX_OCCUPANCIES:
        found = f"more than {MAX_OCCUPANCIES} ways to spread the jobs' GPUs over servers"
        raise NotApplicableError(OFFLINE, found, f"at most {MAX_OCCUPANCIES}")
    exactly = replace(settings, gap=0.0, iterations=None, start=None, progress=Progress())
    placements: list[dict[str, Placed]] = []
    for configuration, choices in enumerate(listed):
        placed = {each: _best_placement(jobs, configuration, each, exactly) for each in choices}
        placements.append({name_of(each): best for each, best in placed.items() if best})
    return placements


def _best_placement(
    jobs: Jobs, configuration: int, occupancy: Occupancy, settings: Settings
) -> Placed | None:
    """Return the placement of minimum alpha; None if tensor slices do not fit."""
    job = jobs.configurations.jobs[configuration]
    instance = PlacementInstance(
        schema=SCHEMA,
        version=1,
        name=job.model,
        cluster=jobs.cluster.hardware,
        free_gpus=occupancy,
        job=job,
    )
    outcome = exact(instance, PlacementOptions(), settings)
    if outcome.termination is Termination.INFEASIBLE:
        return None
    if settings.deadline.is_over:
        raise OutOfTimeError
    if outcome.termination is not Termination.OPTIMAL or outcome.claimed is None:
        found = f"no proof of the best placement of {job.model} on {name_of(occupancy)} GPUs"
        raise NotApplicableError(OFFLINE, found, "placements that `exact` proves")
    replicas = np.array(outcome.solution.counts, dtype=int).T.tolist()
    return Placed(outcome.claimed, tuple(map(tuple, replicas)))


@dataclass(frozen=True, eq=False)
class OfflineData:
    """Jobs, slot (s) and best placements by configuration.

    Attributes
    ----------
    incumbent : float
        Total flow (s) that pruned data may not exceed; infinite for complete data.
    """

    jobs: Jobs
    slot: float
    placements: list[dict[str, Placed]]
    incumbent: float = np.inf

    @property
    def pruned(self) -> bool:
        return bool(np.isfinite(self.incumbent))

    def slot_from(self, time: float) -> int:
        """First slot at or after a time."""
        return round(next_multiple(time, self.slot) / self.slot)

    @cached_property
    def first_slot(self) -> list[int]:
        """First slot at or after each job's submission, (1)."""
        return [self.slot_from(submit) for submit in self.jobs.submit.tolist()]

    def placement(self, job: int, occupancy: str) -> Placed:
        return self.placements[self.jobs.configuration[job]][occupancy]

    def length(self, job: int, occupancy: str) -> float:
        """n_i alpha_i(o), in seconds."""
        return float(self.jobs.iterations[job]) * self.placement(job, occupancy).alpha

    def slots(self, job: int, occupancy: str) -> int:
        """Number of slots for which the job holds its GPUs."""
        return max(1, int(np.ceil(self.length(job, occupancy) / self.slot - SLOT_RTOL)))

    def end(self, run: Run) -> float:
        """End in seconds, not a rounding after its last slot or the start of a window."""
        slots = run.start + self.slots(run.job, run.occupancy)
        length = self.length(run.job, run.occupancy)
        end = min(run.start * self.slot + length, slots * self.slot)
        rounding = SLOT_RTOL * self.slot
        return min([end, *(w.start for w in self.windows if 0 < end - w.start <= rounding)])

    def flow(self, run: Run) -> float:
        """Flow time of a job with this run, in slots."""
        seconds = self.length(run.job, run.occupancy) - float(self.jobs.submit[run.job])
        return run.start + seconds / self.slot

    @cached_property
    def choices(self) -> list[tuple[int, str]]:
        """Pairs (job, occupancy)."""
        by_job = enumerate(self.jobs.configuration.tolist())
        return [(i, name) for i, configuration in by_job for name in self.placements[configuration]]

    @cached_property
    def windows(self) -> list[Window]:
        """Maintenance windows that end after the first submission, by start."""
        origin, cluster = self.jobs.first_submission, self.jobs.cluster
        windows = [
            Window(each.start - origin, each.end - origin, each.indices(cluster.num_servers))
            for each in cluster.maintenance
        ]
        return sorted(window for window in windows if window.end > 0)

    def reached(self, run: Run) -> list[int]:
        """Indices of the windows that overlap a run's planned length, with the audit's rounding."""
        start, end, walltime = run.start * self.slot, self.end(run), self.jobs.workload.walltime
        if walltime is not None:
            end = float(np.fmax(end, start + walltime[run.job] - 4 * np.spacing(end)))
        before = takewhile(lambda window: window.start < end, self.windows)
        return [w for w, window in enumerate(before) if window.end > start]

    def is_open(self, run: Run) -> bool:
        """Whether the servers without a window that the run reaches have the job's GPUs."""
        closed = {m for w in self.reached(run) for m in self.windows[w].servers}
        gpus = np.delete(self.jobs.cluster.server_gpus, [*closed]).sum()
        return bool(gpus >= self.jobs.gpus[run.job])

    @cached_property
    def quotas(self) -> list[tuple[int, list[int]]]:
        """Quota of each user and group that has one, and its jobs."""
        table, quotas = self.jobs.workload, self.jobs.cluster.quotas
        return [
            (limit[name], np.flatnonzero(labels.codes == code).tolist())
            for labels, limit in ((table.user, quotas.users), (table.group, quotas.groups))
            for code, name in enumerate(labels.values)
            if name in limit
        ]

    @cached_property
    def server_classes(self) -> list[list[int]]:
        """Servers with equal GPUs and windows."""
        kinds = (
            ((gpus, *(window[:2] for window in self.windows if m in window.servers)), m)
            for m, gpus in enumerate(self.jobs.cluster.server_gpus.tolist())
        )
        return list(grouped(kinds).values())

    @cached_property
    def last_start(self) -> dict[tuple[int, str], int]:
        """Last start slot by job and occupancy.

        Complete data end where the jobs could run one after another from the last submission and
        window on; pruned data where the other jobs' least flows leave no time below the incumbent.
        """
        slots: dict[int, int] = {}
        least: dict[int, float] = {}
        window_ends = [self.slot_from(window.end) for window in self.windows]
        for i, name in self.choices:
            first = self.first_slot[i]
            runs = (Run(i, name, t) for t in (first, *window_ends) if t >= first)
            slots[i] = max(slots.get(i, 0), self.slots(i, name))
            flow = min(self.flow(run) for run in runs if self.is_open(run))
            least[i] = min(least.get(i, np.inf), flow)
        if not self.pruned:
            end = max([*self.first_slot, *window_ends], default=0) + sum(slots.values())
            return {(i, name): end - self.slots(i, name) for i, name in self.choices}
        spare = self.incumbent / self.slot * (1 + SLOT_RTOL) - sum(least.values())
        return {
            (i, name): int(np.floor(least[i] + spare - self.flow(Run(i, name, 0)) + SLOT_RTOL))
            for i, name in self.choices
        }

    @cached_property
    def runs(self) -> list[Run]:
        """Every run of the model."""
        return [
            Run(i, name, t)
            for i, name in self.choices
            for t in range(self.first_slot[i], self.last_start[i, name] + 1)
            if not self.windows or self.is_open(Run(i, name, t))
        ]

    @property
    def nonzeros(self) -> int:
        servers = self.jobs.cluster.num_servers
        return sum(
            max(0, self.last_start[i, name] + 1 - self.first_slot[i])
            * (self.slots(i, name) * (servers + 1) + 5)
            for i, name in self.choices
        )
