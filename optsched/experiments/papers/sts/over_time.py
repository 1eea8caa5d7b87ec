"""Figs. 4, 5 and 6 of sts: total and energy cost over time, with and without shared GPUs.

The paper's epochs, speeds and seeds are not published with the figures, so its digits cannot be
met; the shape can. Costs are averaged over seeds before ratios (29) and PCR (30) are taken, as
there. Both loads stand beside every row; saturation is shown, not left out. As in the paper RG is
run ten times on each workload and averaged, on large clusters fewer times: its decisions, the best
of 5 passes each, take most of the figure's time there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from optsched.experiments.papers.output_files import leave
from optsched.experiments.papers.sts.over_time_findings import (
    finding4,
    finding5,
    finding6,
    reductions,
)
from optsched.experiments.papers.sts.pictures import Panels, by_size
from optsched.experiments.papers.sts.runs import (
    Row,
    Task,
    average,
    late_share,
    loads,
    of,
    ratios,
    rows_of,
)
from optsched.experiments.papers.verdict import Verdict
from optsched.generators.rolling import rolling_settings
from optsched.rolling.metrics import cost_ratio, cost_reduction

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ARRIVALS = ("exponential", "poisson-low", "poisson-high")
SIZES = {10: 5, 20: 5, 50: 3, 100: 3}
"""Seeds by number of nodes; the paper has three."""
SHARING_SIZES = {10: 5, 20: 5, 50: 2, 100: 1}
"""Of Fig. 6, which has four times the clusters."""
REPEATS = {10: 10, 20: 5, 50: 2, 100: 1}
"""Runs of RG on a workload by number of nodes."""
QUICK_SIZES = {6: 3}
QUICK_REPEATS = {6: 2}
FIG4 = ("sts", "edf", "rg", "avg-edf", "avg-rg")
FIG5 = ("sts", "edf", "dp", "avg-dp")
FAMILIES = (("K80 and M60", ("K80", "M60")), ("A100", ("A100",)))


def fig4(folder: Path, quick: bool) -> str:
    """Total cost over EDF's, its parts, and the PCR of STS."""
    rows = _rows(FIG4, quick)
    repeats = _by_size(QUICK_REPEATS if quick else REPEATS)
    lines = _heading(
        "Fig. 4: total cost over EDF's (energy + tardiness), no sharing",
        _sizes(quick),
        f"RG: runs of a workload {repeats}, 5 passes a decision. ",
    )
    lines += _ratio_table(rows, FIG4, "total", parts=True)
    lines += ["", *_reduction_table(rows, FIG4, "total")]
    figure = by_size(_panels(rows, FIG4), "total", "total cost over EDF's", parts=True)
    return _left(folder, finding4(rows, _setting(_sizes(quick)), quick), lines, rows, figure)


def fig5(folder: Path, quick: bool) -> str:
    """Energy cost over EDF's with DP, and the PCR of STS."""
    rows = _rows(FIG5, quick)
    lines = _heading("Fig. 5: energy cost over EDF's, no sharing", _sizes(quick))
    lines += _ratio_table(rows, FIG5, "energy")
    lines += ["", *_reduction_table(rows, FIG5, "energy")]
    figure = by_size(_panels(rows, FIG5), "energy", "energy cost over EDF's")
    return _left(folder, finding5(rows, _setting(_sizes(quick)), quick), lines, rows, figure)


def fig6(folder: Path, quick: bool) -> str:
    """STS with shared GPUs over STS without, due dates (31) relaxed by 20%, by GPU family."""
    sizes = QUICK_SIZES if quick else SHARING_SIZES
    tasks = []
    for family, types in FAMILIES:
        for arrivals in ARRIVALS:
            for n, count in sizes.items():
                settings = rolling_settings(n, arrivals=arrivals, sharing=True, gpu_types=types)
                tasks += [
                    Task(f"{family}, {arrivals}", settings, seed, ("sts",), sharing=sharing)
                    for sharing in ("off", "on")
                    for seed in range(count)
                ]
    rows = rows_of(tasks, parallel=not quick)
    lines = _heading("Fig. 6: STS with GPU sharing over STS without, due dates + 20%", sizes)
    lines += [
        "| case | nodes | rho | plan | total ratio | energy ratio | PCR | late, off | on |",
        "|---" * 9 + "|",
    ]
    for case, n in dict.fromkeys((row.case, row.nodes) for row in rows):
        on, off = (of(rows, case=case, nodes=n, sharing=s) for s in ("on", "off"))
        totals = average(on, "total"), average(off, "total")
        lines.append(
            f"| {case} | {n} | {loads(off)} | {cost_ratio(*totals):.2f} {_range(on, off, 'total')} "
            f"| {cost_ratio(average(on, 'energy'), average(off, 'energy')):.2f} "
            f"{_range(on, off, 'energy')} | {cost_reduction(*totals):.1f}% "
            f"| {late_share(off):.1f}% | {late_share(on):.1f}% |"
        )
    panels: Panels = {
        family: {
            arrivals: tuple(  # type: ignore[misc]
                of(rows, case=f"{family}, {arrivals}", sharing=s) for s in ("on", "off")
            )
            for arrivals in ARRIVALS
        }
        for family, _ in FAMILIES
    }
    figure = by_size(panels, "total", "total cost, shared over not")
    return _left(folder, finding6(rows, _setting(sizes), quick), lines, rows, figure)


