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
        for methods, iterations in ((policies, passes), ([BOUND], bound))
        if iterations
    ]


def outcomes(runs: pd.DataFrame, _: object = None) -> pd.DataFrame:
    """One row per policy and workload; costs are in dollars."""
    import pandas as pd

    bounds: Any = runs[runs["method"] == BOUND].set_index(["family", "seed"])["bound"].to_dict()
    runs = runs[runs["method"] != BOUND].reset_index(drop=True)
    names = runs["family"].str.rsplit("|", n=1, expand=True)
    details = pd.DataFrame(list(runs["details"])).rename(
        columns={"energy_cost": "energy", "tardiness_cost": "tardiness", "late_jobs": "late"}
    )
    rows = runs[["seed", "method", "objective"]].set_axis(["seed", "policy", "total"], axis=1)
    return rows.assign(
        case=names[0],
        nodes=names[1].astype(int),
        sharing=[options["sharing"] for options in runs["options"]],
        bound=[bounds.get(key) for key in zip(runs["family"], runs["seed"], strict=True)],
        **details[["offered_load", "energy", "tardiness", "late", "most_jobs", "jobs"]],
    )
