"""Figures 4 to 7 of sjf-bco: policies, kappa, servers and lambda, over seeds, with the spread.

The paper plots one draw of its section 7 and states no seed; here each point is the median of 20
draws, once with mild contention (within 15% of the execution time, as the paper says) and once with
strong. The verdict says in how many draws the paper's claim holds. The horizon is 4 x the paper's,
so that a bad policy gets a makespan rather than none; a search for theta starts there.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median

from optsched.files import write_text
from optsched.generate.makespan import generate_makespan
from optsched.makespan.baselines import first_fit, list_scheduling, random_placement
from optsched.makespan.bounds import simple_bound
from optsched.makespan.durations import durations_of
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.options import MakespanOptions
from optsched.makespan.sjf_bco import sjf_bco
from optsched.result import Outcome, Settings

SEEDS, QUICK_SEEDS = 20, 3
STRENGTHS = ("mild", "strong")
SERVERS, SERVER_COUNTS = 20, (10, 12, 14, 16, 18, 20)
HORIZON = 4800
KAPPAS = tuple(range(1, 33))
LAMBDAS = (1, 2, 4, 8)
POLICIES: dict[str, Callable[..., Outcome]] = {
    "SJF-BCO": sjf_bco,
    "FF": first_fit,
    "LS": list_scheduling,
    "RAND": random_placement,
}
COLUMNS = ("contention", "seed", "x", "policy", "makespan", "mean_completion", "bound")


@dataclass(frozen=True)
class Point:
    """One run: a policy at one value of the figure's axis, on one draw."""

    contention: str
    seed: int
    x: int
    policy: str
    makespan: float | None
    mean: float | None
    bound: float


@dataclass(frozen=True)
class Figure:
    """A figure: the runs of one draw, and the paper's claim as a test on them."""

    name: str
    title: str
    axis: str
    claims: dict[str, Callable[[list[Point]], bool]]
    runs: Callable[[str, int], Iterator[Point]]


def run_figure(name: str, folder: Path, quick: bool) -> str:
    """Make a figure: a CSV of every run, a Markdown table, a plot if matplotlib is installed.

    Parameters
    ----------
    name : str
        "fig4" to "fig7".
    folder : str or Path
        Gets ``sjf-bco-<name>.csv``, ``.md`` and ``.png``.
    quick : bool
        Three seeds instead of twenty.
    """
    figure = FIGURES[name]
    seeds = range(QUICK_SEEDS if quick else SEEDS)
    points = [p for c in STRENGTHS for seed in seeds for p in figure.runs(c, seed)]
    text = [f"# sjf-bco, {figure.title}, over {len(seeds)} draws (seeds 0-{seeds[-1]})", ""]
    for contention in STRENGTHS:
        text += _table(contention, [p for p in points if p.contention == contention])
    text += _verdicts(figure, points, len(seeds))
    if quick:
        text.append("[smoke: 3 draws]")
    _write(folder / f"sjf-bco-{name}", points, "\n".join(text) + "\n")
    _draw(folder / f"sjf-bco-{name}.png", figure, points)
    return "\n".join(text)


def _instance(contention: str, seed: int, servers: int = SERVERS) -> MakespanInstance:
    return generate_makespan(servers=servers, contention=contention, horizon=HORIZON, seed=seed)


def _point(
    contention: str, seed: int, x: int, policy: str, instance: MakespanInstance, outcome: Outcome
) -> Point:
    bound = simple_bound(durations_of(instance)).value
    mean = outcome.details.get("mean_completion_time")
    return Point(contention, seed, x, policy, outcome.claimed, mean, bound)


def _policies(contention: str, seed: int, counts: Sequence[int]) -> Iterator[Point]:
    for servers in counts:
        instance = _instance(contention, seed, servers)
        for policy, run in POLICIES.items():
            outcome = run(instance, MakespanOptions(), Settings(seed=seed))
            yield _point(contention, seed, servers, policy, instance, outcome)


def _kappas(contention: str, seed: int) -> Iterator[Point]:
    instance = _instance(contention, seed)
    sizes = sorted({job.gpus for job in instance.jobs})
    found: dict[int, Outcome] = {}
    for kappa in KAPPAS:  # only the sizes of jobs change anything
        effective = max((size for size in sizes if size <= kappa), default=0)
        if effective not in found:
            found[effective] = sjf_bco(instance, MakespanOptions(kappa=kappa), Settings())
        yield _point(contention, seed, kappa, "SJF-BCO", instance, found[effective])


def _lambdas(contention: str, seed: int) -> Iterator[Point]:
    instance = _instance(contention, seed)
    for spread in LAMBDAS:
        outcome = sjf_bco(instance, MakespanOptions(1, float(spread)), Settings())
        yield _point(contention, seed, spread, "SJF-BCO", instance, outcome)


def _makespans(points: list[Point], policy: str = "SJF-BCO") -> list[float]:
    """By x; infinity where the policy finds no schedule within the horizon."""
    chosen = sorted((p for p in points if p.policy == policy), key=lambda p: p.x)
    return [float("inf") if p.makespan is None else p.makespan for p in chosen]


def _best_makespan(points: list[Point]) -> bool:
    ours = _makespans(points)[0]
    return all(ours <= _makespans(points, other)[0] for other in POLICIES)


def _best_mean(points: list[Point]) -> bool:
    means = {p.policy: float("inf") if p.mean is None else p.mean for p in points}
    return means["SJF-BCO"] <= min(means.values())


