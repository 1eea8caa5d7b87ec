"""Registration of the makespan problem: methods, checker, bounds and plots."""

from optsched.problem import Method, Problem, standard_parts

_HERE = "optsched.makespan"
_PICTURES = "optsched.plotting"

MAKESPAN = Problem(
    name="makespan",
    **standard_parts("makespan", "Makespan"),
    bound=f"{_HERE}.bounds.best:quick_bound",
    features=f"{_HERE}.options:features",
    conflict=f"{_HERE}.conflict:find_conflict",
    naming=f"{_HERE}.conflict:naming",
    objective="makespan",
    unit="slots",
    defaults=(
        "sjf-bco",
        "first-fit",
        "list-scheduling",
        "random",
        "longest-first",
        "local-search",
        "nested",
        "exact",
    ),
    pictures={
        "gantt": f"{_PICTURES}.makespan:plot_gantt",
        "contention": f"{_PICTURES}.makespan:plot_contention",
    },
    methods=(
        Method(
            "sjf-bco",
            "heuristic",
            "smallest job first, limit theta on the load of each GPU (sjf-bco, Algorithms 1-3)",
            f"{_HERE}.heuristics.sjf_bco:schedule_by_name",
            by_name=True,
        ),
        Method(
            "first-fit",
            "heuristic",
            "the first idle GPUs, server by server (sjf-bco, section 7)",
            f"{_HERE}.heuristics.sjf_bco:schedule_by_name",
            by_name=True,
        ),
        Method(
            "list-scheduling",
            "heuristic",
            "the idle GPUs with the smallest load, on any server (sjf-bco, section 7)",
            f"{_HERE}.heuristics.sjf_bco:schedule_by_name",
            by_name=True,
        ),
        Method(
            "random",
            "heuristic",
            "idle GPUs drawn at random (sjf-bco, section 7)",
            f"{_HERE}.heuristics.sjf_bco:schedule_by_name",
            by_name=True,
        ),
        Method(
            "longest-first",
            "heuristic",
            "longest job first with backfilling, on the best-fitting server",
            f"{_HERE}.heuristics.list_scheduling:longest_first",
        ),
        Method(
            "local-search",
            "heuristic",
            "local search on the job order, spanning and link sharing; anytime",
            f"{_HERE}.heuristics.local_search:local_search",
        ),
        Method(
            "nested",
            "heuristic",
            "simulated annealing on nested blocks of GPUs inside servers; anytime",
            f"{_HERE}.heuristics.nested:nested",
        ),
        Method(
            "ilp",
            "exact",
            "heuristics, bounds, relaxation, then the full MILP, until the gap closes",
            f"{_HERE}.models.ilp:ilp",
            f"{_HERE}.models.ilp:model",
            supports=(),
            takes_start=True,
        ),
        Method(
            "ilp-relaxed",
            "bound",
            "lower bound: MILP without contention, identical servers aggregated",
            f"{_HERE}.models.pools:ilp_relaxed",
            f"{_HERE}.models.pools:model",
            supports=(),
        ),
        Method(
            "ilp-schedules",
            "model",
            "the paper's (10)-(13): the best of the heuristics' schedules",
            f"{_HERE}.models.schedules:ilp_schedules",
            f"{_HERE}.models.schedules:model",
        ),
        Method(
            "theta",
            "bound",
            "lower bound: minimum theta of the paper's feasibility ILP (14)-(16)",
            f"{_HERE}.models.theta:theta",
            f"{_HERE}.models.theta:model",
        ),
        Method(
            "exact",
            "exact",
            "heuristics and bounds, then state-space search (tiny instances) or ilp",
            f"{_HERE}.exact.exact:exact",
            takes_start=True,
        ),
    ),
)
