"""Where a profile's energy goes: each piece's speed, time and expected energy."""

from dataclasses import asdict, dataclass
from typing import Any

from optsched.display import Explanation
from optsched.speed_profile.instance import SpeedProfileInstance
from optsched.speed_profile.options import SpeedProfileOptions
from optsched.speed_profile.profile import curve_of
from optsched.speed_profile.solution import SpeedProfileSolution


@dataclass(frozen=True)
class PieceCost:
    """One piece: epochs, GPUs, seconds at w^max, P(W > w) at its start, expected energy."""

    start: float
    end: float
    gpus: int
    seconds: float
    survival: float
    energy: float


@dataclass(frozen=True, repr=False)
class Breakdown(Explanation):
    """A profile piece by piece; `work` is w^max - w_c, `greatest_speed` s_K, epochs a second."""

    instance: str
    status: str
    deadline: float
    work: float
    greatest_speed: float
    rows: tuple[PieceCost, ...]

    @property
    def energy(self) -> float:
        """(P2.1)."""
        return sum(row.energy for row in self.rows)

    @property
    def least_seconds(self) -> float:
        """The time of all the work at the greatest speed: shorter deadlines are infeasible."""
        return self.work / self.greatest_speed

    @property
    def needed_speed(self) -> float | None:
        """Epochs per second by which all the work is done in time; None when no time is left."""
        return self.work / self.deadline if self.deadline else None

    def to_dict(self) -> dict[str, Any]:
        return {
            "instance": self.instance,
            "status": self.status,
            "deadline": self.deadline,
            "least_seconds": self.least_seconds,
            "needed_speed": self.needed_speed,
            "energy": self.energy,
            "rows": [asdict(row) for row in self.rows],
        }

    def table(self) -> tuple[str, list[str], list[list[str]], str]:
        headings = ["from", "to", "GPUs", "seconds", "P(W > from)", "energy"]
        rows = [
            [
                f"{row.start:g}",
                f"{row.end:g}",
                str(row.gpus),
                f"{row.seconds:.6g}",
                f"{row.survival:.3f}",
                f"{row.energy:.6g}",
            ]
            for row in self.rows
        ]
        return self.lines()[0], headings, rows, self.lines()[-1]

    def lines(self) -> list[str]:
        lines = [f"{self.instance}: {self.status}, expected energy {self.energy:.6g}"]
        for row in self.rows:
            lines.append(
                f"epochs {row.start:g}-{row.end:g}: {row.gpus} GPUs, {row.seconds:.6g} s, "
                f"reached with probability {row.survival:.3f}, expected energy {row.energy:.6g}"
            )
        spent = sum(row.seconds for row in self.rows)
        lines.append(f"time at the most epochs {spent:.6g} s of {self.deadline:g} s")
        return lines


def explain(
    instance: SpeedProfileInstance, solution: SpeedProfileSolution, options: SpeedProfileOptions
) -> Breakdown:
    """Break down a feasible profile's energy; for infeasible ones see `conflict`."""
    curve = curve_of(instance)
    rows = []
    for piece in solution.pieces:
        speed, power = instance.speeds[piece.speed], instance.power[piece.speed]
        rows.append(
            PieceCost(
                start=piece.from_,
                end=piece.to,
                gpus=piece.speed + 1,
                seconds=(piece.to - piece.from_) / speed,
                survival=curve.survival(piece.from_),
                energy=power / speed * curve.area(piece.from_, piece.to),
            )
        )
    return Breakdown(
        instance=instance.name,
        status=solution.status,
        deadline=instance.deadline,
        work=instance.max_work - instance.completed,
        greatest_speed=instance.speeds[-1],
        rows=tuple(rows),
    )
