"""Table II of a-srpt: Heavy-Edge against the ILP, in iteration time and computation time.

The paper states neither its stage configurations nor its ILP, so its digits cannot be met; what
can be is the shape: how far Heavy-Edge is from optimal, and how long a proof takes. `ilp-vertex`
stands in for the paper's ILP, `exact` is this package's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean, median
from typing import TYPE_CHECKING, Any

from optsched.experiments.papers.artefact import Artefact, Scale
from optsched.experiments.papers.pictures import strips
from optsched.experiments.papers.running import seeded
from optsched.experiments.papers.verdict import Finding, Verdict
from optsched.experiments.plans.plan import Family
from optsched.experiments.statistics import span, spread
from optsched.generating import generate
from optsched.result import Termination

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from optsched.placement.instance import PlacementInstance

NAME = "a-srpt-table2"
METHODS = ("heavy-edge", "repartition", "exact", "ilp-vertex")
VECTORS, QUICK_VECTORS = 20, 3
TIME_LIMIT = 60.0
TOLERANCE = 0.5
"""Points of percent by which our mean may exceed the paper's value and still agree."""
PARAGRAPH = (
    "GPT-175B agrees: with one replica a stage there is no all-reduce, and Heavy-Edge's value is "
    "proved optimal on every vector. VGG19 does not agree. Where Heavy-Edge leaves one replica of "
    "a stage alone on a server, that replica pays its stage's all-reduce through one share of a "
    "network card, and the whole iteration waits for it (`notebooks/01_placement.ipynb` takes such "
    "a placement apart). The paper states neither its stage configuration nor its availability "
    "vectors, so its 6% may hold on its own."
)


@dataclass(frozen=True)
class Case:
    """A row of the paper's table, and the configuration it is reproduced on."""

    model: str
    gpus: int
    stages: int | None
    claimed: float
    paper: str

    @property
    def arguments(self) -> dict[str, Any]:
        """Of the generator; the paper trains these whatever a GPU's memory."""
        stages = {} if self.stages is None else {"stages": self.stages}
        given = {"model": self.model, "gpus": self.gpus, **stages}
        return {**given, "batch": "global", "oversized": True}

    @property
    def title(self) -> str:
        """A heading's words."""
        return f"{self.model}, {self.gpus} GPUs"


CASES = (
    Case(
        "VGG19", 32, None, 6.2, "Heavy-Edge 88.11 ms in 1.94 ms; ILP 82.96 ms in 55318.86 ms (6%)"
    ),
    Case(
        "GPT-175B", 32, 32, 0.0, "Heavy-Edge 10.14 ms in 1.52 ms; ILP 10.14 ms in 2288.12 ms (0%)"
    ),
)


def plan(scale: Scale) -> list[Family]:
    """Every method on every availability vector."""
    return [
        seeded(case.model, "placement", case.arguments, seed, METHODS, time_limit=TIME_LIMIT)
        for case in CASES
        for seed in range(QUICK_VECTORS if scale.quick else VECTORS)
    ]


