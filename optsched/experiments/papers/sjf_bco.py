"""Figures 4 to 7 of sjf-bco: policies, kappa, servers and lambda, over its contention and order.

Section 7 of the paper plots one draw and leaves open how much contention there is and in which
order the baselines take the jobs. Here a setting is a range of exchange times, a degradation factor
and an overhead (models/makespan), an order of the jobs, and the contention share xi_1; each has 20
draws. Each claim is tested twice: on the curve of the medians, and on the single draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
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

SEEDS = 20
HORIZON = 4800
"""Slots; with the paper's 1,200 or 1,500, some policies have no schedule."""
SERVERS, SERVER_COUNTS = 20, (10, 20)
KAPPAS, LAMBDAS = (1, 2, 4, 8, 16, 32), (1, 2, 4, 8)
"""Job sizes are the only values of kappa that give different schedules."""
MILD, STRONG = CONTENTION["mild"], CONTENTION["strong"]
EXCHANGES = (MILD.exchange, (0.02, 0.1), (0.04, 0.2))
CONTENTIONS = {
    f"exchange {low:.0%} to {high:.0%}, a {world.degradation:g}, "
    f"overhead {1000 * world.overhead:g} ms": {
        "exchange": [low, high],
        "degradation": world.degradation,
        "overhead": world.overhead,
    }
    for world, exchanges in ((MILD, EXCHANGES), (STRONG, (*EXCHANGES, STRONG.exchange)))
    for low, high in exchanges
}
"""From mild contention to strong contention: arguments of the generator."""
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
POLICIES = {"sjf-bco": "SJF-BCO", "first-fit": "FF", "list-scheduling": "LS", "random": "RAND"}
FIG6_BASELINES = ("first-fit", "list-scheduling")
OWN, PACKED = "", "packed"
"""Instead of a baseline's order: SJF-BCO's runs, and its run with every job packed, which has the
most contention."""
PACKED_OPTIONS = {"kappa": max(KAPPAS)}
MAX_ADDED = 0.15
"""Share of contention and overhead in the jobs' run times that the paper states as its limit."""
MIN_DRAWS = 0.75
"""Share of the draws in which a claim must hold."""
PLACE = "xi_1"
FIXED = (
    f"Section 7 states 160 jobs and their sizes, {SERVERS} servers and their sizes, the "
    "iterations, the times on one server, and lambda = 1 (but for Fig. 7). Progress is in whole "
    "iterations per slot, as in the paper's (9). Bandwidths and the parts of an iteration are "
    "fixed, since the range of exchange times sets what spanning costs. The overhead grows with a, "
    f"as the paper makes them comparable. The horizon is {HORIZON} slots, so that every policy has "
    "a schedule. The paper keeps the time that contention and overhead add within 15% of the "
    "execution time. So a setting counts only if this share, of the jobs' run times over those on "
    "one server each, is at most 15% (median of the draws) in SJF-BCO's schedules with every job "
    "packed (kappa = 32), which have the most contention of its schedules."
)


def generate_cluster(
    servers: int,
    contention_share: float,
    exchange: tuple[float, float],
    degradation: float,
    overhead: float,
    *,
    seed: int = 0,
) -> MakespanInstance:
    """The draw's jobs on the first so many of its servers: fewer servers keep the same jobs."""
    instance = generate_makespan(
        servers=SERVERS,
        contention_share=contention_share,
        exchange=exchange,
        degradation=degradation,
        overhead=overhead,
        horizon=HORIZON,
        seed=seed,
    ).to_dict()
    return MakespanInstance.from_dict(
        {**instance, "servers": instance["servers"][:servers]}, "generate makespan"
    )


@dataclass(frozen=True)
class Point:
    """A point of a figure's axis: its place, SJF-BCO's options and the number of servers there."""

    x: int
    options: dict[str, Any]
    servers: int = SERVERS


