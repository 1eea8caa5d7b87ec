"""Writing a method's Pyomo model as a file for other solvers."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from optsched.errors import InputError, shown
from optsched.io.writing import write_bytes
from optsched.methods import build_model

FORMATS = ("mps", "lp", "nl")


def export(
    instance: Any,
    method: str,
    file_format: str,
    path: str | Path,
    *,
    options: Mapping[str, Any] | None = None,
    pruned: bool = False,
) -> str:
    """Write a method's model as MPS, LP or NL; return the description of its objective."""
    if file_format not in FORMATS:
        raise InputError("export", "--format", shown(file_format), " or ".join(FORMATS))
    import pyomo.environ as pyo

    model = build_model(instance, method, options, pruned=pruned)
    labels = {"symbolic_solver_labels": file_format != "nl"}
    try:
        with tempfile.TemporaryDirectory(prefix="optsched-export-") as folder:
            file = Path(folder) / f"model.{file_format}"
            model.write(str(file), io_options=labels)
            write_bytes(path, file.read_bytes())
    except OSError as error:
        raise InputError(str(path), "", error.strerror or str(error), "a writable file") from None
    (objective,) = model.component_data_objects(pyo.Objective, active=True)
    return str(objective.parent_component().doc)
