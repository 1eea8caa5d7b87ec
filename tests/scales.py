"""Files in other units: every quantity of a document multiplied as its dimension says."""

import math
from collections.abc import Mapping
from typing import Any

SCALES = (1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e9)
UNITS = ("time", "bytes", "money", "epochs")

Dimension = Mapping[str, int]
TIME, BYTES, MONEY, EPOCHS = ({unit: 1} for unit in UNITS)
MONEY_RATE = {"money": 1, "time": -1}

DIMENSIONS: dict[str, Dimension] = {
    # placement
    "inter_bandwidth": {"bytes": 1, "time": -1},
    "intra_bandwidth": {"bytes": 1, "time": -1},
    "forward_time": TIME,
    "backward_time": TIME,
    "input_bytes": BYTES,
    "output_bytes": BYTES,
    "parameter_bytes": BYTES,
    # selection, also over time
    "now": TIME,
    "interval": TIME,
    "due_date": TIME,
    "submit_time": TIME,
    "reconfiguration_delay": TIME,
    "epoch_time": {"time": 1, "epochs": -1},
    "tardiness_weight": MONEY_RATE,
    "cost_rate": MONEY_RATE,
    "memory_bytes": BYTES,
    "values": EPOCHS,
    "completed_epochs": EPOCHS,
    "true_epochs": EPOCHS,
    # certificates of selections
    "certificate": MONEY,
    # speed profiles
    "speeds": {"epochs": 1, "time": -1},
    "power": MONEY_RATE,
    "deadline": TIME,
    "completed": EPOCHS,
    "points": EPOCHS,
    "from": EPOCHS,
    "to": EPOCHS,
    # runs over time
    "start": TIME,
    "end": TIME,
    "setup": TIME,
    "time": TIME,
    "first_start": TIME,
    "completion": TIME,
    "epochs": EPOCHS,
}
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
