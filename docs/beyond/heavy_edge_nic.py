"""Heavy-Edge's excess against the NIC's bandwidth, a curve a model, with intervals.

A gap at one bandwidth says little: where communication is cheap any placement will do, where it
is dear the plan itself adapts, and no one would run a plan that is hardly faster than one GPU. So
each model is planned anew at each bandwidth, with a mini-batch for each GPU, and placed on random
offers; points at which the best placement reaches half of its GPUs' speed are filled.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import mean
from typing import TYPE_CHECKING

from optsched.experiments.papers.a_srpt.table2 import Setting, excesses, median_of, rows_of
from optsched.experiments.papers.artefact import Artefact, Scale
from optsched.experiments.papers.claims import Claim, cells_of
from optsched.experiments.papers.claims import judge as judge_claims
from optsched.experiments.papers.pictures import panels
from optsched.experiments.papers.verdict import Verdict
from optsched.experiments.plans.plan import Family
from optsched.experiments.statistics import bootstrap_mean
from optsched.plotting.axes import COLOURS, MARK_COLOUR, WIDTH
from optsched.zoo import MODELS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

GBITS = (10, 25, 50, 100, 200)
GPUS, VECTORS, QUICK_VECTORS = 32, 20, 3
METHODS = ("heavy-edge", "exact")
PAPER = 6.2
"""Table II: Heavy-Edge above the ILP on VGG19, in percent."""
CLAIM = Claim(
    f"Heavy-Edge is within {PAPER}% of the optimum",
    f"{PAPER}% (VGG19, one card)",
    "above the best bound",
    form=".1f",
)
EFFICIENT = 0.5
LARGE = {"GPT-175B": Setting("GPT-175B", 64, 64, device="A100-TF32")}
"""What does not fit into 32 GPUs of 32 GB."""
CURVES = {
    model: [replace(LARGE.get(model, Setting(model, GPUS)), gbits=gbits) for gbits in GBITS]
    for model in MODELS
}
SETTINGS = [setting for settings in CURVES.values() for setting in settings]


def plan(scale: Scale) -> list[Family]:
    """Heavy-Edge and the optimum on every offer."""
    seeds = range(QUICK_VECTORS if scale.quick else VECTORS)
    return [family for setting in SETTINGS for family in setting.families(seeds, METHODS)]


def outcomes(runs: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """A row a method and offer."""
    return rows_of(runs, SETTINGS)


def judge(rows: pd.DataFrame, scale: Scale) -> Verdict:
    """Where Heavy-Edge is within Table II's 6.2%, among the plans that are efficient."""
    cells = cells_of(
        (CLAIM.text, setting.model, str(setting.gbits), values, mean(values) <= PAPER)
        for setting in SETTINGS
        if _efficiency(rows, setting) >= EFFICIENT
        for values in [excesses(rows, setting)]
    )
    return judge_claims(
        [CLAIM],
        cells.sort_values("at", key=lambda at: at.astype(int), kind="stable"),
        "Gbit/s",
        why=(
            "A setting is a pair of model and network card whose best placement reaches at least "
            f"half of the speed of its GPUs: {len(cells)} of {len(SETTINGS)} pairs. The part holds "
            "where the mean over the offers is within the paper's figure."
        ),
        fixed=(
            f"One mini-batch per GPU, {GPUS} V100 (GPT-175B: 64 A100), "
            f"{rows['seed'].nunique()} availability vectors."
        ),
    )


def draw(rows: pd.DataFrame) -> Figure:
    """A panel a model: the mean with its interval, filled where the plan is efficient."""
    figure, axes = panels(WIDTH, 6.6, 3, 3)
    for ax, (model, settings) in zip(axes, CURVES.items(), strict=True):
        values = [excesses(rows, setting) for setting in settings]
        means = [mean(each) for each in values]
        ends = [bootstrap_mean(each) for each in values]
        low = [m if end is None else end.low for m, end in zip(means, ends, strict=True)]
        high = [m if end is None else end.high for m, end in zip(means, ends, strict=True)]
        ax.fill_between(GBITS, low, high, color=COLOURS[0], alpha=0.25, linewidth=0)
        ax.plot(GBITS, means, color=COLOURS[0])
        for setting, value in zip(settings, means, strict=True):
            face = COLOURS[0] if _efficiency(rows, setting) >= EFFICIENT else "white"
            at = [setting.gbits], [value]
            ax.plot(*at, "o", color=COLOURS[0], markerfacecolor=face, clip_on=False)
        ax.axhline(PAPER, color=MARK_COLOUR, linewidth=0.8, linestyle=":")
        ax.set_xscale("log")
        ax.set_xticks(GBITS, [str(gbits) for gbits in GBITS])
        ax.minorticks_off()
        ax.set_ylim(0, max(10.0, 1.05 * max(high)))
        ax.set_title(f"{model}, {settings[0].gpus} GPUs", fontsize="small")
    figure.supxlabel("network card of a server, Gbit/s")
    figure.supylabel("Heavy-Edge above the optimum, %: mean, 95% interval")
    return figure


def _efficiency(rows: pd.DataFrame, setting: Setting) -> float:
    return median_of(rows, setting, "exact", "efficiency")


ARTEFACT = Artefact(
    name="heavy-edge-nic",
    reference="Heavy-Edge over network cards",
    claim="Heavy-Edge is within 6% of the optimum, whatever the model and the NIC",
    runtime="5 min; --quick 1 min",
    plan=plan,
    rows=outcomes,
    judge=judge,
    draw=draw,
    group_columns=("setting", "method"),
    value_columns=("excess", "efficiency"),
)
