"""The selection problem's methods, and where its rooms are."""

from optsched.problem import Method, Problem, standard_parts

_HERE = "optsched.selection"
_PICTURES = "optsched.plotting"
_ORDERED = f"{_HERE}.heuristics.baselines:ordered_greedy"
_RANDOMISED = f"{_HERE}.heuristics.baselines:randomised_greedy"
_DP = f"{_HERE}.heuristics.dp:dp"

_BASELINES = (
    ("edf", "earliest due date first, cheapest GPUs in time at w^max", _ORDERED),
    ("fifo", "in the file's order, cheapest GPUs in time at w^max", _ORDERED),
    ("rg", "randomised greedy by pressure, the best of several starts", _RANDOMISED),
    ("dp", "dynamic programme over jobs x GPUs with proxy (28)", _DP),
    ("avg-edf", "edf at E[W]", _ORDERED),
    ("avg-rg", "rg at E[W]", _RANDOMISED),
    ("avg-dp", "dp at E[W]", _DP),
)
_EXACT = (
    ("minlp", "(P1) with its products, solved by SCIP", "models.minlp", "models.minlp"),
    ("milp", "(P1) with its products linearised", "models.milp", "models.milp"),
    ("patterns", "MILP over node patterns, without symmetry", "models.patterns", "models.patterns"),
    (
        "columns",
        "arc-flow and column generation, with a price certificate",
        "exact.columns",
        "models.arcs_in_pyomo",
    ),
)
_WAITING = f"{_HERE}.exact.waiting_jobs"

SELECTION = Problem(
    name="selection",
    **standard_parts("selection", "Selection"),
    bound=f"{_HERE}.bounds.dual_search:quick_bound",
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
                f"{_HERE}.{module}:{name}",
                f"{_HERE}.{model_module}:model",
                ("pyscipopt",) if name == "minlp" else (),
                takes_start=True,
            )
            for name, title, module, model_module in _EXACT
        ),
        Method(
            "exact",
            "exact",
            "patterns or columns, by the number of patterns",
            f"{_HERE}.models.patterns:exact",
            takes_start=True,
        ),
        Method(
            "fewest-waiting",
            "model",
            "fewest postponed jobs, then minimum cost",
            f"{_WAITING}:fewest_waiting",
        ),
        Method(
            "same-jobs",
            "model",
            "minimum cost with exactly the jobs that sts places",
            f"{_WAITING}:same_jobs",
            supports=(),
        ),
    ),
)
