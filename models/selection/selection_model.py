"""A selection model for `pyomo solve`; the formulations themselves are in `optsched.selection`.

    pyomo solve --solver=highs models/selection/selection_model.py
    pyomo solve --solver=highs models/selection/tiny-config.json

Both from the top of the repository. The first solves the pattern model of tiny.json; the second
takes instance, method and the problem's options from "options" under "model". A data file after the
name of this one would be ignored by `pyomo solve` without a word.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyomo.environ as pyo

import optsched

HERE = Path(__file__).resolve().parent
DEFAULTS: dict[str, Any] = {"instance": "tiny.json", "method": "patterns"}


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
        ``method``: "patterns", "milp", "minlp" or "columns"; all else goes to the problem as its
        options.
    """
    chosen = DEFAULTS | dict(model_options or {})
    instance, method = str(chosen.pop("instance")), str(chosen.pop("method"))
    beside = HERE / instance
    return optsched.build_model(beside if beside.is_file() else instance, method, chosen)