def plan(points: Sequence[Point], baselines: Sequence[str], scale: Scale) -> list[Family]:
    """A family per draw, contention, xi_1, order and point.

    Its name begins with contention and xi_1: "exchange ...|0.5|". A setting of the claims begins
    with the same contention, and is measured from all families of that contention and xi_1.
    """
    contentions = list(CONTENTIONS)[:2] if scale.quick else CONTENTIONS
    families = []
    for contention in contentions:
        for share in SHARES[:: len(SHARES) - 1] if scale.quick else SHARES:
            network = {"contention_share": share, **CONTENTIONS[contention]}
            runs = [(PACKED, ["sjf-bco"], Point(0, PACKED_OPTIONS))]
            for point in points:
                runs += [(OWN, ["sjf-bco"], point)]
                if baselines:
                    runs += [(order, baselines, point) for order in ORDERS]
            families += [
                seeded(
                    f"{contention}|{share:g}|{order}|{point.x}",
                    "makespan",
                    {"servers": point.servers, **network},
                    seed,
                    methods,
                    generator=f"{__name__}:{generate_cluster.__name__}",
                    options={"order": order} if order in ORDERS else point.options,
                    bound=False,
                )
                for seed in scale.seeds(SEEDS)
                for order, methods, point in runs
            ]
    return families


