"""Families and rows of policies on workloads over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from optsched.experiments.papers.artefact import seeded
from optsched.experiments.plans.plan import Family

if TYPE_CHECKING:
    import pandas as pd

PASSES = 5
"""Passes per decision of the randomised policies."""
BOUND = "clairvoyant-bound"
COLUMNS = (
    *("case", "nodes", "seed", "sharing", "policy", "rho"),
    *("total", "energy", "tardiness", "late", "most_jobs", "jobs", "bound"),
)
"""Columns of `outcomes`; most_jobs is the largest number of jobs in the system."""


def workload(
    case: str,
    arguments: Mapping[str, Any],
    seed: int,
    policies: Sequence[str],
    *,
    sharing: str = "off",
    bound: int = 0,
    generator: str = "rolling",
    passes: int = PASSES,
) -> list[Family]:
    """The families of policies on one workload, with one draw of the true epochs."""
    runs: list[tuple[Sequence[str], int]] = [(policies, passes)]
    runs += [([BOUND], bound)] if bound else []
    return [
        seeded(
            f"{case}|{arguments['nodes']}",
            "rolling",
            arguments,
            seed,
            methods,
            generator=generator,
            options={"sharing": sharing},
            iterations=iterations,
            bound=False,
        )
        for methods, iterations in runs
    ]


def outcomes(runs: pd.DataFrame, _: object = None) -> pd.DataFrame:
    """One row per policy and workload; costs are in dollars."""
    import pandas as pd

    bounds = runs[runs["method"] == BOUND].set_index(["family", "seed"])["bound"].to_dict()
    runs = runs[runs["method"] != BOUND].reset_index(drop=True)
    details = pd.DataFrame(list(runs["details"]))
    names = runs["family"].str.rsplit("|", n=1, expand=True)
    rows = details[["most_jobs", "jobs"]].assign(
        case=names[0],
        nodes=names[1].astype(int),
        seed=runs["seed"],
        sharing=[options["sharing"] for options in runs["options"]],
        policy=runs["method"],
        rho=details["offered_load"],
        total=runs["objective"],
        energy=details["energy_cost"],
        tardiness=details["tardiness_cost"],
        late=details["late_jobs"],
        bound=[bounds.get(key) for key in zip(runs["family"], runs["seed"], strict=True)],
    )
    return rows[list(COLUMNS)]
