"""Reader of the OpenB tables: nodes and tasks of an Alibaba cluster, as FGD published them.

Columns of nodes: ``sn, cpu_milli, memory_mib, gpu, model``; of tasks: ``name, cpu_milli, memory_mib,
num_gpu, gpu_milli`` and optionally ``gpu_spec``, accepted models separated by ``|``. Others are
ignored. Source: https://github.com/alibaba/clusterdata, cluster-trace-gpu-v2023.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from optsched.declared import Between, Seed
from optsched.errors import InputError, shown
from optsched.generators.arguments import checked
from optsched.io.numerals import parse_integer
from optsched.io.reading import csv_rows
from optsched.packing.instance import MILLI, SCHEMA, PackingInstance

MIB = 2**20
NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
TASK_COLUMNS = ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
MODELS_COLUMN = "gpu_spec"

Demand = tuple[int, int, int, tuple[str, ...]]
"""CPU, bytes of memory, milli of GPUs and accepted models."""


@checked("import openb")
def read_openb(
    nodes: str | Path,
    tasks: str | Path,
    *,
    requested: Annotated[float, Between(0, 100)] = 1.3,
    seed: Seed = 0,
    name: str | None = None,
) -> PackingInstance:
    """Make an instance of a cluster's tables, in a drawn order of arrival.

    The tasks are shuffled; then tasks are drawn again from the table, or removed at random, until
    they ask `requested` times the cluster's GPUs, as in FGD's experiments.

    Parameters
    ----------
    nodes, tasks : str or Path
        CSV files, also .gz.
    requested : float
        GPUs that the tasks ask, relative to the cluster's; 0 keeps the tasks of the file.
    seed : int
        Seed of the order and of the tasks that are added or removed.
    name : str, optional
        Name of the instance; by default the task file's.

    Returns
    -------
    PackingInstance
        Types are the distinct demands, in the order of the file.

    Raises
    ------
    InputError
        Naming the file, the line and the column of the first fault.
    """
    cluster = [_node(str(nodes), *row) for row in _rows(nodes, NODE_COLUMNS)]
    table = [_task(str(tasks), *row) for row in _rows(tasks, TASK_COLUMNS)]
    for source, records in ((nodes, cluster), (tasks, table)):
        if not records:
            raise InputError(str(source), "", "no row", "at least one")
    capacity = MILLI * sum(node["gpus"] for node in cluster)
    arriving = _arriving(table, requested * capacity, np.random.default_rng(seed))
    counts = Counter(arriving)
    types = {
        task: t for t, task in enumerate(task for task in dict.fromkeys(table) if counts[task])
    }
    return PackingInstance.from_dict(
        {
            "schema": SCHEMA,
            "version": 1,
            "name": name or f"{Path(tasks).name.split('.')[0]}-s{seed}",
            "provenance": {"importer": "optsched import openb", "requested": requested}
            | {"seed": seed},
            "nodes": cluster,
            "tasks": [
                {
                    "name": f"t{t}",
                    "count": counts[task],
                    "cpu_milli": task[0],
                    "memory_bytes": task[1],
                    "gpu_milli": task[2],
                    "models": list(task[3]),
                }
                for task, t in types.items()
            ],
            "arrivals": [types[task] for task in arriving],
        },
        str(tasks),
    )


def _arriving(table: list[Demand], wanted: float, rng: np.random.Generator) -> list[Demand]:
    """The shuffled tasks, with some drawn again or removed until they ask `wanted` milli."""
    arriving = [table[i] for i in rng.permutation(len(table))]
    total = sum(task[2] for task in arriving)
    if not wanted or not total:
        return arriving
    while total > wanted and len(arriving) > 1:
        total -= arriving.pop(int(rng.integers(len(arriving))))[2]
    while True:
        task = table[rng.integers(len(table))]
        if total + min(task[2], MILLI) > wanted:
            return arriving
        arriving.append(task)
        total += task[2]


def _rows(path: str | Path, columns: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """Line numbers and cells by column."""
    rows = csv_rows(path)
    _, header = next(rows, (1, []))
    missing = [column for column in columns if column not in header]
    if missing:
        raise InputError(str(path), "line 1", f"no column {missing[0]}", ", ".join(columns))
    for line, cells in rows:
        if cells and len(cells) != len(header):
            found = f"{len(cells)} cells"
            raise InputError(str(path), f"line {line}", found, f"{len(header)}, as in the header")
        if cells:
            yield line, dict(zip(header, cells, strict=True))


def _node(source: str, line: int, cells: dict[str, str]) -> dict[str, Any]:
    return {
        "name": cells["sn"],
        "cpu_milli": _integer(source, line, cells, "cpu_milli"),
        "memory_bytes": MIB * _integer(source, line, cells, "memory_mib"),
        "gpus": _integer(source, line, cells, "gpu"),
        "model": cells["model"] or "none",
    }


def _task(source: str, line: int, cells: dict[str, str]) -> Demand:
    cpu, memory, gpus, milli = (_integer(source, line, cells, name) for name in TASK_COLUMNS)
    if (gpus > 1 and milli != MILLI) or milli > MILLI:
        found = f"{gpus} x {milli}"
        expected = f"a share of one GPU or whole GPUs of {MILLI}"
        raise InputError(source, f"line {line}: gpu_milli", found, expected)
    models = tuple(part for part in cells.get(MODELS_COLUMN, "").split("|") if part)
    return cpu, MIB * memory, gpus * milli, models


def _integer(source: str, line: int, cells: dict[str, str], column: str) -> int:
    value = parse_integer(cells[column].strip())
    if value is None or value < 0:
        raise InputError(source, f"line {line}: {column}", shown(cells[column]), "an integer >= 0")
    return value
