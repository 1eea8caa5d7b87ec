"""Online scheduling: policies are methods, a run's records the solution, the audit the checker."""

from optsched.online.policies.by_name import POLICIES
from optsched.problem import Method, Problem, standard_parts

_HERE = "optsched.online"
_PICTURES = "optsched.plotting"
ONLINE = Problem(
    name="online",
    **standard_parts("online", "Online"),
    objective="total flow time",
    unit="h",
    shown_per_unit=1 / 3600,
    standard="a-srpt",
    defaults=("flow-bound", "a-srpt", "a-srpt-perfect", "spjf", "wcs-subtime"),
    features=f"{_HERE}.options:features",
    policy_adapter=f"{_HERE}.runs:custom_policy_method",
    bound=f"{_HERE}.runs:quick_bound",
    over_time=True,
    pictures={
        "queue": f"{_PICTURES}.online:plot_queue",
        "utilisation": f"{_PICTURES}.online:plot_utilisation",
        "flow": f"{_PICTURES}.online:plot_flow",
        "over-time": f"{_PICTURES}.online:plot_online_over_time",
    },
    methods=(
        Method(
            "flow-bound",
            "bound",
            "best of four lower bounds on the total flow time of non-preemptive schedules",
            f"{_HERE}.runs:bound_runs",
            by_name=True,
        ),
        Method(
            "gang-bound",
            "bound",
            "flow-bound on a finer time grid, strengthened by jobs that cannot run simultaneously",
            f"{_HERE}.runs:bound_runs",
            by_name=True,
        ),
        Method(
            "offline-ilp",
            "exact",
            "problem (8) with the whole future known, starts at multiples of the slot, by a MILP",
            f"{_HERE}.models.offline_ilp:offline_ilp",
            f"{_HERE}.models.offline_ilp:model",
            supports=(),
            takes_start=True,
        ),
        *(
            Method(
                policy.name,
                "policy",
                policy.summary,
                f"{_HERE}.runs:run_policy",
                by_name=True,
            )
            for policy in POLICIES.values()
        ),
    ),
)