def _sizes(quick: bool) -> dict[int, int]:
    return QUICK_SIZES if quick else SIZES


def _rows(policies: tuple[str, ...], quick: bool) -> list[Row]:
    repeats = QUICK_REPEATS if quick else REPEATS
    return rows_of(
        (
            Task(
                arrivals, rolling_settings(n, arrivals=arrivals), seed, policies, repeats=repeats[n]
            )
            for arrivals in ARRIVALS
            for n, count in _sizes(quick).items()
            for seed in range(count)
        ),
        parallel=not quick,
    )


def _setting(sizes: dict[int, int]) -> str:
    return f"our generator; {'-'.join(map(str, sizes))} nodes x 4 GPUs, seeds: {_by_size(sizes)}"


def _by_size(counts: dict[int, int]) -> str:
    return ", ".join(f"{count} at {n}" for n, count in counts.items())


def _heading(title: str, sizes: dict[int, int], words: str = "") -> list[str]:
    return [
        f"# sts, {title}",
        "",
        f"{_setting(sizes)}; 10 jobs a node. {words}Ratios of means over seeds, [range over "
        "seeds]. Load: rho, and the fullest type's share in the uncapacitated clairvoyant plan.",
        "",
    ]


def _ratio_table(
    rows: list[Row], policies: Sequence[str], field: str, *, parts: bool = False
) -> list[str]:
    lines = [
        f"| arrivals | nodes | rho | plan | {' | '.join(policies)} |",
        "|---" * (4 + len(policies)) + "|",
    ]
    for case, n in dict.fromkeys((row.case, row.nodes) for row in rows):
        here = of(rows, case=case, nodes=n)
        base = of(here, policy="edf")
        cells = []
        for name in policies:
            own = of(here, policy=name)
            cell = f"{cost_ratio(average(own, field), average(base, field)):.2f}"
            cell += f" {_range(own, base, field)}"
            if parts:
                total = average(base, "total")
                energy, late = average(own, "energy") / total, average(own, "tardiness") / total
                cell += f" = {energy:.2f} + {late:.2f}, {late_share(own):.1f}% late"
            cells.append(cell)
        lines.append(f"| {case} | {n} | {loads(here)} | {' | '.join(cells)} |")
    return lines


def _range(own: list[Row], base: list[Row], field: str) -> str:
    each = ratios(own, base, field)
    return f"[{min(each):.2f}-{max(each):.2f}]"


def _reduction_table(rows: list[Row], policies: Sequence[str], field: str) -> list[str]:
    """PCR (30) of STS: mean over cluster sizes [range]."""
    others = [name for name in policies if name != "sts"]
    lines = [
        f"| PCR of STS ({field}) over | {' | '.join(others)} |",
        "|---" * (1 + len(others)) + "|",
    ]
    for arrivals in ARRIVALS:
        cells = []
        for name in others:
            found = reductions(rows, arrivals, name, field)
            cells.append(f"{mean(found):.0f}% [{min(found):.0f}-{max(found):.0f}]")
        lines.append(f"| {arrivals} | {' | '.join(cells)} |")
    return lines


def _panels(rows: list[Row], policies: Sequence[str]) -> Panels:
    return {
        arrivals: {
            name: (of(rows, case=arrivals, policy=name), of(rows, case=arrivals, policy="edf"))
            for name in policies
        }
        for arrivals in ARRIVALS
    }


def _left(folder: Path, verdict: Verdict, lines: list[str], rows: list[Row], figure: Figure) -> str:
    words = [str(verdict)] + ([verdict.paragraph] if verdict.paragraph else [])
    return leave(folder, verdict, [*lines, "", *words], rows, figure)
