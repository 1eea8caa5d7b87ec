"""Runs over time for tables and figures: families of workloads x policies, and rows of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from optsched.experiments.papers.running import seeded
from optsched.experiments.plans.plan import Family

if TYPE_CHECKING:
    import pandas as pd

REPEATED = ("rg", "avg-rg")
PASSES = 5
"""Of a decision of theirs."""
BOUND = "clairvoyant-bound"
COLUMNS = (
    *("case", "nodes", "seed", "sharing", "policy", "repeats", "rho", "utilisation", "plan"),
    *("total", "energy", "tardiness", "late", "most_jobs", "jobs", "bound"),
)
"""Of `outcomes`; utilisation is the fullest GPU type's in the uncapacitated clairvoyant plan, and
most_jobs those that were in the system at once."""


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
    **limits: Any,
) -> Iterator[Family]:
    """The families of policies on one workload, on one draw of the true epochs."""
    name = f"{case}; {arguments['nodes']}"
    for repeat in range(repeats):
        chosen = [p for p in policies if repeat == 0 or p in REPEATED]
        if chosen:
            of = {"options": {"sharing": sharing, "repeat": repeat}, "iterations": PASSES, **limits}
            yield seeded(name, "rolling", arguments, seed, chosen, generator=generator, **of)
    if bound:
        of = {"options": {"sharing": sharing}, "iterations": bound}
        yield seeded(name, "rolling", arguments, seed, [BOUND], generator=generator, **of)


def outcomes(runs: pd.DataFrame, _: object = None) -> pd.DataFrame:
    """A row a policy and workload; dollars and jobs counted are means over its repeated runs."""
    import pandas as pd

    own = runs[runs["method"] != BOUND]
    details = pd.DataFrame(list(own["details"]), index=own.index)
    names = own["family"].str.rsplit("; ", n=1, expand=True)
    use = details["clairvoyant_utilisation"]
    flat = pd.DataFrame(
        {
            "case": names[0],
            "nodes": names[1].astype(int),
            "seed": own["seed"],
            "sharing": [options["sharing"] for options in own["options"]],
            "policy": own["method"],
            "rho": details["offered_load"],
            "utilisation": [max(shares.values()) for shares in use],
            "plan": [" ".join(f"{k}={share:.3f}" for k, share in each.items()) for each in use],
            "total": own["objective"],
            "energy": details["energy_cost"],
            "tardiness": details["tardiness_cost"],
            "late": details["late_jobs"],
            "most_jobs": details["most_jobs"],
            "jobs": details["jobs"],
        }
    )
    keys = ["case", "nodes", "seed", "sharing", "policy"]
    groups = flat.groupby(keys, sort=False)
    means = groups[["total", "energy", "tardiness", "late", "most_jobs"]].mean()
    rest = groups[["rho", "utilisation", "plan", "jobs"]].first()
    made = means.join(rest).assign(repeats=groups.size()).reset_index()
    bounds = runs[runs["method"] == BOUND].set_index(["family", "seed"])["bound"].to_dict()
    at = zip(made["case"], made["nodes"], made["seed"], strict=True)
    made["bound"] = [bounds.get((f"{case}; {nodes}", seed)) for case, nodes, seed in at]
    order = {case: i for i, case in enumerate(made["case"].unique())}
    places = made["case"].map(order)
    sorted_by = made.assign(place=places).sort_values(["place", "nodes"], kind="stable")
    return sorted_by[list(COLUMNS)].reset_index(drop=True)


def of(rows: pd.DataFrame, **wanted: object) -> pd.DataFrame:
    """Rows whose columns have the values given."""
    for column, value in wanted.items():
        rows = rows[rows[column] == value]
    return rows


def average(rows: pd.DataFrame, column: str) -> float:
    """Mean of a column."""
    return float(rows[column].mean())


def ratios(own: pd.DataFrame, base: pd.DataFrame, column: str = "total") -> list[float]:
    """A column over that of the same workloads' other rows, seed by seed."""
    pairs = zip(own[column], base[column], strict=True)
    return [float(a / b) if b else float("inf") for a, b in pairs]


def cells(rows: pd.DataFrame) -> list[tuple[str, int]]:
    """Cases and numbers of nodes, in order."""
    return list(dict.fromkeys(zip(rows["case"], rows["nodes"], strict=True)))


def cases(rows: pd.DataFrame) -> list[str]:
    """Cases, in order."""
    return list(dict.fromkeys(rows["case"]))


def loads(rows: pd.DataFrame, between: str = " | ") -> str:
    """Both statements of the load."""
    return f"{average(rows, 'rho'):.2f}{between}{average(rows, 'utilisation'):.2f}"


def late_share(rows: pd.DataFrame) -> float:
    """Late jobs, percent."""
    return float(100 * rows["late"].sum() / rows["jobs"].sum())
