"""A packing model for `pyomo solve`; the formulation itself is in `optsched.packing`.

    pyomo solve --solver=highs models/packing/packing_model.py
    pyomo solve --solver=highs models/packing/tiny-config.json

Both from the top of the repository. The first solves tiny.json; the second takes instance and
method from "options" under "model". A data file after the name of this one would be ignored by
`pyomo solve` without a word.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyomo.environ as pyo

import optsched

HERE = Path(__file__).resolve().parent
DEFAULTS: dict[str, Any] = {"instance": "tiny.json", "method": "milp"}


def pyomo_create_model(
    options: Mapping[str, Any] | None = None, model_options: Mapping[str, Any] | None = None
) -> pyo.ConcreteModel:
    """Build the model that the configuration names.

    Parameters
    ----------
    options : mapping, optional
        All of Pyomo's own settings; not used.
    model_options : mapping, optional
        ``instance``: a file beside this one, a path, or the name of a shipped instance;
        ``method``: "milp".
    """
    chosen = DEFAULTS | dict(model_options or {})
    beside = HERE / str(chosen["instance"])
    return optsched.build_model(
        beside if beside.is_file() else chosen["instance"], chosen["method"]
    )
