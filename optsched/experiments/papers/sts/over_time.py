"""Figs. 4, 5 and 6 of sts: total and energy cost over time, with and without shared GPUs.

The paper's epochs, speeds and seeds are not published with the figures, so its digits cannot be
met; the shape can. The clusters are those of `world`: nodes of 8 GPUs, at most 400 jobs in the
system at 100 nodes. What else the paper leaves open is varied on the map of `map_cells`, whose
runs each figure's verdict takes too. Costs are averaged over seeds before ratios (29) and PCR (30)
are taken, as there. Both loads stand beside every row. STS stands with and without VI-C's
postprocessing. RG is run several times on each workload and averaged (in the paper ten times), on
large clusters once; each of its decisions is the best of 5 passes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from statistics import mean
from typing import TYPE_CHECKING

from optsched.experiments.papers.artefact import Artefact, Scale
from optsched.experiments.papers.pictures import headline, panels
from optsched.experiments.papers.sts.map_cells import (
    FAMILIES,
    policies_on_cells,
    sharing_on_cells,
)
from optsched.experiments.papers.sts.map_claims import VARIANTS
from optsched.experiments.papers.sts.over_time_findings import (
    clusters,
    finding4,
    finding5,
    finding6,
    reductions,
    setting,
)
from optsched.experiments.papers.sts.runs import (
    average,
    cells,
    late_share,
    loads,
    of,
    outcomes,
    ratios,
    workload,
)
from optsched.experiments.papers.sts.world import ARRIVALS, GPUS, SPEEDUP
from optsched.experiments.papers.verdict import Verdict
from optsched.experiments.plans.plan import Family
from optsched.experiments.statistics import span, spread
from optsched.plotting.axes import COLOURS, headed
from optsched.rolling.metrics import cost_ratio, cost_reduction

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Lines = Mapping[str, tuple[pd.DataFrame, pd.DataFrame]]
    """By line: rows, and those that they are divided by, in the same order."""

SIZES = {10: 5, 20: 2, 100: 1}
"""Seeds by number of nodes; the paper has three."""
SHARING_SIZES = {10: 5, 20: 3}
"""Of Fig. 6, which has four times the clusters."""
REPEATS = {10: 3, 20: 2, 100: 1}
"""Runs of RG on a workload by number of nodes."""
QUICK_SIZES = {4: 2}
QUICK_REPEATS = {4: 2}
CLUSTER = {"gpus_per_node": GPUS, "speedup": SPEEDUP}
FIG4 = (*VARIANTS, "edf", "rg", "avg-edf", "avg-rg")
FIG5 = (*VARIANTS, "edf", "dp", "avg-dp")

LOAD = (
    "Ratios of means over seeds, [range over seeds]. Load: rho, and the fullest type's share in "
    "the uncapacitated clairvoyant plan."
)


def of_policies(policies: Sequence[str], scale: Scale) -> list[Family]:
    """Policies by arrivals and size, the largest clusters first, then on the map's cells."""
    repeats = QUICK_REPEATS if scale.quick else REPEATS
    own = [
        family
        for nodes, count in reversed(_sizes(scale).items())
        for arrivals in ARRIVALS
        for seed in range(count)
        for family in workload(
            arrivals,
            {"nodes": nodes, **CLUSTER, **ARRIVALS[arrivals]},
            seed,
            policies,
            repeats=repeats[nodes],
        )
    ]
    return [*own, *policies_on_cells(policies, scale)]


def of_sharing(scale: Scale) -> list[Family]:
    """Both kinds of STS with and without shared GPUs, due dates (31) + 20%, by GPU family."""
    sizes = QUICK_SIZES if scale.quick else SHARING_SIZES
    own = [
        family
        for nodes, count in reversed(sizes.items())
        for name, types in FAMILIES
        for arrivals in ARRIVALS
        for sharing in ("off", "on")
        for seed in range(count)
        for family in workload(
            f"{name}, {arrivals}",
            {
                **{"nodes": nodes, "sharing": True, "gpu_types": list(types)},
                **CLUSTER,
                **ARRIVALS[arrivals],
            },
            seed,
            tuple(VARIANTS),
            sharing=sharing,
        )
    ]
    return [*own, *sharing_on_cells(tuple(VARIANTS), scale)]


