"""A schedule: when each job starts, and how many GPUs it takes on which server."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints

from optsched.display import number
from optsched.makespan.instance import MAX_GPUS, MAX_JOBS, MAX_SERVERS
from optsched.schema import FORMAT, About, Between, FileModel, Items, Name, Number, SolutionFile

_Server = Annotated[str, StringConstraints(pattern=r"^(0|[1-9][0-9]{0,5})$")]
_Count = Annotated[int, Between(-MAX_GPUS, MAX_GPUS)]  # negative counts are reported by the checker


class ScheduledJob(FileModel):
    """One job's run."""

    name: Annotated[Name, About("The job's name.", "", "j0")]
    start: Annotated[Number, About("a_j, start slot.", "slots", 0)]
    gpus: Annotated[
        dict[_Server, _Count],
        Field(max_length=MAX_SERVERS),
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
        tuple[ScheduledJob, ...], Items(2 * MAX_JOBS), About("Every job of the instance, once.")
    ]
    objective: Annotated[Number | None, About("The makespan claimed.", "slots", 37)] = None
    options: Annotated[
        dict[str, Any],
        About("The method's options; none of them changes the value of a schedule.", "", {}),
    ] = Field(default_factory=dict)

    def facts(self) -> dict[str, str]:
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
        """Create a solution from (name, start, GPUs by server, end or None) of each job.

        >>> runs = [("a", 0, {0: 2}, 4), ("b", 4, {0: 1, 1: 1}, None)]
        >>> MakespanSolution.of("two-jobs", runs).jobs[1].gpus
        {'0': 1, '1': 1}
        """
        return cls(
            instance=instance_name,
            jobs=tuple(
                ScheduledJob(
                    name=name,
                    start=_int_if_integral(start),
                    gpus={str(server): int(count) for server, count in sorted(placed.items())},
                    end=None if end is None else _int_if_integral(end),
                )
                for name, start, placed, end in runs
            ),
        )


def _int_if_integral(value: float) -> float:
    """Files read 37 and not 37.0."""
    return int(value) if float(value).is_integer() else float(value)