def outcomes(runs: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """A row a method and vector; the bound is the best that any method proves for the vector."""
    import pandas as pd

    best = runs.groupby(["family", "seed"])["bound"].transform("max")
    made = {
        (case.model, seed): generate("placement", int(seed), **case.arguments)
        for case in CASES
        for seed in runs["seed"].unique()
    }
    instances = [made[at] for at in zip(runs["family"], runs["seed"], strict=True)]
    return pd.DataFrame(
        {
            "model": runs["family"],
            "gpus": [sum(stage.replicas for stage in each.job.stages) for each in instances],
            "replicas": [_replicas(each) for each in instances],
            "seed": runs["seed"],
            "free_gpus": [" ".join(map(str, each.free_gpus)) for each in instances],
            "method": runs["method"],
            "chosen": runs["chosen"],
            "pitt_ms": 1e3 * runs["objective"],
            "pct_ms": 1e3 * (runs["build_time"] + runs["solve_time"]),
            "bound_ms": 1e3 * best,
            "excess": runs["objective"] / best - 1,
            "termination": runs["termination"],
            "checked": runs["feasible"].astype(bool),
        }
    )


def table(rows: pd.DataFrame, scale: Scale) -> list[str]:
    """Methods by case, and what the proofs took."""
    lines = [
        f"{rows['seed'].nunique()} availability vectors. PITT: iteration time. PCT: computation "
        "time, compiled code loaded. Medians, [min-max].",
    ]
    for case in CASES:
        own = {m: rows[(rows["model"] == case.model) & (rows["method"] == m)] for m in METHODS}
        replicas = own[METHODS[0]]["replicas"].iloc[0]
        lines += [
            "",
            f"## {case.title}, replicas by stage {replicas}",
            "",
            f"Paper: {case.paper}",
            "",
            "| method | PITT ms | PCT ms | excess over the bound, mean | largest | proved |",
            "|---|---|---|---|---|---|",
        ]
        for method, runs in own.items():
            said = [spread(list(runs[c].dropna()), ".3f") for c in ("pitt_ms", "pct_ms")]
            excess = _excess(rows, case, method)
            said += [f"{of(excess):.2f}%" if excess else "-" for of in (mean, max)]
            proved = (runs["termination"] == Termination.OPTIMAL).sum()
            said.append(f"{proved} of {len(runs)}" if method in METHODS[2:] else "-")
            lines.append(f"| {method} | {' | '.join(said)} |")
        exact, rival = (median(own[m]["pct_ms"]) for m in ("exact", "ilp-vertex"))
        lines += [
            "",
            f"exact {exact:.1f} ms median, {rival / exact:.0f} x faster than ilp-vertex",
        ]
    return lines


def judge(rows: pd.DataFrame, scale: Scale) -> Verdict:
    """The verdict on Heavy-Edge's distance from the optimum."""
    greedy = {case: _excess(rows, case, "heavy-edge") for case in CASES}
    holding = [mean(values) <= case.claimed + TOLERANCE for case, values in greedy.items()]
    return Verdict(
        artefact=NAME,
        finding=(
            Finding.HOLDS if all(holding) else Finding.PARTLY if any(holding) else Finding.FAILS
        ),
        paper=", ".join(f"{case.model} {case.claimed:.1f}%" for case in greedy),
        ours=", ".join(f"{case.model} {mean(values):.1f}%" for case, values in greedy.items()),
        spread=", ".join(f"{span(values, '.1f')}%" for values in greedy.values()),
        setting=f"our stage plans, {rows['seed'].nunique()} availability vectors",
        smoke=scale.quick,
        paragraph=PARAGRAPH,
    )


def draw(rows: pd.DataFrame) -> Figure:
    """Excess by method, a panel a case."""
    groups = {case.title: {m: _excess(rows, case, m) for m in METHODS} for case in CASES}
    return strips(groups, "excess over the best proven bound (%)")


def _excess(rows: pd.DataFrame, case: Case, method: str) -> list[float]:
    """Excess in percent, a value an availability vector."""
    own = rows[(rows["model"] == case.model) & (rows["method"] == method)]
    return [100 * max(excess, 0.0) for excess in own["excess"].dropna()]


def _replicas(instance: PlacementInstance) -> str:
    replicas = [stage.replicas for stage in instance.job.stages]
    if len(set(replicas)) == 1 and len(replicas) > 8:
        return f"{len(replicas)} x {replicas[0]}"
    return "-".join(str(k) for k in replicas)


ARTEFACTS = (
    Artefact(
        NAME,
        "Heavy-Edge is within 6% of the ILP (VGG19) or equal to it (GPT-175B), in milliseconds",
        plan=plan,
        rows=outcomes,
        lines=table,
        judge=judge,
        draw=draw,
        timed=True,
        where="a-srpt, Table II",
        runtime="1 min; --quick 8 s",
    ),
)
