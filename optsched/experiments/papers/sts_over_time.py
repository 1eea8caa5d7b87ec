"""Figs. 4, 5 and 6 of sts: total and energy cost over time, with and without shared GPUs.

The paper's epochs, speeds and seeds are not published with the figures, so its digits cannot be
met; the shape can. Costs are averaged over seeds before ratios (29) and PCR (30) are taken, as
there. Both loads stand beside every row; saturation is shown, not left out. RG makes 5 passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from optsched.experiments.papers.rolling_runs import Row, average, loads, of, rows_of, write_rows
from optsched.files import write_text
from optsched.generate.rolling import rolling_settings
from optsched.rolling.metrics import cost_ratio, cost_reduction

ARRIVALS = ("exponential", "poisson-low", "poisson-high")
NODES, QUICK_NODES = (10, 20), (6,)
SEEDS, QUICK_SEEDS = 3, 1
FIG4 = ("sts", "edf", "rg", "avg-edf", "avg-rg")
FIG5 = ("sts", "edf", "dp", "avg-dp")
FAMILIES = (("K80 and M60", ("K80", "M60")), ("A100", ("A100",)))


def fig4(folder: Path, quick: bool) -> str:
    """Total cost over EDF's, its parts, and the PCR of STS."""
    rows = _rows(FIG4, quick)
    lines = _heading("Fig. 4: total cost over EDF's (energy + tardiness), no sharing", quick)
    lines += _ratio_table(rows, FIG4, "total", parts=True)
    verdict = "; ".join(
        f"PCR of STS over {other}: {_reductions(rows, other, 'total')}" for other in FIG4[1:]
    )
    verdict += (
        f" (paper: about 40% on average, to 80%); avg- methods' energy below STS's: "
        f"{_below(rows, 'avg-rg')} (avg-rg), {_below(rows, 'avg-edf')} (avg-edf)"
    )
    return _written(folder, "sts-fig4", lines, rows, verdict, quick)


def fig5(folder: Path, quick: bool) -> str:
    """Energy cost over EDF's with DP, and the PCR of STS."""
    rows = _rows(FIG5, quick)
    lines = _heading("Fig. 5: energy cost over EDF's, no sharing", quick)
    lines += _ratio_table(rows, FIG5, "energy")
    verdict = (
        f"PCR (energy) of STS over dp: {_reductions(rows, 'dp', 'energy')} (paper 67%), over "
        f"avg-dp: {_reductions(rows, 'avg-dp', 'energy')} (paper 32%)"
    )
    return _written(folder, "sts-fig5", lines, rows, verdict, quick)


def fig6(folder: Path, quick: bool) -> str:
    """STS with shared GPUs over STS without, due dates (31) relaxed by 20%, by GPU family."""
    nodes, seeds = _sizes(quick)
    rows: list[Row] = []
    for family, types in FAMILIES:
        for arrivals in ARRIVALS:
            for n in nodes:
                settings = rolling_settings(n, arrivals=arrivals, sharing=True, gpu_types=types)
                for sharing in ("off", "on"):
                    rows += rows_of(
                        f"{family}, {arrivals}", settings, seeds, ("sts",), sharing=sharing
                    )
    lines = _heading("Fig. 6: STS with GPU sharing over STS without, due dates + 20%", quick)
    lines += ["| case | nodes | rho | plan | total ratio | energy ratio | PCR |", "|---" * 7 + "|"]
    for case, n in dict.fromkeys((row.case, row.nodes) for row in rows):
        on, off = (of(rows, case=case, nodes=n, sharing=s) for s in ("on", "off"))
        totals = average(on, "total"), average(off, "total")
        energies = average(on, "energy"), average(off, "energy")
        lines.append(
            f"| {case} | {n} | {loads(off)} | {cost_ratio(*totals):.2f} "
            f"| {cost_ratio(*energies):.2f} | {cost_reduction(*totals):.1f}% |"
        )
    verdict = "; ".join(f"{name}: PCR {_sharing(rows, name)}" for name, _ in FAMILIES)
    return _written(
        folder, "sts-fig6", lines, rows, f"{verdict} (paper: about 17%, 29% on A100)", quick
    )


def _sizes(quick: bool) -> tuple[tuple[int, ...], range]:
    return (QUICK_NODES, range(QUICK_SEEDS)) if quick else (NODES, range(SEEDS))


def _rows(policies: Sequence[str], quick: bool) -> list[Row]:
    nodes, seeds = _sizes(quick)
    return [
        row
        for arrivals in ARRIVALS
        for n in nodes
        for row in rows_of(arrivals, rolling_settings(n, arrivals=arrivals), seeds, policies)
    ]


def _heading(title: str, quick: bool) -> list[str]:
    nodes, seeds = _sizes(quick)
    return [
        f"# sts, {title}",
        "",
        f"{', '.join(map(str, nodes))} nodes of 4 GPUs, 10 jobs a node, seeds {list(seeds)}. Load: "
        "rho, and the fullest type's share in the uncapacitated clairvoyant plan.",
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
            each = [
                cost_ratio(getattr(a, field), getattr(b, field))
                for a, b in zip(own, base, strict=True)
            ]
            cell = f"{cost_ratio(average(own, field), average(base, field)):.2f}"
            cell += f" [{min(each):.2f}-{max(each):.2f}]"
            if parts:
                total = average(base, "total")
                energy, late = average(own, "energy") / total, average(own, "tardiness") / total
                cell += f" = {energy:.2f} + {late:.2f}"
            cells.append(cell)
        lines.append(f"| {case} | {n} | {loads(here)} | {' | '.join(cells)} |")
    return lines


def _reductions(rows: list[Row], other: str, field: str) -> str:
    found = []
    for arrivals in ARRIVALS:
        here = of(rows, case=arrivals)
        target = average(of(here, policy="sts"), field)
        value = cost_reduction(target, average(of(here, policy=other), field))
        found.append(f"{value:.0f}% {arrivals}")
    return ", ".join(found)


def _below(rows: list[Row], other: str) -> str:
    pairs = list(zip(of(rows, policy=other), of(rows, policy="sts"), strict=True))
    return f"in {sum(a.energy < b.energy for a, b in pairs)} of {len(pairs)} runs"


def _sharing(rows: list[Row], family: str) -> str:
    found = []
    for arrivals in ARRIVALS:
        here = of(rows, case=f"{family}, {arrivals}")
        on, off = of(here, sharing="on"), of(here, sharing="off")
        found.append(
            f"{cost_reduction(average(on, 'total'), average(off, 'total')):.0f}% {arrivals}"
        )
    return ", ".join(found)


def _written(
    folder: Path, name: str, lines: list[str], rows: list[Row], verdict: str, quick: bool
) -> str:
    smoke = " [smoke: one size, one seed]" if quick else ""
    text = "\n".join([*lines, "", f"Verdict: {verdict}{smoke}"])
    write_rows(folder / f"{name}.csv", rows)
    write_text(folder / f"{name}.md", text + "\n")
    return text
