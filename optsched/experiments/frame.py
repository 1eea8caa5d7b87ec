"""A result store as a pandas DataFrame."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from optsched.experiments.store.store import COLUMNS, StoreReader

if TYPE_CHECKING:
    import pandas as pd

KEPT = ("plan", "family", *(name for name in COLUMNS if name not in ("key", "solution")))


def read_store(path: str | Path) -> pd.DataFrame:
    """Read the runs of a result store, one row a run.

    Parameters
    ----------
    path : str or Path
        A store made by `optsched sweep`.

    Returns
    -------
    pandas.DataFrame
        The plan and family a run belongs to, instance, method, options and seed; status, objective
        and the run's own bound in the problem's unit; details as dictionaries; seconds. A run that
        several families share is a row for each. Solutions are left out.

    Raises
    ------
    InputError
        If it is no store.

    Examples
    --------
    >>> from pathlib import Path
    >>> import optsched
    >>> from optsched.experiments.run.runner import sweep
    >>> plan = '[[families]]\\nname = "a"\\ninstances = ["placement/fig2"]\\nmethods = ["exact"]'
    >>> _ = Path("plan.toml").write_text(plan)
    >>> _ = sweep("plan.toml", "results.sqlite", workers=0)
    >>> runs = optsched.read_store("results.sqlite")
    >>> runs[["instance", "method", "status"]].values.tolist()
    [['fig2', 'exact', 'done']]
    """
    import pandas as pd

    columns = ", ".join(f"r.{name}" for name in KEPT[2:])
    query = (
        f"SELECT m.plan, m.family, {columns} FROM members m JOIN results r ON r.key = m.key "
        "ORDER BY m.plan, m.number"
    )
    with StoreReader(path) as base:
        frame = pd.DataFrame(base.rows(query), columns=list(KEPT))
    for name in ("options", "settings", "details", "violations"):
        frame[name] = [json.loads(text) if isinstance(text, str) else None for text in frame[name]]
    return frame
