"""The makespan problem's methods, and where its rooms are."""

from __future__ import annotations

from optsched.problem import Method, Problem, Varied, rooms

_HERE = "optsched.makespan"
_PICTURES = "optsched.plotting"

MAKESPAN = Problem(
    name="makespan",
    **rooms("makespan", "Makespan"),
    bound=f"{_HERE}.bounds.best:quick_bound",
    features=f"{_HERE}.options:features",
    conflict=f"{_HERE}.conflict:find_conflict",
    naming=f"{_HERE}.conflict:naming",
    varied=(
        Varied("NIC bandwidth", ("network", "inter_bandwidth"), "Gbit/s", 8e-9),
        Varied("intra bandwidth", ("network", "intra_bandwidth"), "Gbit/s", 8e-9),
        Varied("contention share", ("network", "contention_share"), share=True),
    ),
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
            "smallest first under a bound theta on every GPU (sjf-bco, Algorithms 1-3)",
            f"{_HERE}.heuristics.sjf_bco:sjf_bco",
        ),
        Method(
            "first-fit",
            "heuristic",
            "the first idle GPUs, server by server (sjf-bco, section 7)",
            f"{_HERE}.heuristics.sjf_bco:first_fit",
        ),
        Method(
            "list-scheduling",
            "heuristic",
            "the least used idle GPUs, wherever they are (sjf-bco, section 7)",
            f"{_HERE}.heuristics.sjf_bco:list_scheduling",
        ),
        Method(
            "random",
            "heuristic",
            "idle GPUs drawn at random (sjf-bco, section 7)",
            f"{_HERE}.heuristics.sjf_bco:random_placement",
        ),
        Method(
            "longest-first",
            "heuristic",
            "longest job first, backfilled, on the tightest server",
            f"{_HERE}.heuristics.list_scheduling:longest_first",
        ),
        Method(
            "local-search",
            "heuristic",
            "reinsertion, swap and who shares a link, on the order of longest-first; anytime",
            f"{_HERE}.heuristics.local_search:local_search",
        ),
        Method(
            "nested",
            "heuristic",
            "annealing of aligned and paired blocks inside servers; anytime",
            f"{_HERE}.heuristics.nested:nested",
        ),
        Method(
            "ilp",
            "exact",
            "heuristics, bounds, relaxation and full MILP, until they meet",
            f"{_HERE}.models.ilp:ilp",
            f"{_HERE}.models.ilp:model",
            supports=(),
        ),
        Method(
            "ilp-relaxed",
            "bound",
            "the MILP without contention, by pools of equal servers: a lower bound, no schedule",
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
            "the paper's feasibility ILP (14)-(16): least theta as a lower bound",
            f"{_HERE}.models.theta:theta",
            f"{_HERE}.models.theta:model",
        ),
        Method(
            "exact",
            "exact",
            "heuristics and bounds first, then a search over states or ilp by size",
            f"{_HERE}.exact.exact:exact",
        ),
    ),
)
