"""Workloads and runs over time of Figs. 4-6 of sts.

The paper's nodes have up to 8 GPUs (IV, Table III), and "at most 400 jobs were concurrently in the
queue" at 100 nodes (VII-C). Its Poisson rates, eps kappa lam with eps = 0.4, depend on times that
it does not state: with ours they put many more jobs there. So the high rate is a load rho at which
100 nodes hold nearly 400 jobs, and no more under any of the three policies that VII-C measures; the
low rate is a quarter of it, as printed. Exponential arrivals have the mean gap printed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from optsched.experiments.papers.artefact import seeded
from optsched.experiments.plans.plan import Family

if TYPE_CHECKING:
    import pandas as pd

GPUS = 8
"""GPUs per node: the paper's largest, and those of Table III."""
SPEEDUP = 0.8
"""The exponent x of k^x, which the paper leaves open; the map sweeps it."""
MAX_JOBS_A_NODE = 4.0
"""Jobs in the system: 400 at 100 nodes."""
HIGH = 1.0
"""rho of "poisson-high": 370 jobs at most on 100 nodes, seeds 0-2 (346 at 0.95)."""
ARRIVALS: dict[str, dict[str, Any]] = {
    "exponential": {"arrivals": "exponential"},
    "poisson-low": {"arrivals": "load", "load": HIGH / 4},
    "poisson-high": {"arrivals": "load", "load": HIGH},
}
"""Arguments of the generator of rolling instances."""
RANDOMISED = ("rg", "avg-rg")
"""Policies that may run several times on each workload."""
PASSES = 5
"""Passes per decision of the randomised policies."""
BOUND = "clairvoyant-bound"
COLUMNS = (
    *("case", "nodes", "seed", "sharing", "policy", "repeats", "rho", "utilisation"),
    *("total", "energy", "tardiness", "late", "most_jobs", "jobs", "bound"),
)
"""Columns of `outcomes`; utilisation is the fullest GPU type's in the uncapacitated clairvoyant
plan, and most_jobs the largest number of jobs in the system."""


def workload(
    case: str,
    arguments: Mapping[str, Any],
    seed: int,
    policies: Sequence[str],
    *,
    sharing: str = "off",
    repeats: int = 1,
    bound: int = 0,
    generator: str = "rolling",
    passes: int = PASSES,
) -> list[Family]:
    """The families of policies on one workload, with one draw of the true epochs."""
    randomised = [policy for policy in policies if policy in RANDOMISED]
    runs: list[tuple[Sequence[str], dict[str, Any], int]] = [(policies, {"repeat": 0}, passes)]
    runs += [(randomised, {"repeat": i}, passes) for i in range(1, repeats) if randomised]
    runs += [([BOUND], {}, bound)] if bound else []
    return [
        seeded(
            f"{case}; {arguments['nodes']}",
            "rolling",
            arguments,
            seed,
            methods,
            generator=generator,
            options={"sharing": sharing, **repeat},
            iterations=iterations,
        )
        for methods, repeat, iterations in runs
    ]


def outcomes(runs: pd.DataFrame, _: object = None) -> pd.DataFrame:
    """One row per policy and workload; dollars and counts of jobs are means over repeated runs."""
    import pandas as pd

    policies = runs[runs["method"] != BOUND]
    details = pd.DataFrame(list(policies["details"]), index=policies.index)
    names = policies["family"].str.rsplit("; ", n=1, expand=True)
    flat = details[["most_jobs", "jobs"]].assign(
        case=names[0],
        nodes=names[1].astype(int),
        seed=policies["seed"],
        sharing=[options["sharing"] for options in policies["options"]],
        policy=policies["method"],
        rho=details["offered_load"],
        utilisation=[max(shares.values()) for shares in details["clairvoyant_utilisation"]],
        total=policies["objective"],
        energy=details["energy_cost"],
        tardiness=details["tardiness_cost"],
        late=details["late_jobs"],
    )
    groups = flat.groupby(["case", "nodes", "seed", "sharing", "policy"], sort=False)
    rows = groups.mean().assign(repeats=groups.size()).reset_index().astype({"jobs": int})
    bounds = runs[runs["method"] == BOUND].set_index(["family", "seed"])["bound"].to_dict()
    workloads = zip(rows["case"], rows["nodes"], rows["seed"], strict=True)
    rows["bound"] = [bounds.get((f"{case}; {nodes}", seed)) for case, nodes, seed in workloads]
    rows["place"] = pd.factorize(rows["case"])[0]
    rows = rows.sort_values(["place", "nodes"], kind="stable")
    return rows[list(COLUMNS)].reset_index(drop=True)
