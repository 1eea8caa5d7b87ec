"""Files in other units: every quantity of a document multiplied as its dimension says."""

import math
from collections.abc import Mapping
from typing import Any

SCALES = (1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e9)
UNITS = ("time", "bytes", "money", "epochs")

Dimension = Mapping[str, int]
TIME, BYTES, MONEY, EPOCHS = ({unit: 1} for unit in UNITS)
MONEY_RATE, BANDWIDTH = {"money": 1, "time": -1}, {"bytes": 1, "time": -1}

PLACEMENT = {
    **dict.fromkeys(("inter_bandwidth", "intra_bandwidth"), BANDWIDTH),
    **dict.fromkeys(("forward_time", "backward_time"), TIME),
    **dict.fromkeys(("input_bytes", "output_bytes", "parameter_bytes"), BYTES),
}
SELECTION = {  # also over time, and certificates
    **dict.fromkeys(("now", "interval", "due_date", "submit_time", "reconfiguration_delay"), TIME),
    **dict.fromkeys(("values", "completed_epochs", "true_epochs"), EPOCHS),
    **dict.fromkeys(("tardiness_weight", "cost_rate"), MONEY_RATE),
    **{"epoch_time": {"time": 1, "epochs": -1}, "memory_bytes": BYTES, "certificate": MONEY},
}
SPEED_PROFILE = {
    **dict.fromkeys(("completed", "points", "from", "to"), EPOCHS),
    **{"speeds": {"epochs": 1, "time": -1}, "power": MONEY_RATE, "deadline": TIME},
}
RUNS = {
    **dict.fromkeys(("start", "end", "setup", "time", "first_start", "completion"), TIME),
    "epochs": EPOCHS,
}
DIMENSIONS: dict[str, Dimension] = PLACEMENT | SELECTION | SPEED_PROFILE | RUNS
"""By key; what is not here has no unit. Where a dictionary stands below it, its keys say more."""


def factor(dimension: Dimension, units: Mapping[str, float]) -> float:
    return math.prod(units.get(unit, 1.0) ** power for unit, power in dimension.items())


def in_units(document: Any, units: Mapping[str, float], **objective: Dimension) -> Any:
    """A document with every quantity multiplied; `objective` is the dimension of that key."""
    known = {**DIMENSIONS, **objective}

    def walk(node: Any, by: float) -> Any:
        if isinstance(node, dict):
            return {key: walk(value, _by(key, value, by)) for key, value in node.items()}
        if isinstance(node, list):
            return [walk(value, by) for value in node]
        number = isinstance(node, int | float) and not isinstance(node, bool)
        return node * by if number and by != 1.0 else node

    def _by(key: str, value: Any, inherited: float) -> float:
        if key not in known or (key == "epochs" and isinstance(value, dict)):
            return inherited
        return factor(known[key], units)

    return walk(document, 1.0)


def changes_of_unit(*units: str) -> list[dict[str, float]]:
    """Each unit alone at every scale, then all of them together."""
    alone = [{unit: scale} for unit in units for scale in SCALES]
    return [*alone, *(dict.fromkeys(units, scale) for scale in SCALES)]
