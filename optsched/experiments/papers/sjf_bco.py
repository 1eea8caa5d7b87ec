"""Figures 4 to 7 of sjf-bco: policies, kappa, servers and lambda, over its contention and order.

Section 7 of the paper plots one draw, and states neither the contention nor the baselines' order of
jobs. Here a setting is a range of exchange times, a degradation factor a, an overhead
(models/makespan), an order and the contention share xi_1, with 20 draws. Each claim is tested on
the medians of the draws, and on the single draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, product
from typing import TYPE_CHECKING, Any

from optsched.experiments.papers.artefact import Artefact, Scale, seeded
from optsched.experiments.papers.claims import COLUMNS, Claim, judge, select
from optsched.experiments.papers.pictures import maps
from optsched.experiments.papers.verdict import Verdict
from optsched.experiments.plans.plan import Family
from optsched.generators.makespan import CONTENTION, generate_makespan
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.options import ORDERS

if TYPE_CHECKING:
    import pandas as pd

SEEDS, SERVERS, HORIZON = 20, 20, 4800
KAPPAS, LAMBDAS = (1, 2, 4, 8, 16, 32), (1, 2, 4, 8)
MILD, STRONG = CONTENTION["mild"], CONTENTION["strong"]
EXCHANGES = (MILD.exchange, (0.02, 0.1), (0.04, 0.2))
CONTENTIONS: Mapping[str, dict[str, Any]] = {
    f"exchange {low:.0%} to {high:.0%}, a {world.degradation:g}, "
    f"overhead {1000 * world.overhead:g} ms": {
        "exchange": (low, high), "degradation": world.degradation, "overhead": world.overhead
    }
    for world, exchanges in ((MILD, EXCHANGES), (STRONG, (*EXCHANGES, STRONG.exchange)))
    for low, high in exchanges
}  # fmt: skip
"""Arguments of the generator; on one server, a draw's jobs take equally long in all."""
PLACE, SHARES = "xi_1", (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
POLICIES = {"sjf-bco": "SJF-BCO", "first-fit": "FF", "list-scheduling": "LS", "random": "RAND"}
OWN, PACKED = "", "packed"
"""Values of "order" for SJF-BCO: as configured, and with every job packed (kappa = 32)."""
MAX_ADDED, MIN_DRAWS = 15, 75
"""Percent: the most that contention and overhead may add; draws in which a claim must hold."""
Axis = Mapping[int, Mapping[str, Any]]  # SJF-BCO's options by x
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
    arguments = {"contention_share": contention_share, **CONTENTIONS[contention]}
    whole = generate_makespan(servers=SERVERS, horizon=HORIZON, seed=seed, **arguments)
    document = whole.to_dict()
    cluster = {**document, "servers": document["servers"][:servers]}
    return MakespanInstance.from_dict(cluster, "generate makespan")


def plan(axis: Axis, baselines: Sequence[str], scale: Scale) -> list[Family]:
    """A family per draw of a contention, xi_1, order and x; its name begins with the first two.

    With baselines, x is the number of servers. A world of the claims is a contention, or one and an
    order; it is measured from all of the contention's runs.
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
    """What a figure shows: a test of a table by x and policy, with the quantity it measures."""

    text: str
    quantity: str
    test: Callable[[pd.DataFrame], tuple[float, bool]]
    unit: str = "%"
    column: str = "makespan"

    @property
    def claims(self) -> tuple[Claim, Claim]:
        paper = "a plot of one draw"
        return (
            Claim(f"{self.text}, in the median", paper, self.quantity, self.unit),
            Claim(f"{self.text}, in {MIN_DRAWS}% of draws", paper, "draws that show it"),
        )


def cells(shapes: Sequence[Shape], rows: pd.DataFrame, *, counted: bool = True) -> pd.DataFrame:
    """Both claims of each shape where what contention adds is within the limit, or beyond it."""
    import pandas as pd

    found = []
    for (contention, share), runs in rows.groupby(["contention", PLACE], sort=False):
        if (select(runs, order=PACKED)["added"].median() <= MAX_ADDED) != counted:
            continue
        for order in [order for order in ORDERS if order in set(runs["order"])] or [OWN]:
            world = f"{contention}, {order}" if order else str(contention)
            own = runs[runs["order"].isin([OWN, order])]
            for shape in shapes:
                table = own.pivot(index=["seed", "x"], columns="policy", values=shape.column)
                tests = [shape.test(draw.droplevel(0)) for _, draw in table.groupby("seed")]
                values, shown = zip(*tests, strict=True)
                percent = 100 * sum(shown) / len(shown)
                value, holds = shape.test(table.groupby("x").median())
                of_medians, of_draws = (claim.text for claim in shape.claims)
                found += [
                    (of_medians, world, share, value, min(values), max(values), holds),
                    (of_draws, world, share, percent, percent, percent, percent >= MIN_DRAWS),
                ]
    return pd.DataFrame(found, columns=list(COLUMNS)).astype({"holds": bool})


def judge_shapes(shapes: Sequence[Shape], why: str, rows: pd.DataFrame, scale: Scale) -> Verdict:
    """Count the settings within the limit; `why` also has the counts by order and beyond it."""
    claims = [claim for shape in shapes for claim in shape.claims]
    counted = cells(shapes, rows)
    groups = {f"Order `{o}`": counted[counted["world"].str.endswith(o)] for o in ORDERS}
    groups[f"Beyond {MAX_ADDED}%, not counted"] = cells(shapes, rows, counted=False)
    for group, own in groups.items():
        if len(own):
            parts = judge(claims, own).parts
            why += f"\n\n{group}: {'; '.join(f'{part.claim}: {part.count}' for part in parts)}."
    return judge(claims, counted, PLACE, why=why, fixed=FIXED)


def is_best(table: pd.DataFrame) -> tuple[float, bool]:
    values = table.iloc[0]
    excess = 100 * (values["SJF-BCO"] / values.drop("SJF-BCO").min() - 1)
    return excess, excess <= 0


def never_rises(table: pd.DataFrame) -> tuple[float, bool]:
    makespans = table["SJF-BCO"]
    rise = 100 * (makespans / makespans.cummin() - 1).max()
    return rise, rise <= 0


def turns_twice(table: pd.DataFrame) -> tuple[float, bool]:
    """The largest rise, and whether the curve drops, rises and drops, ignoring flat steps."""
    steps = [step for step in table["SJF-BCO"].diff().iloc[1:] if step]
    drops = [is_drop for is_drop, _ in groupby(step < 0 for step in steps)]
    return never_rises(table)[0], drops == [True, False, True]


def all_fall(table: pd.DataFrame) -> tuple[float, bool]:
    fall = 100 * (1 - table.iloc[-1] / table.iloc[0]).min()
    return fall, fall > 0


def first_fit_falls_most(table: pd.DataFrame) -> tuple[float, bool]:
    falls = table.iloc[0] - table.iloc[-1]
    lead = falls["FF"] - falls.drop("FF").max()
    return lead, lead > 0


BEST = "SJF-BCO over the best baseline"
SHAPES = {
    4: (
        Shape("SJF-BCO has the least makespan", BEST, is_best),
        Shape("SJF-BCO has the least mean completion", BEST, is_best, column="mean_completion"),
    ),
    5: (Shape("drops, rises, drops as kappa grows", "rise over a smaller kappa", turns_twice),),
    6: (
        Shape("FF, LS and SJF-BCO fall from 10 to 20 servers", "least fall", all_fall),
        Shape("FF falls most", "FF's fall over the others'", first_fit_falls_most, "slots"),
    ),
    7: (Shape("never rises as lambda grows", "rise over a smaller lambda", never_rises),),
}


def _figure(
    number: int, claim: str, runtime: str, axis: Axis, why: str, *baselines: str
) -> Artefact:
    claims = [part for shape in SHAPES[number] for part in shape.claims]
    return Artefact(
        f"sjf-bco-fig{number}",
        f"sjf-bco, Fig. {number}",
        claim,
        f"{runtime} on two cores; --quick 10 s",
        rows_of,
        partial(judge_shapes, SHAPES[number], why),
        lambda rows: maps(claims, cells(SHAPES[number], rows), PLACE),
        group_columns=("contention", "order", "x", "policy"),
        value_columns=("makespan", "mean_completion", "added"),
        plan=partial(plan, axis, baselines),
    )


ARTEFACTS = (
    _figure(
        4,
        "SJF-BCO has the least makespan and mean completion time of four policies",
        "3 min",
        {SERVERS: {}},
        "The order of the baselines' jobs matters as much as placement. Smallest first ends many "
        "jobs early and leaves the widest ones for last, when other GPUs stand idle. Baselines in "
        "order of arrival avoid both: worse mean completion times, often better makespans. Against "
        "baselines in its own order, SJF-BCO has only its placement, worth more with contention.",
        *list(POLICIES)[1:],
    ),
    _figure(
        5,
        "as kappa grows, SJF-BCO's makespan drops, rises and drops again",
        "2 min",
        {kappa: {"kappa": kappa} for kappa in KAPPAS},
        "Only the job sizes matter as kappa, so a curve has five steps. The paper explains the "
        "last drop by shorter rings. But FA-FFP, as printed, takes the least used GPUs, wherever "
        "they are: jobs start earlier and span more servers, so that contention and overhead add "
        "more (`added` in the table of the figure) even where the makespan drops.",
    ),
    _figure(
        6,
        "makespans fall from 10 to 20 servers, First-Fit's most",
        "5 min",
        {10: {}, SERVERS: {}},
        "The paper explains FF's fall by a smaller limit theta on more servers. Here each policy "
        "searches for its theta in the same way, so that nothing favours FF.",
        *list(POLICIES)[1:3],
    ),
    _figure(
        7,
        "with kappa = 1, SJF-BCO's makespan falls as lambda grows",
        "2 min",
        {factor: {"kappa": 1, "lambda": float(factor)} for factor in LAMBDAS},
        "A larger lambda offers a job more servers, and LBSGF takes the least used GPUs of all of "
        "them. So jobs start earlier, but contention and overhead add more (`added` in the table "
        "of the figure), where the paper expects less. Monotony needs weak contention.",
    ),
)
