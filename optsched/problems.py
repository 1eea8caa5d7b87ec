"""The problems and their methods, by name. Nothing heavy is imported until it is used."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from optsched.errors import InputError

Kind = Literal["heuristic", "exact", "model", "bound"]


@dataclass(frozen=True)
class Method:
    """One way to solve a problem.

    Attributes
    ----------
    name : str
        The name of the command line.
    kind : str
        "heuristic", "exact", "model" (another objective, or a rival formulation), "bound".
    summary : str
        One line.
    run : str
        ``module:function`` of ``(instance, options, settings) -> Outcome``.
    build : str or None
        ``module:function`` of ``(instance, options) -> pyomo.ConcreteModel``.
    """

    name: str
    kind: Kind
    summary: str
    run: str
    build: str | None = None


@dataclass(frozen=True)
class Problem:
    """One problem: where its data, checker and methods live, and how its objective is shown.

    Attributes
    ----------
    instance, solution, options : str
        ``module:class``, each with a ``from_dict``.
    check, bound, explain, warm_up : str
        ``module:function``; the last loads compiled code before anything is timed.
    certify : str or None
        ``module:function`` of ``(instance, certificate) -> list of violations``: the checker's
        verification of a bound's certificate, for problems whose bounds carry one.
    objective, unit, shown_per_unit : str, str, float
        The objective's name, and the unit of tables, of which one objective's unit has so many.
    defaults : tuple of str
        Methods of `compare` unless others are named.
    """

    name: str
    instance: str
    solution: str
    options: str
    check: str
    bound: str
    explain: str
    warm_up: str
    objective: str
    unit: str
    shown_per_unit: float
    defaults: tuple[str, ...]
    methods: tuple[Method, ...]
    certify: str | None = None

    def method(self, name: str) -> Method:
        """The method of that name; raises InputError."""
        for method in self.methods:
            if method.name == name:
                return method
        known = ", ".join(m.name for m in self.methods)
        raise InputError(self.name, "method", repr(name), f"one of {known}")


_PLACEMENT = "optsched.placement"
_MAKESPAN = "optsched.makespan"
_SELECTION = "optsched.selection"
_SPEED = "optsched.speed_profile"

PROBLEMS: dict[str, Problem] = {
    "placement": Problem(
        name="placement",
        instance=f"{_PLACEMENT}.instance:PlacementInstance",
        solution=f"{_PLACEMENT}.solution:PlacementSolution",
        options=f"{_PLACEMENT}.options:PlacementOptions",
        check=f"{_PLACEMENT}.check:check",
        bound=f"{_PLACEMENT}.bounds:quick_bound",
        explain=f"{_PLACEMENT}.explain:explain",
        warm_up=f"{_PLACEMENT}.warm_up:warm_up",
        objective="iteration time",
        unit="ms",
        shown_per_unit=1e3,
        defaults=("heavy-edge", "repartition", "exact"),
        methods=(
            Method(
                "heavy-edge",
                "heuristic",
                "greedy growth along heaviest edges (a-srpt IV-B)",
                f"{_PLACEMENT}.heavy_edge:heavy_edge",
            ),
            Method(
                "repartition",
                "heuristic",
                "Heavy-Edge, then re-splits of pairs of servers",
                f"{_PLACEMENT}.repartition:repartition",
            ),
            Method(
                "dp",
                "exact",
                "dynamic programme over servers",
                f"{_PLACEMENT}.dp:dp",
            ),
            Method(
                "threshold",
                "exact",
                "bisection over candidate times by feasibility MILPs",
                f"{_PLACEMENT}.threshold:threshold",
            ),
            Method(
                "ilp",
                "exact",
                "strengthened MILP in Pyomo, started from the heuristic",
                f"{_PLACEMENT}.ilp:ilp",
                f"{_PLACEMENT}.ilp:model",
            ),
            Method(
                "ilp-vertex",
                "exact",
                "one binary per replica and server, as the paper's rival",
                f"{_PLACEMENT}.vertex_formulation:ilp_vertex",
                f"{_PLACEMENT}.vertex_formulation:model",
            ),
            Method(
                "min-cut",
                "model",
                "fewest bytes across servers; its time is reported, not sought",
                f"{_PLACEMENT}.cut_formulation:min_cut",
                f"{_PLACEMENT}.cut_formulation:model",
            ),
            Method(
                "exact",
                "exact",
                "bounds first, then dp or threshold by the number of states",
                f"{_PLACEMENT}.exact:exact",
            ),
        ),
    ),
    "makespan": Problem(
        name="makespan",
        instance=f"{_MAKESPAN}.instance:MakespanInstance",
        solution=f"{_MAKESPAN}.solution:MakespanSolution",
        options=f"{_MAKESPAN}.options:MakespanOptions",
        check=f"{_MAKESPAN}.check:check",
        bound=f"{_MAKESPAN}.bounds:quick_bound",
        explain=f"{_MAKESPAN}.explain:explain",
        warm_up=f"{_MAKESPAN}.warm_up:warm_up",
        certify=f"{_MAKESPAN}.check_certificate:check_certificate",
        objective="makespan",
        unit="slots",
        shown_per_unit=1.0,
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
        methods=(
            Method(
                "sjf-bco",
                "heuristic",
                "smallest first under a bound theta on every GPU (sjf-bco, Algorithms 1-3)",
                f"{_MAKESPAN}.sjf_bco:sjf_bco",
            ),
            Method(
                "first-fit",
                "heuristic",
                "the first idle GPUs, server by server (sjf-bco, section 7)",
                f"{_MAKESPAN}.baselines:first_fit",
            ),
            Method(
                "list-scheduling",
                "heuristic",
                "the least used idle GPUs, wherever they are (sjf-bco, section 7)",
                f"{_MAKESPAN}.baselines:list_scheduling",
            ),
            Method(
                "random",
                "heuristic",
                "idle GPUs drawn at random (sjf-bco, section 7)",
                f"{_MAKESPAN}.baselines:random_placement",
            ),
            Method(
                "longest-first",
                "heuristic",
                "longest job first, backfilled, on the tightest server",
                f"{_MAKESPAN}.list_scheduling:longest_first",
            ),
            Method(
                "local-search",
                "heuristic",
                "reinsertion and swap on the order of longest-first; anytime",
                f"{_MAKESPAN}.local_search:local_search",
            ),
            Method(
                "nested",
                "heuristic",
                "annealing of aligned blocks inside servers; anytime",
                f"{_MAKESPAN}.nested:nested",
            ),
            Method(
                "ilp",
                "exact",
                "heuristics, bounds, relaxation and full MILP, until they meet",
                f"{_MAKESPAN}.ilp:ilp",
                f"{_MAKESPAN}.ilp:model",
            ),
            Method(
                "ilp-relaxed",
                "bound",
                "the MILP without contention: a lower bound, no schedule",
                f"{_MAKESPAN}.relaxation:ilp_relaxed",
                f"{_MAKESPAN}.relaxation:model",
            ),
            Method(
                "ilp-schedules",
                "model",
                "the paper's (10)-(13): the best of the heuristics' schedules",
                f"{_MAKESPAN}.schedules:ilp_schedules",
                f"{_MAKESPAN}.schedules:model",
            ),
            Method(
                "theta",
                "bound",
                "the paper's feasibility ILP (14)-(16): least theta as a lower bound",
                f"{_MAKESPAN}.theta:theta",
                f"{_MAKESPAN}.theta:model",
            ),
            Method(
                "state-search",
                "exact",
                "search over states, slot by slot; tiny instances",
                f"{_MAKESPAN}.state_search:state_search",
            ),
            Method(
                "exact",
                "exact",
                "bounds first, then state-search or ilp by size",
                f"{_MAKESPAN}.exact:exact",
            ),
        ),
    ),
    "selection": Problem(
        name="selection",
        instance=f"{_SELECTION}.instance:SelectionInstance",
        solution=f"{_SELECTION}.solution:SelectionSolution",
        options=f"{_SELECTION}.options:SelectionOptions",
        check=f"{_SELECTION}.check:check",
        bound=f"{_SELECTION}.bounds:quick_bound",
        explain=f"{_SELECTION}.explain:explain",
        warm_up=f"{_SELECTION}.warm_up:warm_up",
        objective="expected cost",
        unit="$",
        shown_per_unit=1.0,
        defaults=("sts", "edf", "fifo", "rg", "dp", "avg-edf", "avg-rg", "avg-dp", "exact"),
        methods=(
            Method(
                "sts",
                "heuristic",
                "first speeds of single-job profiles, best fit (sts Algorithms 2-3)",
                f"{_SELECTION}.sts:sts",
            ),
            Method(
                "edf",
                "heuristic",
                "earliest due date first, cheapest GPUs in time at w^max",
                f"{_SELECTION}.baselines:edf",
            ),
            Method(
                "fifo",
                "heuristic",
                "in the file's order, cheapest GPUs in time at w^max",
                f"{_SELECTION}.baselines:fifo",
            ),
            Method(
                "rg",
                "heuristic",
                "randomised greedy by pressure, the best of several starts",
                f"{_SELECTION}.baselines:rg",
            ),
            Method(
                "dp",
                "heuristic",
                "dynamic programme over jobs x GPUs with proxy (28)",
                f"{_SELECTION}.dp:dp",
            ),
            Method("avg-edf", "heuristic", "edf at E[W]", f"{_SELECTION}.baselines:avg_edf"),
            Method("avg-rg", "heuristic", "rg at E[W]", f"{_SELECTION}.baselines:avg_rg"),
            Method("avg-dp", "heuristic", "dp at E[W]", f"{_SELECTION}.dp:avg_dp"),
            Method(
                "minlp",
                "exact",
                "(P1) with its products, solved by SCIP",
                f"{_SELECTION}.minlp:minlp",
                f"{_SELECTION}.minlp:model",
            ),
            Method(
                "milp",
                "exact",
                "(P1) with its products linearised",
                f"{_SELECTION}.milp:milp",
                f"{_SELECTION}.milp:model",
            ),
            Method(
                "patterns",
                "exact",
                "MILP over node patterns, without symmetry",
                f"{_SELECTION}.patterns:patterns",
                f"{_SELECTION}.patterns:model",
            ),
            Method(
                "columns",
                "exact",
                "arc-flow and column generation, with a price certificate",
                f"{_SELECTION}.columns:columns",
                f"{_SELECTION}.arc_flow:model",
            ),
            Method(
                "exact",
                "exact",
                "patterns or columns, by the number of patterns",
                f"{_SELECTION}.exact:exact",
            ),
        ),
    ),
    "speed-profile": Problem(
        name="speed-profile",
        instance=f"{_SPEED}.instance:SpeedProfileInstance",
        solution=f"{_SPEED}.solution:SpeedProfileSolution",
        options=f"{_SPEED}.options:SpeedProfileOptions",
        check=f"{_SPEED}.check:check",
        bound=f"{_SPEED}.bounds:quick_bound",
        explain=f"{_SPEED}.explain:explain",
        warm_up=f"{_SPEED}.warm_up:warm_up",
        objective="expected energy",
        unit="J",
        shown_per_unit=1.0,
        defaults=("hull", "dichotomy", "convex", "exact"),
        methods=(
            Method(
                "hull",
                "exact",
                "lower hull of (1/s, Q) and one multiplier",
                f"{_SPEED}.hull:hull",
            ),
            Method(
                "dichotomy",
                "exact",
                "Algorithm 1 of sts, repaired, on the hull's speeds",
                f"{_SPEED}.dichotomy:dichotomy",
            ),
            Method(
                "convex",
                "heuristic",
                "(P3) by scipy's general solvers",
                f"{_SPEED}.convex:convex",
            ),
            Method("exact", "exact", "hull", f"{_SPEED}.hull:exact"),
        ),
    ),
}

FORMATS: dict[str, str] = {"rolling": "optsched.rolling.instance:RollingInstance"}
"""Instance files that are not solved but run, by a command of their own."""

METHODS: dict[str, dict[str, Method]] = {
    problem.name: {method.name: method for method in problem.methods}
    for problem in PROBLEMS.values()
}


def resolve(reference: str) -> Any:
    """Import what ``module:name`` names."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


def problem_of(document: dict[str, Any], source: str) -> Problem:
    """The problem whose schema a parsed instance file declares.

    Raises
    ------
    InputError
        If the file declares none that is known.
    """
    schema = document.get("schema")
    known = {f"optsched/{name}": problem for name, problem in PROBLEMS.items()}
    if isinstance(schema, str) and schema in known:
        return known[schema]
    found = "nothing" if schema is None else repr(schema)[:60]
    formats = [f"optsched/{name}" for name in FORMATS]
    raise InputError(source, "schema", found, " or ".join([*known, *formats]))
