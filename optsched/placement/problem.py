"""The placement problem's methods, and where its rooms are."""

from __future__ import annotations

from optsched.problem import Method, Problem

_HERE = "optsched.placement"

PLACEMENT = Problem(
    name="placement",
    instance=f"{_HERE}.instance:PlacementInstance",
    solution=f"{_HERE}.solution:PlacementSolution",
    options=f"{_HERE}.options:PlacementOptions",
    check=f"{_HERE}.check:check",
    bound=f"{_HERE}.bounds:quick_bound",
    explain=f"{_HERE}.explain:explain",
    warm_up=f"{_HERE}.warm_up:warm_up",
    objective="iteration time",
    unit="ms",
    shown_per_unit=1e3,
    defaults=("heavy-edge", "repartition", "exact"),
    methods=(
        Method(
            "heavy-edge",
            "heuristic",
            "greedy growth along heaviest edges (a-srpt IV-B)",
            f"{_HERE}.heavy_edge:heavy_edge",
        ),
        Method(
            "repartition",
            "heuristic",
            "Heavy-Edge, then re-splits of pairs of servers",
            f"{_HERE}.repartition:repartition",
        ),
        Method(
            "dp",
            "exact",
            "dynamic programme over servers",
            f"{_HERE}.dp:dp",
        ),
        Method(
            "threshold",
            "exact",
            "bisection over candidate times by feasibility MILPs",
            f"{_HERE}.threshold:threshold",
        ),
        Method(
            "ilp",
            "exact",
            "strengthened MILP in Pyomo, started from the heuristic",
            f"{_HERE}.ilp:ilp",
            f"{_HERE}.ilp:model",
        ),
        Method(
            "ilp-vertex",
            "exact",
            "one binary per replica and server, as the paper's rival",
            f"{_HERE}.vertex_formulation:ilp_vertex",
            f"{_HERE}.vertex_formulation:model",
        ),
        Method(
            "min-cut",
            "model",
            "fewest bytes across servers; its time is reported, not sought",
            f"{_HERE}.cut_formulation:min_cut",
            f"{_HERE}.cut_formulation:model",
        ),
        Method(
            "exact",
            "exact",
            "bounds first, then dp or threshold by the number of states",
            f"{_HERE}.exact:exact",
        ),
    ),
)
