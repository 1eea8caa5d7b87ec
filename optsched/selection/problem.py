"""The selection problem's methods, and where its rooms are."""

from __future__ import annotations

from optsched.problem import Method, Problem, rooms

_HERE = "optsched.selection"
_PICTURES = "optsched.plotting"
_QUEUE = f"{_HERE}.heuristics.baselines:queue"
_RANDOMISED = f"{_HERE}.heuristics.baselines:randomised_greedy"
_DP = f"{_HERE}.heuristics.dp:dp"

_BASELINES = (
    ("edf", "earliest due date first, cheapest GPUs in time at w^max", _QUEUE),
    ("fifo", "in the file's order, cheapest GPUs in time at w^max", _QUEUE),
    ("rg", "randomised greedy by pressure, the best of several starts", _RANDOMISED),
    ("dp", "dynamic programme over jobs x GPUs with proxy (28)", _DP),
    ("avg-edf", "edf at E[W]", _QUEUE),
    ("avg-rg", "rg at E[W]", _RANDOMISED),
    ("avg-dp", "dp at E[W]", _DP),
)
_MODELS = (
    ("minlp", "(P1) with its products, solved by SCIP", "minlp:minlp", "minlp:model"),
    ("milp", "(P1) with its products linearised", "milp:milp", "milp:model"),
    (
        "patterns",
        "MILP over node patterns, without symmetry",
        "patterns:patterns",
        "patterns:model",
    ),
)

SELECTION = Problem(
    name="selection",
    **rooms("selection", "Selection"),
    bound=f"{_HERE}.bounds.price_search:quick_bound",
    features=f"{_HERE}.options:features",
    measures=f"{_HERE}.explain:measures",
    parts=(
        ("jobs_waiting", "jobs waiting"),
        ("tardiness", "tardiness $"),
        ("interval_energy", "interval energy $"),
        ("full_run_energy", "full-run energy $"),
    ),
    conflict=f"{_HERE}.conflict:find_conflict",
    naming=f"{_HERE}.conflict:naming",
    objective="expected cost",
    unit="$",
    defaults=("sts", "edf", "fifo", "rg", "dp", "avg-edf", "avg-rg", "avg-dp", "exact"),
    pictures={
        "selection": f"{_PICTURES}.selection:plot_selection",
        "cost-split": f"{_PICTURES}.selection:plot_cost_split",
    },
    methods=(
        Method(
            "sts",
            "heuristic",
            "first speeds of single-job profiles, best fit (sts Algorithms 2-3)",
            f"{_HERE}.heuristics.sts:sts",
            supports=(),
        ),
        *(
            Method(name, "heuristic", title, entry, by_name=True, supports=())
            for name, title, entry in _BASELINES
        ),
        *(
            Method(
                name,
                "exact",
                title,
                f"{_HERE}.models.{entry}",
                f"{_HERE}.models.{model}",
                ("pyscipopt",) if name == "minlp" else (),
            )
            for name, title, entry, model in _MODELS
        ),
        Method(
            "columns",
            "exact",
            "arc-flow and column generation, with a price certificate",
            f"{_HERE}.exact.columns:columns",
            f"{_HERE}.models.arcs_in_pyomo:model",
        ),
        Method(
            "exact",
            "exact",
            "patterns or columns, by the number of patterns",
            f"{_HERE}.exact.exact:exact",
        ),
        Method(
            "fewest-waiting",
            "model",
            "as few jobs wait as can, then least cost",
            f"{_HERE}.exact.waiting_jobs:fewest_waiting",
        ),
        Method(
            "same-jobs",
            "model",
            "least cost that places the jobs that sts places, no others",
            f"{_HERE}.exact.waiting_jobs:same_jobs",
            supports=(),
        ),
    ),
)