def rows_of(runs: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """A row a run; `added`: the share of contention and overhead in its jobs' run times, %."""
    parts = runs["family"].str.split("|", expand=True)
    on_one_server = {
        seed: durations_of(generate_makespan(seed=seed)).inside.mean() for seed in set(runs["seed"])
    }
    details = runs["details"].apply
    run_time = details(lambda values: values.get("mean_run_time"))
    rows = runs.assign(
        contention=parts[0],
        **{PLACE: parts[1]},
        order=parts[2],
        x=parts[3].astype(int),
        policy=runs["method"].map(POLICIES),
        makespan=runs["objective"],
        mean_completion=details(lambda values: values.get("mean_completion_time")),
        added=100 * (1 - runs["seed"].map(on_one_server) / run_time),
    )
    columns = ["contention", PLACE, "order", "x", "policy", "seed", "makespan"]
    return rows[[*columns, "mean_completion", "added"]]


@dataclass(frozen=True)
class Shape:
    """What a figure shows: a test and a quantity of a table of x by policies."""

    text: str
    holds: Callable[[pd.DataFrame], bool]
    quantity: str
    value: Callable[[pd.DataFrame], float]
    unit: str = "%"
    column: str = "makespan"

    @property
    def claims(self) -> tuple[Claim, Claim]:
        """The claims of the medians and of the single draws."""
        paper = "a plot of one draw"
        return (
            Claim(f"{self.text}: medians", paper, self.quantity, self.unit),
            Claim(f"{self.text}: {MIN_DRAWS:.0%} of draws", paper, "draws that show it"),
        )


def cells(shapes: Sequence[Shape], rows: pd.DataFrame, *, counted: bool = True) -> pd.DataFrame:
    """Both claims of every shape in the settings that the paper's 15% allows, or in the others."""
    tests = []
    for (contention, share), runs in rows.groupby(["contention", PLACE], sort=False):
        added = select(runs, order=PACKED)["added"].median()
        if (added <= 100 * MAX_ADDED) != counted:
            continue
        for order in [order for order in ORDERS if order in set(runs["order"])] or [OWN]:
            world = f"{contention}, {order}" if order else contention
            own = runs[runs["order"].isin([OWN, order])]
            for shape in shapes:
                table = own.pivot(index=["seed", "x"], columns="policy", values=shape.column)
                table = table.fillna(float("inf"))
                medians = table.groupby("x").median()
                held = [
                    bool(shape.holds(draw.droplevel("seed"))) for _, draw in table.groupby("seed")
                ]
                in_draws = sum(held) / len(held)
                of_medians, of_draws = (claim.text for claim in shape.claims)
                tests += [
                    (of_medians, world, share, [shape.value(medians)], shape.holds(medians)),
                    (of_draws, world, share, [100 * in_draws], in_draws >= MIN_DRAWS),
                ]
    return cells_of(tests)


def judge_shapes(shapes: Sequence[Shape], why: str, rows: pd.DataFrame, scale: Scale) -> Verdict:
    """Count the settings that the paper allows; name the others' counts beside them."""
    claims = [claim for shape in shapes for claim in shape.claims]
    others = judge(claims, cells(shapes, rows, counted=False), PLACE)
    counts = "; ".join(f"{part.claim}, in {part.count}" for part in others.parts)
    beyond = (
        f"\n\nBeyond the paper's 15%, not counted: {counts}." if others.parts[0].settings else ""
    )
    return judge(claims, cells(shapes, rows), PLACE, why=why + beyond, fixed=FIXED)


def draw(shapes: Sequence[Shape], rows: pd.DataFrame) -> Figure:
    return maps([claim for s in shapes for claim in s.claims], cells(shapes, rows), PLACE)


def above_best_baseline(table: pd.DataFrame) -> float:
    """How far SJF-BCO's value is above the best of the other policies', %."""
    first = table.iloc[0]
    return float(100 * (first["SJF-BCO"] / first.drop("SJF-BCO").min() - 1))


def drops_rises_drops(table: pd.DataFrame) -> bool:
    """Whether the makespan drops, then rises, then drops again, as x grows."""
    steps = [step for step in table["SJF-BCO"].diff().iloc[1:] if step]
    return [drops for drops, _ in groupby(step < 0 for step in steps)] == [True, False, True]


def never_rises(table: pd.DataFrame) -> bool:
    return bool(table["SJF-BCO"].is_monotonic_decreasing)


def largest_rise(table: pd.DataFrame) -> float:
    """Largest rise of the makespan over that of a smaller x, %."""
    makespans = table["SJF-BCO"]
    return float(100 * (makespans / makespans.cummin() - 1).max())


def all_fall(table: pd.DataFrame) -> bool:
    """Whether each policy's makespan falls at each step of x."""
    return bool((table.diff().iloc[1:] < 0).all(axis=None))


def least_fall(table: pd.DataFrame) -> float:
    """The least fall of the policies' makespans from the first x to the last, %."""
    return float(100 * (1 - table.iloc[-1] / table.iloc[0]).min())


def first_fit_lead(table: pd.DataFrame) -> float:
    """FF's fall less the largest of the others', slots."""
    falls = table.iloc[0] - table.iloc[-1]
    return float(falls["FF"] - falls.drop("FF").max())


def _figure(
    number: int,
    summary: str,
    runtime: str,
    points: Sequence[Point],
    shapes: Sequence[Shape],
    why: str,
    baselines: Sequence[str] = (),
) -> Artefact:
    return Artefact(
        name=f"sjf-bco-fig{number}",
        reference=f"sjf-bco, Fig. {number}",
        claim=summary,
        runtime=runtime,
        plan=partial(plan, points, baselines),
        rows=rows_of,
        judge=partial(judge_shapes, shapes, why),
        draw=partial(draw, shapes),
        group_columns=("contention", "order", "x", "policy"),
        value_columns=("makespan", "mean_completion", "added"),
    )


SHAPES = {
    4: [
        Shape(
            "SJF-BCO has the least makespan",
            lambda table: above_best_baseline(table) <= 0,
            "SJF-BCO's above the best baseline's",
            above_best_baseline,
        ),
        Shape(
            "SJF-BCO has the least mean completion time",
            lambda table: above_best_baseline(table) <= 0,
            "SJF-BCO's above the best baseline's",
            above_best_baseline,
            column="mean_completion",
        ),
    ],
    5: [
        Shape(
            "the makespan drops, rises and drops again",
            drops_rises_drops,
            "largest rise over a smaller kappa's",
            largest_rise,
        )
    ],
    6: [
        Shape(
            "FF, LS and SJF-BCO fall from 10 to 20 servers",
            all_fall,
            "least fall of the three",
            least_fall,
        ),
        Shape(
            "FF falls most",
            lambda table: first_fit_lead(table) >= 0,
            "FF's fall less the others' largest",
            first_fit_lead,
            unit="slots",
        ),
    ],
    7: [
        Shape(
            "the makespan never rises with lambda",
            never_rises,
            "largest rise over a smaller lambda's",
            largest_rise,
        )
    ],
}
"""What each figure shows."""
ARTEFACTS = (
    _figure(
        4,
        "SJF-BCO has the least makespan and mean completion time of four policies",
        "TODO on two cores; --quick TODO s",
        [Point(SERVERS, {})],
        SHAPES[4],
        "TODO",
        list(POLICIES)[1:],
    ),
    _figure(
        5,
        "as kappa grows, SJF-BCO's makespan drops, rises and drops again",
        "TODO on two cores; --quick TODO s",
        [Point(kappa, {"kappa": kappa}) for kappa in KAPPAS],
        SHAPES[5],
        "TODO",
    ),
    _figure(
        6,
        "makespans fall from 10 to 20 servers, First-Fit's most",
        "TODO on two cores; --quick TODO s",
        [Point(servers, {}, servers) for servers in SERVER_COUNTS],
        SHAPES[6],
        "TODO",
        FIG6_BASELINES,
    ),
    _figure(
        7,
        "with kappa = 1, SJF-BCO's makespan falls as lambda grows",
        "TODO on two cores; --quick TODO s",
        [Point(factor, {"kappa": 1, "lambda": float(factor)}) for factor in LAMBDAS],
        SHAPES[7],
        "TODO",
    ),
)
