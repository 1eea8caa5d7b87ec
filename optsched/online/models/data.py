"""Data of the offline model of (8): occupancies, their best placements, and slots.

An occupancy is how many GPUs a job takes on how many servers, a partition of g_i. Which servers
they are does not change alpha, so that each occupancy has one best placement.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np

from optsched.deadline import OutOfTimeError
from optsched.errors import NotApplicableError
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


def name_of(occupancy: Occupancy) -> str:
    """Name of an occupancy in the model: "4+2"."""
    return "+".join(map(str, occupancy))


def occupancies(gpus: int, size: int, servers: int) -> Iterator[Occupancy]:
    """Yield the partitions of `gpus` into at most `servers` parts of at most `size`."""
    if gpus == 0:
        yield ()
    elif servers > 0:
        for part in range(min(gpus, size), -(-gpus // servers) - 1, -1):
            for rest in occupancies(gpus - part, part, servers - 1):
                yield (part, *rest)


def best_placements(jobs: Jobs, settings: Settings) -> list[dict[str, Placed]]:
    """Return each configuration's best placement by occupancy.

    Raises OutOfTimeError, and NotApplicableError for too many occupancies or without a proof.
    """
    size, servers = jobs.cluster.largest_server, jobs.cluster.num_servers
    listed: list[list[Occupancy]] = []
    left = MAX_OCCUPANCIES
    for job in jobs.configurations.jobs:
        listed.append(list(islice(occupancies(job.gpus, size, servers), left + 1)))
        left -= len(listed[-1])
        if left < 0:
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

    @cached_property
    def first_slot(self) -> list[int]:
        """First slot at or after each job's submission, (1)."""
        return [round(next_multiple(r, self.slot) / self.slot) for r in self.jobs.submit.tolist()]

    def placement(self, job: int, occupancy: str) -> Placed:
        return self.placements[self.jobs.configuration[job]][occupancy]

    def length(self, job: int, occupancy: str) -> float:
        """n_i alpha_i(o), in seconds."""
        return float(self.jobs.iterations[job]) * self.placement(job, occupancy).alpha

    def slots(self, job: int, occupancy: str) -> int:
        """Number of slots for which the job holds its GPUs."""
        return max(1, int(np.ceil(self.length(job, occupancy) / self.slot - SLOT_RTOL)))

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
    def last_start(self) -> dict[tuple[int, str], int]:
        """Last start slot by job and occupancy.

        Complete data end where the jobs could run one after another from the last submission on;
        pruned data where the other jobs' least flows leave no time below the incumbent.
        """
        slots: dict[int, int] = {}
        least: dict[int, float] = {}
        for i, name in self.choices:
            flow = self.flow(Run(i, name, self.first_slot[i]))
            slots[i] = max(slots.get(i, 0), self.slots(i, name))
            least[i] = min(least.get(i, np.inf), flow)
        if not self.pruned:
            end = max(self.first_slot, default=0) + sum(slots.values())
            return {(i, name): end - self.slots(i, name) for i, name in self.choices}
        spare = self.incumbent / self.slot * (1 + SLOT_RTOL) - sum(least.values())
        return {
            (i, name): int(np.floor(least[i] + spare - self.flow(Run(i, name, 0)) + SLOT_RTOL))
            for i, name in self.choices
        }

    def runs(self) -> list[Run]:
        """Every run of the model."""
        return [
            Run(i, name, t)
            for i, name in self.choices
            for t in range(self.first_slot[i], self.last_start[i, name] + 1)
        ]

    @property
    def nonzeros(self) -> int:
        servers = self.jobs.cluster.num_servers
        return sum(
            max(0, self.last_start[i, name] + 1 - self.first_slot[i])
            * (self.slots(i, name) * (servers + 1) + 5)
            for i, name in self.choices
        )
