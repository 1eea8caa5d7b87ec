"""The map of Figs. 4-6 of sts: every claim of theirs on every world that the paper may have had."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from optsched.experiments.papers.artefact import Artefact, Finding, Scale, Verdict
from optsched.experiments.papers.pictures import panels
from optsched.experiments.papers.sts.claims import (
    CLAIMS,
    FAILS,
    HOLDS,
    NODES,
    OUTSIDE,
    SEEDS,
    SHARING_SEEDS,
    VARIANTS,
    judge_cells,
    plan_map,
)
from optsched.experiments.papers.sts.workloads import MAX_JOBS_A_NODE, outcomes
from optsched.experiments.plans.plan import Family
from optsched.experiments.statistics import span

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

POLICIES = (*VARIANTS, "edf", "rg", "avg-edf", "avg-rg", "dp", "avg-dp")
SETTING = (
    f"our generator; {NODES} nodes, 10 jobs a node, seeds a cell: {SEEDS} (sharing: "
    f"{SHARING_SEEDS}), one run of RG"
)
PICTURE = (
    "![Where each claim of Figs. 4, 5 and 6 holds: a panel a claim, kind of STS and GPUs a node, "
    "over load and speed-up exponent](sts-map.png)"
)
FACES = {HOLDS: "#88ccee", FAILS: "#eecc99", OUTSIDE: "#dddddd"}
PANEL = (2.5, 1.75)
"""Inches."""


def plan(scale: Scale) -> list[Family]:
    """The runs of Figs. 4, 5 and 6 on the map's cells."""
    return [*plan_map(POLICIES, scale), *plan_map(tuple(VARIANTS), scale, sharing=True)]


def rows_of(runs: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """A row a cell, claim and variant of STS."""
    return judge_cells(outcomes(runs))


def judge(rows: pd.DataFrame, scale: Scale) -> Verdict:
    """Every claim of Figs. 4-6 on every cell within the paper's world."""
    on_map = rows[rows["other"] == ""]
    inside = on_map[on_map["verdict"] != OUTSIDE]
    best = {claim.text: inside[inside["claim"] == claim.text] for claim in CLAIMS}
    return Verdict(
        finding=Finding.of(inside["verdict"] == HOLDS),
        paper="; ".join(f"{claim.text}: {claim.paper}" for claim in CLAIMS),
        ours="holds in "
        + "; ".join(
            f"{(each['verdict'] == HOLDS).sum()} of {len(each)} cells (Fig. {claim.figure}: "
            f"{claim.text})"
            for claim, each in zip(CLAIMS, best.values(), strict=True)
        ),
        spread="; ".join(f"{span(list(each['value']), 'z.0f', ' to ')}%" for each in best.values()),
        setting=f"{SETTING}; {_axes(rows)}; STS with and without VI-C, counted alike",
        paragraph=(
            f"{len(on_map) - len(inside)} of {len(on_map)} quantities are of worlds with more "
            f"than {MAX_JOBS_A_NODE:g} jobs a node in the system, which the paper's never had, and "
            "are not counted. What it says claim by claim stands under `sts-fig4`, 5 and 6. "
            f"What else is left open changes {_changes(rows)}.\n\n{PICTURE}"
        ),
    )


def draw(rows: pd.DataFrame) -> Figure:
    """A row of panels a claim, a column a variant of STS and GPUs a node."""
    on_map = rows[rows["other"] == ""]
    sizes = sorted(set(on_map["gpus"]))
    columns = [(variant, gpus) for variant in VARIANTS.values() for gpus in sizes]
    width, height = PANEL
    figure, axes = panels(width * len(columns), height * len(CLAIMS), len(columns), len(CLAIMS))
    for i, claim in enumerate(CLAIMS):
        for j, (variant, gpus) in enumerate(columns):
            ax = axes[i * len(columns) + j]
            here = on_map[(on_map["claim"] == claim.text) & (on_map["gpus"] == gpus)]
            here = here[here["policy"] == variant]
            _draw_cells(ax, here)
            held, inside = (here["verdict"] == HOLDS).sum(), (here["verdict"] != OUTSIDE).sum()
            head = f"{variant}, {gpus} GPUs a node\n" if i == 0 else ""
            ax.set_title(f"{head}holds in {held} of {inside}", fontsize="small")
        words = f"Fig. {claim.figure}: {claim.text} (%)\npaper: {claim.paper}"
        axes[i * len(columns)].set_ylabel("\n".join(textwrap.wrap(words, 26)), fontsize="x-small")
    figure.supxlabel("offered load rho (x of each panel)", fontsize="small")
    figure.supylabel("speed-up exponent x of k GPUs, k^x (y of each panel)", fontsize="small")
    return figure


def _axes(rows: pd.DataFrame) -> str:
    """The map's axes, from end to end."""
    loads, speedups = (span(list(rows[name]), "g") for name in ("load", "speedup"))
    sizes = " and ".join(map(str, sorted(set(rows["gpus"]))))
    return f"rho {loads}, k^{speedups}, {sizes} GPUs a node"


def _changes(rows: pd.DataFrame) -> str:
    """How many verdicts the settings beside the map's axes turn over."""
    keys = ["claim", "policy", "load", "speedup", "gpus"]
    usual = rows[rows["other"] == ""].set_index(keys)["verdict"]
    others = rows[rows["other"] != ""]
    turned: dict[str, list[bool]] = {}
    for row in others.to_dict("records"):
        here = usual[tuple(row[key] for key in keys)]
        turned.setdefault(row["other"], []).append(here != row["verdict"])
    words = [f"{sum(each)} of {len(each)} verdicts ({name})" for name, each in turned.items()]
    return ", ".join(words) or "nothing: it was not tried"


def _square(x: int, y: int, colour: str) -> Patch:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor="white")


def _draw_cells(ax: Axes, here: pd.DataFrame) -> None:
    """A square a cell: its quantity, on the verdict's colour."""
    loads, speedups = sorted(set(here["load"])), sorted(set(here["speedup"]))
    for row in here.to_dict("records"):
        x, y = loads.index(row["load"]), speedups.index(row["speedup"])
        ax.add_patch(_square(x, y, FACES[row["verdict"]]))
        ax.text(x, y, f"{row['value']:z.0f}", ha="center", va="center", fontsize="x-small")
    ax.set_xlim(-0.5, len(loads) - 0.5)
    ax.set_ylim(-0.5, len(speedups) - 0.5)
    ax.set_xticks(range(len(loads)), [f"{x:g}" for x in loads], fontsize="x-small")
    ax.set_yticks(range(len(speedups)), [f"{x:g}" for x in speedups], fontsize="x-small")


ARTEFACT = Artefact(
    name="sts-map",
    reference="beyond sts, Figs. 4-6",
    claim="every claim of Figs. 4-6, by load, speed-up exponent and GPUs a node",
    runtime="5 min on two cores; --quick 15 s",
    plan=plan,
    rows=rows_of,
    judge=judge,
    draw=draw,
    group_columns=("claim", "policy", "gpus", "speedup", "load", "other"),
    value_columns=("value", "most_jobs"),
)
