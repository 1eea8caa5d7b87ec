"""A schedule: when each job starts, and how many GPUs it takes on which server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import FailFast, Field, StringConstraints

from optsched.display import number
from optsched.makespan.instance import MOST_GPUS, MOST_JOBS, MOST_SERVERS
from optsched.schema import FORMAT, About, Between, FileModel, Name, Number, SolutionFile

_Server = Annotated[str, StringConstraints(pattern=r"^(0|[1-9][0-9]{0,5})$")]
_Count = Annotated[int, Between(-MOST_GPUS, MOST_GPUS)]  # a negative count is the checker's affair


class ScheduledJob(FileModel):
    """One job's run."""

    name: Annotated[Name, About("The job's name.", "", "j0")]
    start: Annotated[Number, About("a_j, the slot at whose beginning it starts.", "slots", 0)]
    gpus: Annotated[
        dict[_Server, _Count],
        Field(max_length=MOST_SERVERS),
        About(
            "y_js by the server's 0-based index; servers it does not use are left out.",
            "GPUs",
            {"0": 4},
        ),
    ]
    end: Annotated[
        Number | None, About("T_j as claimed; the checker recomputes it.", "slots", 37)
    ] = None


class MakespanSolution(SolutionFile):
    """Starts and placements of all jobs."""

    schema_: Annotated[Literal["optsched/makespan-solution"], FORMAT] = Field(alias="schema")
    jobs: Annotated[
        tuple[ScheduledJob, ...],
        FailFast(),
        Field(strict=False, max_length=2 * MOST_JOBS),
        About("Every job of the instance, once."),
    ]
    objective: Annotated[Number | None, About("The makespan claimed.", "slots", 37)] = None
    options: Annotated[
        dict[str, Any],
        About("The method's options; none of them changes the value of a schedule.", "", {}),
    ] = Field(default_factory=dict)

    def facts(self) -> dict[str, str]:
        """What it is, for a prompt or a page."""
        return {
            "instance": self.instance,
            "jobs": str(len(self.jobs)),
            "spanning servers": str(sum(len(job.gpus) > 1 for job in self.jobs)),
            "objective": number(self.objective, "slots"),
        }

    @classmethod
    def of(
        cls,
        instance_name: str,
        runs: Iterable[tuple[str, float, Mapping[int, int], float | None]],
    ) -> Self:
        """Make a solution of (name, start, GPUs by server, end) of each job.

        Parameters
        ----------
        instance_name : str
            What is solved.
        runs : sequence of tuple[str, float, Mapping[int, int], float or None]
            Of every job: slots, and GPUs by the server's index; an end may be None.

        Examples
        --------
        >>> runs = [("a", 0, {0: 2}, 4), ("b", 4, {0: 1, 1: 1}, None)]
        >>> MakespanSolution.of("two-jobs", runs).jobs[1].gpus
        {'0': 1, '1': 1}
        """
        return cls(
            instance=instance_name,
            jobs=tuple(
                ScheduledJob(
                    name=name,
                    start=_plain(start),
                    gpus={str(server): int(count) for server, count in sorted(placed.items())},
                    end=None if end is None else _plain(end),
                )
                for name, start, placed, end in runs
            ),
        )


def _plain(value: float) -> float:
    """A whole number as an integer, so that files read 37 and not 37.0."""
    return int(value) if float(value).is_integer() else float(value)
