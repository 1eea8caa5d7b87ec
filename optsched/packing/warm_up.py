"""Load compiled code before timing."""

from optsched.generators.packing import generate_packing
from optsched.packing.heuristics.offline import offline
from optsched.packing.heuristics.policies import run_policy
from optsched.packing.options import PackingOptions
from optsched.result import Settings


def warm_up() -> None:
    tiny = generate_packing(nodes=2, requested=0.5)
    run_policy("fgd", tiny, PackingOptions(), Settings())
    offline(tiny, PackingOptions(), Settings(iterations=2))
