"""Figures 4 to 7 of sjf-bco: policies, kappa, servers and lambda, over its contention and order.

Section 7 of the paper plots one draw and leaves open how much contention there is and in which
order the baselines take the jobs. Here a setting is a range of exchange times, a degradation factor
and an overhead (models/makespan), an order of the jobs, and the contention share xi_1; each has 20
draws. Each claim is tested twice: on the medians of the draws, and on the single draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, product
from typing import TYPE_CHECKING, Any

from optsched.experiments.papers.artefact import Artefact, Scale, seeded
from optsched.experiments.papers.claims import Claim, cells_of, judge, select
from optsched.experiments.papers.pictures import maps
from optsched.experiments.papers.verdict import Verdict
from optsched.experiments.plans.plan import Family
from optsched.generators.makespan import CONTENTION, generate_makespan
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.options import ORDERS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SEEDS, SERVERS, HORIZON = 20, 20, 4800
KAPPAS, LAMBDAS = (1, 2, 4, 8, 16, 32), (1, 2, 4, 8)
"""Only the job sizes matter as kappa."""
MILD, STRONG = CONTENTION["mild"], CONTENTION["strong"]
EXCHANGES = (MILD.exchange, (0.02, 0.1), (0.04, 0.2))
CONTENTIONS = {
    f"exchange {low:.0%} to {high:.0%}, a {world.degradation:g}, "
    f"overhead {1000 * world.overhead:g} ms": replace(world, exchange=(low, high))
    for world, exchanges in ((MILD, EXCHANGES), (STRONG, (*EXCHANGES, STRONG.exchange)))
    for low, high in exchanges
}
"""From mild to strong contention."""
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
POLICIES = {"sjf-bco": "SJF-BCO", "first-fit": "FF", "list-scheduling": "LS", "random": "RAND"}
OWN, PACKED = "", "packed"
"""In place of a baseline's order: SJF-BCO, and its run with every job packed (kappa = 32)."""
MAX_ADDED, MIN_DRAWS = 15, 75
"""Percent: what contention and overhead may add to the run times; draws that show what holds."""
PLACE = "xi_1"
FIXED = (
    "Section 7 states the jobs' sizes, iterations and times on one server, the servers, and "
    "lambda = 1 except in Fig. 7. The range of exchange times sets the cost of spanning servers, "
    "so the bandwidths and the parts of an iteration stay the same. a and the overhead grow "
    f"together, since the paper makes them comparable. The horizon is {HORIZON} slots, so that "
    "every policy has a schedule. The paper keeps what contention and overhead add within "
    f"{MAX_ADDED}% of the execution time. A setting counts if it does so in SJF-BCO's costliest "
    "schedules, with every job packed (kappa = 32): their run times against those on one server, "
    "in the median of the draws."
)


def generate_cluster(
    servers: int, contention: str, contention_share: float, *, seed: int = 0
) -> MakespanInstance:
    """The paper's cluster, cut to its first servers: other numbers of servers keep the jobs."""
    world = CONTENTIONS[contention]
    document = generate_makespan(
        servers=SERVERS,
        contention_share=contention_share,
        degradation=world.degradation,
        overhead=world.overhead,
        exchange=world.exchange,
        horizon=HORIZON,
        seed=seed,
    ).to_dict()
    cluster = {**document, "servers": document["servers"][:servers]}
    return MakespanInstance.from_dict(cluster, "generate makespan")


def plan(
    axis: Mapping[int, Mapping[str, Any]], baselines: Sequence[str], scale: Scale
) -> list[Family]:
    """A family per draw of a contention, xi_1, order and x; its name begins with the first two.

    `axis` has SJF-BCO's options by x; with baselines, x is the number of servers. A world of the
    claims is a contention, or one and an order; it is measured from all of the contention's runs.
    """
    own, packed = ["sjf-bco"], {"kappa": max(KAPPAS)}
    runs: list[tuple[str, int, Sequence[str], Mapping[str, Any]]] = [(PACKED, 0, own, packed)]
    for x, options in axis.items():
        runs += [(OWN, x, own, options)]
        runs += [(order, x, baselines, {"order": order}) for order in ORDERS if baselines]
    contentions = list(CONTENTIONS)[: 2 if scale.quick else None]
    return [
        seeded(
            f"{contention}|{share:g}|{order}|{x}",
            "makespan",
            {
                "servers": (baselines and x) or SERVERS,
                "contention": contention,
                "contention_share": share,
            },
            seed,
            methods,
            generator=f"{__name__}:{generate_cluster.__name__}",
            options=options,
            bound=False,
        )
        for contention, share in product(contentions, SHARES[:: 5 if scale.quick else 1])
        for seed in scale.seeds(SEEDS)
        for order, x, methods, options in runs
    ]