def table(policies: Sequence[str], column: str, rows: pd.DataFrame, scale: Scale) -> list[str]:
    """Costs over EDF's and the PCR (30) of STS; of the total also its parts and late jobs."""
    rows = clusters(rows)
    lines = [
        f"{setting(rows)}; 10 jobs a node. {LOAD}",
        "",
        f"| arrivals | nodes | rho | plan | {' | '.join(policies)} |",
        "|---" * (4 + len(policies)) + "|",
    ]
    for case, nodes in cells(rows):
        here = of(rows, case=case, nodes=nodes)
        said = [_ratio(of(here, policy=p), of(here, policy="edf"), column) for p in policies]
        lines.append(f"| {case} | {nodes} | {loads(here)} | {' | '.join(said)} |")
    others = [name for name in policies if name not in VARIANTS]
    lines += [
        "",
        f"| PCR ({column}) of | over | {' | '.join(others)} |",
        "|---" * (2 + len(others)) + "|",
    ]
    for target, words in VARIANTS.items():
        for arrivals in ARRIVALS:
            found = [reductions(rows, arrivals, name, column, target) for name in others]
            said = [spread(values, ".0f", middle=mean, unit="%") for values in found]
            lines.append(f"| {words} | {arrivals} | {' | '.join(said)} |")
    return lines


def sharing_table(rows: pd.DataFrame, scale: Scale) -> list[str]:
    """Costs with shared GPUs over those without."""
    rows = clusters(rows)
    lines = [
        f"{setting(rows)}; 10 jobs a node, due dates + 20%. {LOAD}",
        "",
        "| case | nodes | rho | plan | policy | total ratio | energy ratio | PCR | late off | on |",
        "|---" * 10 + "|",
    ]
    for (case, nodes), (policy, words) in product(cells(rows), VARIANTS.items()):
        here = of(rows, case=case, nodes=nodes, policy=policy)
        on, off = (of(here, sharing=s) for s in ("on", "off"))
        pcr = cost_reduction(average(on, "total"), average(off, "total"))
        lines.append(
            f"| {case} | {nodes} | {loads(off)} | {words} | {_over(on, off, 'total')} "
            f"| {_over(on, off, 'energy')} | {pcr:.1f}% "
            f"| {late_share(off):.1f}% | {late_share(on):.1f}% |"
        )
    return lines


def draw(policies: Sequence[str], column: str, rows: pd.DataFrame) -> Figure:
    """Costs over EDF's by arrivals."""
    groups = {}
    for arrivals in ARRIVALS:
        here = of(clusters(rows), case=arrivals)
        edf = of(here, policy="edf")
        groups[arrivals] = {name: (of(here, policy=name), edf) for name in policies}
    figure = by_size(groups, column, f"{column} cost over EDF's", parts=column == "total")
    return _with_verdict(figure, (finding4 if column == "total" else finding5)(rows, Scale()))


def draw_sharing(rows: pd.DataFrame) -> Figure:
    """Costs with shared GPUs over those without, by GPU family and kind of STS."""
    groups: dict[str, Lines] = {}
    for (family, _), (policy, words) in product(FAMILIES, VARIANTS.items()):
        ours = of(clusters(rows), policy=policy)
        here = {a: of(ours, case=f"{family}, {a}") for a in ARRIVALS}
        groups[f"{family}: {words}"] = {
            a: (of(own, sharing="on"), of(own, sharing="off")) for a, own in here.items()
        }
    figure = by_size(groups, "total", "total cost with shared GPUs over without")
    return _with_verdict(figure, finding6(rows, Scale()))


def by_size(groups: Mapping[str, Lines], column: str, label: str, *, parts: bool = False) -> Figure:
    """A panel a group, a line a method: mean ratio by nodes, and its range over seeds.

    Both loads stand on the axis; where each line has a base of its own, in the legend instead.
    With `parts`, below each panel: energy and tardiness over the base's total, all sizes together,
    and the share of late jobs.
    """
    count = 2 if parts else 1
    figure, axes = panels(4.4 * len(groups), 3.4 * count, len(groups), count)
    for at, (title, lines) in enumerate(groups.items()):
        _draw_lines(axes[at], lines, column)
        axes[at].set_ylabel(textwrap.fill(label, 26) if at == 0 else "")
        named = at == 0 or _loads_differ(lines)
        headed(axes[at], title, None if named else [])
        if parts:
            _draw_parts(axes[len(groups) + at], lines)
    if parts:
        headed(axes[len(groups)])
    return figure


