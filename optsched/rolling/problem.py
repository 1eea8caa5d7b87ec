"""Selection over time: its policies are methods, its records a solution, its audit the checker."""

from __future__ import annotations

from optsched.problem import Method, Problem

_HERE = "optsched.rolling"
_PICTURES = "optsched.plotting"
_POLICIES = {
    "sts": "the stochastic scheduler of sts at every event",
    "edf": "earliest due date first",
    "fifo": "first come, first served",
    "rg": "randomised greedy",
    "dp": "the dynamic programme over jobs x GPUs with the proxy (28)",
    "price": "GPU time has a price, jobs take what it is worth",
    "price-patterns": "price, with a MILP over node patterns for the seats",
    "avg-edf": "edf by mean lengths",
    "avg-rg": "rg by mean lengths",
    "avg-dp": "dp by mean lengths",
    "patterns": "each interval's optimum by patterns, rolled forward",
    "milp": "each interval's optimum by milp, rolled forward",
    "minlp": "each interval's optimum by minlp, rolled forward",
    "columns": "each interval's optimum by columns, rolled forward",
    "exact": "each interval's optimum, rolled forward",
}
_WITH_MODEL = ("patterns", "milp", "minlp", "columns")

ROLLING = Problem(
    name="rolling",
    instance=f"{_HERE}.instance:RollingInstance",
    solution=f"{_HERE}.solution:RollingSolution",
    options=f"{_HERE}.options:RollingOptions",
    check=f"{_HERE}.check_run:check",
    bound=None,
    explain=f"{_HERE}.explain:explain",
    warm_up=f"{_HERE}.simulator.runs:warm_up",
    objective="total cost",
    unit="$",
    shown_per_unit=1.0,
    standard="sts",
    defaults=("clairvoyant-bound", "sts", "edf", "fifo", "price"),
    own=f"{_HERE}.solving:own_policy",
    over_time=True,
    generate="optsched.generators.rolling:generate_rolling",
    pictures={
        "run": f"{_PICTURES}.rolling:plot_run",
        "nodes-in-use": f"{_PICTURES}.rolling:plot_nodes_in_use",
    },
    methods=(
        Method(
            "clairvoyant-bound",
            "bound",
            "a bound on every policy, by prices of GPU time, for a draw of the true epochs",
            f"{_HERE}.solving:bound_runs",
            by_name=True,
        ),
        *(
            Method(
                name,
                "policy",
                summary,
                f"{_HERE}.solving:run_policy",
                f"{_HERE}.policies.interval_optimum:first_model" if name in _WITH_MODEL else None,
                by_name=True,
            )
            for name, summary in _POLICIES.items()
        ),
    ),
)