def rows_of(runs: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """A row a run; `added`: what contention and overhead add, % of its jobs' run times."""
    import pandas as pd

    on_one_server = {
        seed: durations_of(generate_makespan(seed=seed)).inside.mean() for seed in set(runs["seed"])
    }
    details = pd.DataFrame(list(runs["details"]))
    parts = runs["family"].str.split("|", expand=True)
    rows = parts.set_axis(["contention", PLACE, "order", "x"], axis=1).astype({"x": int})
    return rows.assign(
        policy=runs["method"].map(POLICIES),
        seed=runs["seed"],
        makespan=runs["objective"],
        mean_completion=details["mean_completion_time"],
        added=100 * (1 - runs["seed"].map(on_one_server) / details["mean_run_time"]),
    )


@dataclass(frozen=True)
class Shape:
    """What a figure shows: a quantity and a test of a table of values by x and policy."""

    text: str
    quantity: str
    value: Callable[[pd.DataFrame], float]
    holds: Callable[[pd.DataFrame], bool]
    unit: str = "%"
    column: str = "makespan"

    @property
    def claims(self) -> tuple[Claim, Claim]:
        """The claims on the medians and on the single draws."""
        paper = "a plot of one draw"
        return (
            Claim(f"{self.text}: medians", paper, self.quantity, self.unit),
            Claim(f"{self.text}: {MIN_DRAWS}% of draws", paper, "draws that show it"),
        )


def cells(shapes: Sequence[Shape], rows: pd.DataFrame, *, counted: bool = True) -> pd.DataFrame:
    """Both claims of each shape where what contention adds is within the limit, or beyond it."""
    found = []
    for (contention, share), runs in rows.groupby(["contention", PLACE], sort=False):
        if (select(runs, order=PACKED)["added"].median() <= MAX_ADDED) != counted:
            continue
        for order in [order for order in ORDERS if order in set(runs["order"])] or [OWN]:
            world = f"{contention}, {order}" if order else str(contention)
            for shape in shapes:
                own = runs[runs["order"].isin([OWN, order])]
                table = own.pivot(index=["seed", "x"], columns="policy", values=shape.column)
                draws = [draw.droplevel("seed") for _, draw in table.groupby("seed")]
                medians = table.groupby("x").median()
                percent = 100 * sum(map(shape.holds, draws)) / len(draws)
                of_medians, of_draws = (claim.text for claim in shape.claims)
                found += [
                    (of_medians, world, str(share), [shape.value(medians)], shape.holds(medians)),
                    (of_draws, world, str(share), [percent], percent >= MIN_DRAWS),
                ]
    return cells_of(found)


def judge_shapes(shapes: Sequence[Shape], why: str, rows: pd.DataFrame, scale: Scale) -> Verdict:
    """Count the settings within the limit; `why` also has the counts beyond it."""
    claims = [claim for shape in shapes for claim in shape.claims]
    beyond = judge(claims, cells(shapes, rows, counted=False)).parts
    counts = "; ".join(f"{part.claim}, in {part.count}" for part in beyond if part.settings)
    if counts:
        why += f"\n\nIn settings beyond {MAX_ADDED}%, which do not count: {counts}."
    return judge(claims, cells(shapes, rows), PLACE, why=why, fixed=FIXED)


def draw_shapes(shapes: Sequence[Shape], rows: pd.DataFrame) -> Figure:
    return maps([claim for s in shapes for claim in s.claims], cells(shapes, rows), PLACE)


def above_best_baseline(table: pd.DataFrame) -> float:
    """How much SJF-BCO's value exceeds the best other policy's, %."""
    values = table.iloc[0]
    return float(100 * (values["SJF-BCO"] / values.drop("SJF-BCO").min() - 1))


def turns_twice(table: pd.DataFrame) -> bool:
    """Whether the makespan drops, then rises, then drops again, as x grows."""
    steps = [step for step in table["SJF-BCO"].diff().iloc[1:] if step]
    return [is_drop for is_drop, _ in groupby(step < 0 for step in steps)] == [True, False, True]


def largest_rise(table: pd.DataFrame) -> float:
    """The largest rise of the makespan over that of a smaller x, %."""
    makespans = table["SJF-BCO"]
    return float(100 * (makespans / makespans.cummin() - 1).max())


def least_fall(table: pd.DataFrame) -> float:
    """The least fall of the policies' makespans from the first x to the last, %."""
    return float(100 * (1 - table.iloc[-1] / table.iloc[0]).min())


def first_fit_lead(table: pd.DataFrame) -> float:
    """FF's fall less the largest of the others', slots."""
    falls = table.iloc[0] - table.iloc[-1]
    return float(falls["FF"] - falls.drop("FF").max())


_BEST = (
    "SJF-BCO over the best baseline",
    above_best_baseline,
    lambda t: above_best_baseline(t) <= 0,
)
SHAPES = {
    4: (
        Shape("SJF-BCO has the least makespan", *_BEST),
        Shape("SJF-BCO has the least mean completion time", *_BEST, column="mean_completion"),
    ),
    5: (
        Shape(
            "the makespan drops, rises and drops again",
            "largest rise over a smaller kappa",
            largest_rise,
            turns_twice,
        ),
    ),
    6: (
        Shape(
            "FF, LS and SJF-BCO fall from 10 to 20 servers",
            "least fall of the three",
            least_fall,
            lambda table: least_fall(table) > 0,
        ),
        Shape(
            "FF falls most",
            "FF's fall less the others' largest",
            first_fit_lead,
            lambda table: first_fit_lead(table) > 0,
            "slots",
        ),
    ),
    7: (
        Shape(
            "the makespan never rises with lambda",
            "largest rise over a smaller lambda",
            largest_rise,
            lambda table: largest_rise(table) <= 0,
        ),
    ),
}
"""What each figure shows."""


def _figure(
    number: int,
    summary: str,
    runtime: str,
    axis: Mapping[int, Mapping[str, Any]],
    why: str,
    baselines: Sequence[str] = (),
) -> Artefact:
    return Artefact(
        name=f"sjf-bco-fig{number}",
        reference=f"sjf-bco, Fig. {number}",
        claim=summary,
        runtime=f"{runtime} on two cores; --quick 10 s",
        plan=partial(plan, axis, baselines),
        rows=rows_of,
        judge=partial(judge_shapes, SHAPES[number], why),
        draw=partial(draw_shapes, SHAPES[number]),
        group_columns=("contention", "order", "x", "policy"),
        value_columns=("makespan", "mean_completion", "added"),
    )


ARTEFACTS = (
    _figure(
        4,
        "SJF-BCO has the least makespan and mean completion time of four policies",
        "TODO",
        {SERVERS: {}},
        "TODO",
        list(POLICIES)[1:],
    ),
    _figure(
        5,
        "as kappa grows, SJF-BCO's makespan drops, rises and drops again",
        "TODO",
        {kappa: {"kappa": kappa} for kappa in KAPPAS},
        "TODO",
    ),
    _figure(
        6,
        "makespans fall from 10 to 20 servers, First-Fit's most",
        "TODO",
        {10: {}, SERVERS: {}},
        "TODO",
        list(POLICIES)[1:3],
    ),
    _figure(
        7,
        "with kappa = 1, SJF-BCO's makespan falls as lambda grows",
        "TODO",
        {factor: {"kappa": 1, "lambda": float(factor)} for factor in LAMBDAS},
        "TODO",
    ),
)
