"""The model of problem (8) for `pyomo solve`; the formulation itself is in `optsched.online`.

    pyomo solve --solver=highs models/online/online_model.py

From the top of the repository. It solves tiny.json in slots of 1 s; a configuration file, as the
other problems have one, takes instance and options from "options" under "model".
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyomo.environ as pyo

import optsched

HERE = Path(__file__).resolve().parent
DEFAULTS: dict[str, Any] = {"instance": "tiny.json", "slot": 1.0}


def pyomo_create_model(
    options: Mapping[str, Any] | None = None, model_options: Mapping[str, Any] | None = None
) -> pyo.ConcreteModel:
    """Build the model that the configuration names.

    Parameters
    ----------
    options : mapping, optional
        All of Pyomo's own settings; not used.
    model_options : mapping, optional
        ``instance``: a file beside this one, a path, or the name of a shipped instance; all else
        goes to the problem as its options.
    """
    chosen = DEFAULTS | dict(model_options or {})
    instance = str(chosen.pop("instance"))
    beside = HERE / instance
    return optsched.build_model(beside if beside.is_file() else instance, "offline-ilp", chosen)