def _turns_twice(points: list[Point]) -> bool:
    """Drops, then rises, then drops again, as kappa grows."""
    steps = [b - a for a, b in zip(_makespans(points), _makespans(points)[1:], strict=False)]
    signs = [step < 0 for step in steps if step]
    turns = [s for i, s in enumerate(signs) if i == 0 or s != signs[i - 1]]
    return turns[:3] == [True, False, True]


def _falls(points: list[Point], policies: Sequence[str]) -> bool:
    return all(_makespans(points, p)[-1] < _makespans(points, p)[0] for p in policies)


def _first_fit_falls_most(points: list[Point]) -> bool:
    drops = {p: _makespans(points, p)[0] - _makespans(points, p)[-1] for p in POLICIES}
    finite = {p: drop for p, drop in drops.items() if drop == drop}
    return "FF" in finite and finite["FF"] >= max(finite.values())


def _never_rises(points: list[Point]) -> bool:
    values = _makespans(points)
    return all(b <= a for a, b in pairwise(values))


FIGURES = {
    "fig4": Figure(
        "fig4",
        "Fig. 4: policies on 20 servers",
        "",
        {
            "SJF-BCO has the least makespan": _best_makespan,
            "SJF-BCO has the least mean completion time": _best_mean,
        },
        partial(_policies, counts=(SERVERS,)),
    ),
    "fig5": Figure(
        "fig5",
        "Fig. 5: SJF-BCO against kappa",
        "kappa",
        {"the makespan drops, rises and drops again as kappa grows": _turns_twice},
        _kappas,
    ),
    "fig6": Figure(
        "fig6",
        "Fig. 6: policies against the number of servers",
        "servers",
        {
            "FF, LS and SJF-BCO fall from 10 to 20 servers": partial(
                _falls, policies=("FF", "LS", "SJF-BCO")
            ),
            "FF falls most": _first_fit_falls_most,
        },
        partial(_policies, counts=SERVER_COUNTS),
    ),
    "fig7": Figure(
        "fig7",
        "Fig. 7: SJF-BCO with kappa = 1 against lambda",
        "lambda",
        {"the makespan never rises with lambda": _never_rises},
        _lambdas,
    ),
}


def _table(contention: str, points: list[Point]) -> list[str]:
    lines = [
        f"## {contention} contention: medians [min-max] in slots",
        "",
        "| x | policy | makespan | mean completion | excess over the simple bound | no schedule |",
        "|---|---|---|---|---|---|",
    ]
    for x, policy in dict.fromkeys((p.x, p.policy) for p in points):
        chosen = [p for p in points if (p.x, p.policy) == (x, policy)]
        found = [p for p in chosen if p.makespan is not None]
        excess = [100 * ((p.makespan or 0) / p.bound - 1) for p in found]
        lines.append(
            f"| {x} | {policy} | {_spread([p.makespan or 0 for p in found])} "
            f"| {_spread([p.mean or 0 for p in found])} | {_spread(excess)}% "
            f"| {len(chosen) - len(found)} of {len(chosen)} |"
        )
    return [*lines, ""]


def _verdicts(figure: Figure, points: list[Point], draws: int) -> list[str]:
    lines = []
    for claim, holds in figure.claims.items():
        counts = {}
        for contention in STRENGTHS:
            counts[contention] = sum(
                holds([p for p in points if (p.contention, p.seed) == (contention, seed)])
                for seed in range(draws)
            )
        said = "; ".join(
            f"{contention}: {count} of {draws} draws, {_word(count, draws)}"
            for contention, count in counts.items()
        )
        lines.append(f"Claim: {claim}. {said}.")
    return lines


def _word(count: int, draws: int) -> str:
    if count == draws:
        return "holds"
    return "holds mostly" if count >= 0.75 * draws else "does not hold"


def _spread(values: Sequence[float]) -> str:
    if not values:
        return "-"
    return f"{median(values):.1f} [{min(values):.1f}-{max(values):.1f}]"


def _write(path: Path, points: list[Point], text: str) -> None:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(
        [p.contention, p.seed, p.x, p.policy, p.makespan, p.mean, p.bound] for p in points
    )
    write_text(f"{path}.csv", stream.getvalue())
    write_text(f"{path}.md", text)


def _draw(path: Path, figure: Figure, points: list[Point]) -> None:
    """The picture, where matplotlib is installed: makespan beside mean completion time."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return
    from optsched.plot.makespan import plot_sweep

    rows = [(p.contention, float(p.x), p.policy, p.makespan, p.mean) for p in points]
    drawn, panels = plt.subplots(1, 2, figsize=(13, 5), layout="constrained")
    plot_sweep(rows, "makespan", axis=figure.axis, title=figure.title, ax=panels[0])
    plot_sweep(rows, "mean", axis=figure.axis, title="mean completion time", ax=panels[1])
    drawn.savefig(path, dpi=110)
    plt.close(drawn)


def fig4(folder: Path, quick: bool) -> str:
    """Fig. 4."""
    return run_figure("fig4", folder, quick)


def fig5(folder: Path, quick: bool) -> str:
    """Fig. 5."""
    return run_figure("fig5", folder, quick)


def fig6(folder: Path, quick: bool) -> str:
    """Fig. 6."""
    return run_figure("fig6", folder, quick)


def fig7(folder: Path, quick: bool) -> str:
    """Fig. 7."""
    return run_figure("fig7", folder, quick)
