"""Registration of the placement problem: methods, checker, bounds and plots."""

from optsched.problem import Method, Problem, standard_parts

_HERE = "optsched.placement"
_PICTURES = "optsched.plotting"

PLACEMENT = Problem(
    name="placement",
    **standard_parts("placement", "Placement"),
    bound=f"{_HERE}.bounds.combinatorial:quick_bound",
    conflict=f"{_HERE}.conflict:find_conflict",
    naming=f"{_HERE}.conflict:naming",
    features=f"{_HERE}.options:features",
    measures=f"{_HERE}.options:measures_of_solution",
    objective="iteration time",
    unit="ms",
    shown_per_unit=1e3,
    defaults=("heavy-edge", "first-fit", "repartition", "exact"),
    pictures={
        "placement": f"{_PICTURES}.placement:plot_placement",
        "breakdown": f"{_PICTURES}.placement:plot_breakdown",
    },
    methods=(
        Method(
            "heavy-edge",
            "heuristic",
            "greedy growth along heaviest edges (a-srpt IV-B)",
            f"{_HERE}.heuristics.heavy_edge:heavy_edge",
        ),
        Method(
            "first-fit",
            "heuristic",
            "stages in order, the server with the most free GPUs first",
            f"{_HERE}.heuristics.first_fit:first_fit",
        ),
        Method(
            "repartition",
            "heuristic",
            "Heavy-Edge, then local search over pairs of servers",
            f"{_HERE}.heuristics.repartition:repartition",
            supports=("micro-batches",),
        ),
        Method(
            "columns",
            "exact",
            "server patterns by column generation, with a certified bound",
            f"{_HERE}.exact.columns:columns",
            supports=("bottleneck",),
            takes_start=True,
        ),
        Method(
            "ilp",
            "exact",
            "strengthened MILP in Pyomo, started from the heuristic",
            f"{_HERE}.models.formulation:ilp",
            f"{_HERE}.models.formulation:model",
            takes_start=True,
        ),
        Method(
            "ilp-vertex",
            "exact",
            "one binary per replica and server: the paper's baseline",
            f"{_HERE}.models.vertex_formulation:close_gap",
            f"{_HERE}.models.vertex_formulation:model",
        ),
        Method(
            "min-cut",
            "model",
            "fewest bytes between servers; the iteration time is only reported",
            f"{_HERE}.models.cut_formulation:min_cut",
            f"{_HERE}.models.cut_formulation:model",
        ),
        Method(
            "exact",
            "exact",
            "bounds if they prove the heuristic's placement, else columns, ilp or ilp-vertex",
            f"{_HERE}.exact.exact:exact",
            takes_start=True,
        ),
    ),
)
