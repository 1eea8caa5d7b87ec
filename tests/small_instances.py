"""A small shipped instance of each problem with a quick method for it; what is known of any."""

from typing import Any

from optsched.library import BEST_KNOWN, shipped_files
from optsched.library.best_known import read_best_known

SMALL = {
    "placement": ("placement/fig2", "heavy-edge"),
    "makespan": ("makespan/fig2", "sjf-bco"),
    "selection": ("selection/3x6", "sts"),
    "speed-profile": ("speed-profile/one-atom", "hull"),
    "rolling": ("rolling/three-by-hand", "edf"),
    "online": ("online/small-400x40", "spjf"),
    "packing": ("packing/two-nodes", "fgd"),
}
NAMES = {problem: name for problem, (name, _) in SMALL.items()}


def best_known(name: str) -> dict[str, Any]:
    """The entry of a shipped instance."""
    path = shipped_files()[name]
    return read_best_known(path.with_name(BEST_KNOWN))[path.stem]
