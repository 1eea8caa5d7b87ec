"""Compile or load the makespan kernels."""

from optsched.deadline import Deadline
from optsched.generators.makespan import generate_makespan
from optsched.makespan.bounds.column import warm_up_knapsacks
from optsched.makespan.heuristics.local_search import local_search
from optsched.makespan.heuristics.nested import Annealing
from optsched.makespan.heuristics.sjf_bco import search_by_name
from optsched.makespan.options import MakespanOptions
from optsched.result import Settings


def warm_up() -> None:
    tiny = generate_makespan(jobs=4, servers=2, server_sizes=(4,), largest_job=4)
    options, settings = MakespanOptions(), Settings(iterations=2)
    search_by_name("sjf-bco", tiny, options, Deadline())
    local_search(tiny, options, settings)
    Annealing(tiny, 1.0, 0).result(2, Deadline(), 0.0)
    warm_up_knapsacks()
