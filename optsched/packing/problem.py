"""The packing problem's methods, and where its rooms are."""

from optsched.problem import Method, Problem, standard_parts

_HERE = "optsched.packing"
_RUN = f"{_HERE}.heuristics.policies:run_policy"
_MILP = f"{_HERE}.models.milp"
_POLICIES = (
    ("random", "any node that can take the task, any GPU that can take the share"),
    ("dot-product", "least dot product of demand and free CPU and GPUs (Tetris)"),
    ("gpu-clustering", "nodes whose tasks have the same number of GPUs, fullest first"),
    ("gpu-packing", "GPUs in use, then nodes in use, then free nodes"),
    ("best-fit", "least free CPU and GPUs afterwards"),
    ("fgd", "least increase of expected fragmentation (FGD, section 4)"),
)

PACKING = Problem(
    name="packing",
    **standard_parts("packing", "Packing"),
    bound=f"{_HERE}.bounds.columns:quick_bound",
    objective="idle GPUs",
    unit="GPUs",
    defaults=(*(name for name, _ in _POLICIES), "offline", "exact"),
    measures=f"{_HERE}.options:measures_of_solution",
    parts=(("objective", "idle GPUs"), ("bound", "best bound"), ("allocated", "share allocated")),
    pictures={"allocation": "optsched.plotting.packing:plot_allocation"},
    methods=(
        *(Method(name, "heuristic", title, _RUN, by_name=True) for name, title in _POLICIES),
        Method(
            "offline",
            "heuristic",
            "ruin and recreate; knows all tasks and may refuse any",
            f"{_HERE}.heuristics.offline:offline",
        ),
        Method(
            "columns",
            "bound",
            "linear relaxation by column generation, with a price certificate",
            f"{_HERE}.bounds.columns:columns",
        ),
        Method(
            "milp",
            "exact",
            "integer programme over types of tasks and GPUs",
            f"{_MILP}:milp",
            f"{_MILP}:model",
            by_name=True,
            takes_start=True,
        ),
        Method(
            "exact",
            "exact",
            "offline and columns; where they differ milp, if it is small",
            f"{_MILP}:milp",
            by_name=True,
            takes_start=True,
        ),
    ),
)
