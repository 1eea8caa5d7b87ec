"""Selection over time: policies are methods, records solutions, the audit is the checker."""

from optsched.problem import Method, Problem, standard_parts
from optsched.rolling.policies.by_name import POLICIES

_HERE = "optsched.rolling"
_PICTURES = "optsched.plotting"
ROLLING = Problem(
    name="rolling",
    **standard_parts("rolling", "Rolling"),
    objective="total cost",
    unit="$",
    standard="sts",
    defaults=("clairvoyant-bound", "sts", "edf", "fifo", "price"),
    policy_adapter=f"{_HERE}.runs:custom_policy_method",
    over_time=True,
    bound=f"{_HERE}.runs:quick_bound",
    pictures={
        "run": f"{_PICTURES}.rolling:plot_run",
        "nodes-in-use": f"{_PICTURES}.rolling:plot_nodes_in_use",
        "over-time": f"{_PICTURES}.rolling:plot_rolling_over_time",
    },
    methods=(
        Method(
            "clairvoyant-bound",
            "bound",
            "Lagrangian lower bound on the cost of every policy, for given true epochs",
            f"{_HERE}.runs:bound_runs",
            by_name=True,
        ),
        *(
            Method(
                policy.name,
                "policy",
                policy.summary,
                f"{_HERE}.runs:run_policy",
                policy.build,
                by_name=True,
            )
            for policy in POLICIES.values()
        ),
    ),
)
