"""Limits of an online cluster in cluster.json: maintenance windows, quotas and priorities."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from optsched.errors import shown
from optsched.schema import About, Between, FileModel, Number, fault

MAX_NUMBER = 2**24
"""Of a server, and of the GPUs of a quota."""
MAX_NAMES, MAX_WINDOWS = 100_000, 10_000

_Server = Annotated[int, Between(0, MAX_NUMBER)]
_Owner = Annotated[str, Field(max_length=200)]
_Quotas = Annotated[
    dict[_Owner, Annotated[int, Between(0, MAX_NUMBER)]], Field(max_length=MAX_NAMES)
]
_Priorities = Annotated[
    dict[_Owner, Annotated[int, Between(-1_000_000, 1_000_000)]], Field(max_length=MAX_NAMES)
]


class ServerRange(FileModel):
    """Servers by their 0-based numbers."""

    first: Annotated[_Server, About("The first server.", "index", 4)]
    last: Annotated[_Server, About("The last server, included.", "index", 9)]


class MaintenanceWindow(FileModel):
    """Servers that run no job for some time."""

    servers: Annotated[
        Annotated[tuple[_Server, ...], Field(min_length=1, strict=False)] | ServerRange | None,
        About("Numbers of servers from 0, or their range; all if left out.", "index", [0, 3]),
    ] = None
    start: Annotated[Number, About("Start, on the clock of submit_time.", "seconds", 7200.0)]
    end: Annotated[Number, About("End, on the clock of submit_time.", "seconds", 10800.0)]

    @model_validator(mode="after")
    def _check_ends(self) -> Self:
        if isinstance(self.servers, ServerRange) and self.servers.last < self.servers.first:
            expected = f"at least first, {self.servers.first}"
            raise fault("servers.last", str(self.servers.last), expected)
        if not self.end > self.start:
            raise fault("end", shown(self.end), f"a time after the start, {shown(self.start)}")
        return self

    @property
    def last_server(self) -> int:
        """The largest number that it names, 0 if none."""
        if isinstance(self.servers, ServerRange):
            return self.servers.last
        return max(self.servers or (0,))

    def indices(self, num_servers: int) -> list[int]:
        """Numbers of its servers, ascending."""
        if self.servers is None:
            return list(range(num_servers))
        if isinstance(self.servers, ServerRange):
            return list(range(self.servers.first, self.servers.last + 1))
        return sorted(set(self.servers))


class Quotas(FileModel):
    """Most GPUs that the running jobs of a user or group may hold."""

    users: Annotated[_Quotas, About("GPUs by user.", "GPUs", {"ann": 8})] = Field(
        default_factory=dict
    )
    groups: Annotated[_Quotas, About("GPUs by group.", "GPUs", {"vision": 16})] = Field(
        default_factory=dict
    )


class Priorities(FileModel):
    """Priorities of jobs by user, else by group, else 0; higher first."""

    users: Annotated[_Priorities, About("Priority by user.", "priority", {"ann": 2})] = Field(
        default_factory=dict
    )
    groups: Annotated[_Priorities, About("Priority by group.", "priority", {"vision": 1})] = Field(
        default_factory=dict
    )

    def of(self, user: str, group: str) -> int:
        return self.users.get(user, self.groups.get(group, 0))