def _with_verdict(figure: Figure, verdict: Verdict) -> Figure:
    """What the paper claims, and on how much of the map it is so, above the panels."""
    on_map = verdict.ours.partition(". ")[0]
    head = f"Paper: {verdict.paper}\nVerdict: {verdict.finding}; {on_map}"
    return headline(figure, head)


def _sizes(scale: Scale) -> dict[int, int]:
    return QUICK_SIZES if scale.quick else SIZES


def _ratio(own: pd.DataFrame, base: pd.DataFrame, column: str) -> str:
    cell = _over(own, base, column)
    if column != "total":
        return cell
    total = average(base, "total")
    energy, late = average(own, "energy") / total, average(own, "tardiness") / total
    return f"{cell} = {energy:.2f} + {late:.2f}, {late_share(own):.1f}% late"


def _over(own: pd.DataFrame, base: pd.DataFrame, column: str) -> str:
    ratio = cost_ratio(average(own, column), average(base, column))
    return f"{ratio:.2f} [{span(ratios(own, base, column))}]"


def _loads_differ(lines: Lines) -> bool:
    return len({case for _, base in lines.values() for case in base["case"]}) > 1


def _draw_lines(ax: Axes, lines: Lines, column: str) -> None:
    ticks: dict[int, str] = {}
    differ = _loads_differ(lines)
    for (name, (own, base)), colour in zip(lines.items(), COLOURS, strict=False):
        sizes = sorted(set(own["nodes"]))
        found = [ratios(of(own, nodes=n), of(base, nodes=n), column) for n in sizes]
        middle = [
            average(of(own, nodes=n), column) / average(of(base, nodes=n), column) for n in sizes
        ]
        low, high = [min(f) for f in found], [max(f) for f in found]
        ax.fill_between(sizes, low, high, color=colour, alpha=0.15, linewidth=0)
        label = f"{name}: rho, plan {loads(base, ', ')}" if differ else name
        ax.plot(sizes, middle, marker="o", color=colour, label=label, clip_on=False)
        for n in sizes:
            ticks[n] = str(n) if differ else f"{n}\n{loads(of(base, nodes=n), chr(10))}"
    ax.set_xscale("log")
    ax.set_xticks(list(ticks), list(ticks.values()))
    ax.minorticks_off()
    ax.set_xlabel("nodes" if differ else "nodes; rho; fullest type of the clairvoyant plan")
    ax.set_ylim(bottom=0)


def _draw_parts(ax: Axes, lines: Lines) -> None:
    names = list(lines)
    energy, tardiness, late = [], [], []
    for own, base in lines.values():
        total = average(base, "total")
        energy.append(average(own, "energy") / total)
        tardiness.append(average(own, "tardiness") / total)
        late.append(late_share(own))
    ax.bar(names, energy, color=COLOURS[3], label="energy")
    ax.bar(names, tardiness, bottom=energy, color=COLOURS[1], label="tardiness")
    for i, share in enumerate(late):
        ax.annotate(
            f"{share:.1f}% late",
            (i, energy[i] + tardiness[i]),
            ha="center",
            va="bottom",
            fontsize="x-small",
        )
    ax.set_xticks(range(len(names)), [name.replace("-", "-\n") for name in names])


ARTEFACTS = (
    Artefact(
        "sts-fig4",
        "STS costs about 40% less than EDF, RG and their average variants, to 80%",
        plan=partial(of_policies, FIG4),
        rows=outcomes,
        lines=partial(table, FIG4, "total"),
        judge=finding4,
        draw=partial(draw, FIG4, "total"),
        where="sts, Fig. 4",
        runtime="5 min on two cores; --quick 15 s",
    ),
    Artefact(
        "sts-fig5",
        "STS's energy is 67% below DP's and 32% below avgDP's",
        plan=partial(of_policies, FIG5),
        rows=outcomes,
        lines=partial(table, FIG5, "energy"),
        judge=finding5,
        draw=partial(draw, FIG5, "energy"),
        where="sts, Fig. 5",
        runtime="4 min on two cores; --quick 10 s",
    ),
    Artefact(
        "sts-fig6",
        "sharing GPUs saves STS about 17%, 29% on A100",
        plan=of_sharing,
        rows=outcomes,
        lines=sharing_table,
        judge=finding6,
        draw=draw_sharing,
        where="sts, Fig. 6",
        runtime="3 min on two cores; --quick 10 s",
    ),
)
