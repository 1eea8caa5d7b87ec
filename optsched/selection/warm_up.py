"""Loading the compiled loops before anything is timed."""

from __future__ import annotations

from optsched.result import Settings
from optsched.selection.heuristics.dp import dp
from optsched.selection.heuristics.sts import sts
from optsched.selection.instance import SCHEMA, SelectionInstance
from optsched.selection.options import SelectionOptions


def warm_up() -> None:
    """Run every compiled loop once on a tiny instance."""
    for solve in (sts, dp):
        solve(_TINY, SelectionOptions(), Settings())


_TINY = SelectionInstance.from_dict(
    {
        "schema": SCHEMA,
        "version": 1,
        "name": "tiny",
        "now": 0.0,
        "interval": 10.0,
        "postponement_penalty": 2.0,
        "gpu_types": {"A": {"memory_bytes": 8.0, "slowdown": {"0.5": 1.1}}},
        "nodes": [{"name": "n", "gpu_type": "A", "gpus": 2, "cost_rate": [0.1, 0.2]}],
        "jobs": [
            {
                "name": "j",
                "due_date": 15.0,
                "tardiness_weight": 1.0,
                "memory_bytes": 4.0,
                "completed_epochs": 0,
                "epochs": {"values": [5, 10], "probabilities": [0.5, 0.5]},
                "epoch_time": {"A": [2.0, 1.2]},
            }
        ],
    }
)
