"""best_known.json: the best value and bound per instance, with the command that reproduces them."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from optsched.errors import InputError, shown
from optsched.files import instance_sha256, read_document, write_document
from optsched.io.outputs import require_outputs
from optsched.library.shipped import load, shipped_names
from optsched.problems import PROBLEMS
from optsched.result import Result, Termination, clipped_bound

KEYS = {"sha256", "objective", "bound", "method", "command"}


def read_best_known(path: str | Path) -> dict[str, dict[str, Any]]:
    entries = read_document(path)
    for name, entry in entries.items():
        if not isinstance(entry, dict) or set(entry) != KEYS:
            raise InputError(str(path), name, shown(entry), f"the keys {', '.join(sorted(KEYS))}")
        for key in ("objective", "bound"):
            if type(entry[key]) not in (int, float, type(None)):
                raise InputError(str(path), f"{name}.{key}", shown(entry[key]), "a number or null")
    return entries


def require_best_known(path: str | Path) -> None:
    """Check that a best_known.json can be read and written, before results are computed."""
    require_outputs([path])
    if os.path.exists(path):
        read_best_known(path)
        if not os.access(path, os.W_OK):
            raise InputError(str(path), "", "a file that may not be written", "a writable file")


def update(path: str | Path, results: Iterable[Result]) -> int:
    """Add results of default options to a best_known.json; return how many entries improved."""
    entries = read_best_known(path) if os.path.exists(path) else {}
    improved = set()
    proofs_first = sorted(results, key=lambda r: r.termination is not Termination.OPTIMAL)
    for result in filter(_is_usable, proofs_first):
        entry = entries.get(result.instance)
        merged = _merged(entry, result, str(path))
        if merged != entry:
            entries[result.instance] = merged
            improved.add(result.instance)
    if improved:
        write_document(path, dict(sorted(entries.items())))
    return len(improved)


def _is_usable(result: Result) -> bool:
    return (
        result.termination is not Termination.ERROR
        and result.check is not None
        and result.check.feasible
        and not result.relaxed
        and not (result.problem == "rolling" and result.seed != 0)  # other true epochs
        and dict(result.options) == PROBLEMS[result.problem].options_of()
    )


def _merged(entry: dict[str, Any] | None, result: Result, path: str) -> dict[str, Any]:
    """The better of an entry's and a result's value, with the better bound."""
    new = {
        "sha256": result.instance_sha256,
        "objective": result.objective,
        "bound": result.bound,
        "method": result.method,
        "command": _command(result),
    }
    if entry is None:
        return new
    if entry["sha256"] != result.instance_sha256:
        raise InputError(path, result.instance, "the hash of another instance", "the same instance")
    is_better = result.objective is not None and (
        entry["objective"] is None or result.objective < entry["objective"] * (1 - 1e-12)
    )
    better: dict[str, Any] = new if is_better else entry
    value = better["objective"]
    bounds = [b for b in (entry["bound"], result.bound) if b is not None]
    bound = clipped_bound(max(bounds, default=None), value)
    if bound is not None and value is not None and bound > value:
        found = f"{value} by {better['method']}"
        raise InputError(path, result.instance, found, f"at least the bound proved, {bound}")
    return {**better, "bound": bound}


def _command(result: Result) -> str:
    """The command behind a result, with the instance's shipped name, or else its file's."""
    shipped = (
        name
        for name in shipped_names()
        if name.startswith(f"{result.problem}/")
        and name.endswith(f"/{result.instance}")
        and instance_sha256(load(name).to_dict()) == result.instance_sha256
    )
    name = next(shipped, f"{result.instance}.json")
    seed = f" --seed {result.seed}" if result.seed else ""
    return f"optsched solve {name} --method {result.method}{seed}"
