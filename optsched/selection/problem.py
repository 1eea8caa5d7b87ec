"""The selection problem's methods, and where its rooms are."""

from __future__ import annotations

from optsched.problem import Method, Problem, rooms

_HERE = "optsched.selection"
_PICTURES = "optsched.plotting"
_QUEUE = f"{_HERE}.heuristics.baselines:queue"
_RANDOMISED = f"{_HERE}.heuristics.baselines:randomised_greedy"

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
        Method(
            "edf",
            "heuristic",
            "earliest due date first, cheapest GPUs in time at w^max",
            _QUEUE,
            by_name=True,
            supports=(),
        ),
        Method(
            "fifo",
            "heuristic",
            "in the file's order, cheapest GPUs in time at w^max",
            _QUEUE,
            by_name=True,
            supports=(),
        ),
        Method(
            "rg",
            "heuristic",
            "randomised greedy by pressure, the best of several starts",
            _RANDOMISED,
            by_name=True,
            supports=(),
        ),
        Method(
            "dp",
            "heuristic",
            "dynamic programme over jobs x GPUs with proxy (28)",
            f"{_HERE}.heuristics.dp:dp",
            by_name=True,
            supports=(),
        ),
        Method(
            "avg-edf",
            "heuristic",
            "edf at E[W]",
            _QUEUE,
            by_name=True,
            supports=(),
        ),
        Method(
            "avg-rg",
            "heuristic",
            "rg at E[W]",
            _RANDOMISED,
            by_name=True,
            supports=(),
        ),
        Method(
            "avg-dp",
            "heuristic",
            "dp at E[W]",
            f"{_HERE}.heuristics.dp:dp",
            by_name=True,
            supports=(),
        ),
        Method(
            "minlp",
            "exact",
            "(P1) with its products, solved by SCIP",
            f"{_HERE}.models.minlp:minlp",
            f"{_HERE}.models.minlp:model",
            ("pyscipopt",),
        ),
        Method(
            "milp",
            "exact",
            "(P1) with its products linearised",
            f"{_HERE}.models.milp:milp",
            f"{_HERE}.models.milp:model",
        ),
        Method(
            "patterns",
            "exact",
            "MILP over node patterns, without symmetry",
            f"{_HERE}.models.patterns:patterns",
            f"{_HERE}.models.patterns:model",
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
            f"{_HERE}.exact.who_waits:fewest_waiting",
        ),
        Method(
            "same-jobs",
            "model",
            "least cost that places the jobs that sts places, no others",
            f"{_HERE}.exact.who_waits:same_jobs",
            supports=(),
        ),
    ),
)
