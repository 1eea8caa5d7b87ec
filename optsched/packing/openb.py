"""Reader of the OpenB tables: nodes and tasks of an Alibaba cluster, as FGD published them.

Columns of nodes: ``sn, cpu_milli, memory_mib, gpu, model``; of tasks: ``cpu_milli, memory_mib,
num_gpu, gpu_milli`` and optionally ``gpu_spec``, accepted models separated by ``|``. Others are
ignored. Source: https://github.com/alibaba/clusterdata, cluster-trace-gpu-v2023.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from optsched.declared import Between, Seed
from optsched.errors import InputError, shown
from optsched.generators.arguments import checked
from optsched.io.numerals import parse_integer
from optsched.io.reading import csv_rows
from optsched.packing.instance import MAX_ARRIVALS, MILLI, Demand, PackingInstance

MIB = 2**20


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
        Types are the distinct demands.

    Raises
    ------
    InputError
        Naming the file, the line and the column of the first fault.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     nodes, tasks = Path(folder, "nodes.csv"), Path(folder, "tasks.csv")
    ...     _ = nodes.write_text("sn,cpu_milli,memory_mib,gpu,model\\nn0,8000,4096,2,T4\\n")
    ...     _ = tasks.write_text("cpu_milli,memory_mib,num_gpu,gpu_milli\\n1000,512,1,500\\n")
    ...     instance = read_openb(nodes, tasks, requested=0)
    >>> len(instance.nodes)
    1
    """
    cluster = [_node(*row) for row in _rows(nodes, "cpu_milli", "memory_mib", "gpu")]
    columns = "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"
    table = [_task(*row) for row in _rows(tasks, *columns)]
    capacity = MILLI * sum(node["gpus"] for node in cluster)
    arriving = _arriving(table, requested * capacity, np.random.default_rng(seed), str(tasks))
    provenance = {"importer": "optsched import openb", "requested": requested, "seed": seed}
    name = name or f"{Path(tasks).name.split('.')[0]}-s{seed}"
    source = f"{nodes} and {tasks}"
    return PackingInstance.of_arrivals(cluster, arriving, source, name=name, provenance=provenance)


def _arriving(
    table: list[Demand], wanted: float, rng: np.random.Generator, source: str
) -> list[Demand]:
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
        if len(arriving) > MAX_ARRIVALS:
            found = f"more than {MAX_ARRIVALS} tasks to ask {wanted / MILLI:g} GPUs"
            raise InputError(source, "requested", found, "fewer")


def _rows(path: str | Path, *columns: str) -> Iterator[tuple[dict[str, str], list[int]]]:
    """Each row's cells by column, and the integers of some columns."""
    rows = (row for row in csv_rows(path) if row[1])
    header = next(rows, (1, []))[1]
    missing, line = [column for column in columns if column not in header], 1
    if missing:
        raise InputError(str(path), "line 1", f"no column {missing[0]}", ", ".join(columns))
    for line, texts in rows:
        if len(texts) != len(header):
            expected = f"{len(header)}, as in the header"
            raise InputError(str(path), f"line {line}", f"{len(texts)} cells", expected)
        cells = dict(zip(header, texts, strict=True)) | {"place": f"{path}: line {line}"}
        integers = [parse_integer(cells[column].strip()) for column in columns]
        for column, value in zip(columns, integers, strict=True):
            if value is None or value < 0:
                found = shown(cells[column])
                raise InputError(cells["place"], column, found, "an integer >= 0")
        yield cells, [value or 0 for value in integers]
    if line == 1:
        raise InputError(str(path), "", "no row", "at least one")


def _node(cells: dict[str, str], numbers: list[int]) -> dict[str, Any]:
    capacity = {"cpu_milli": numbers[0], "memory_bytes": MIB * numbers[1], "gpus": numbers[2]}
    return {"name": cells.get("sn", ""), **capacity, "model": cells.get("model") or "none"}


def _task(cells: dict[str, str], numbers: list[int]) -> Demand:
    cpu, memory, gpus, milli = numbers
    if milli > MILLI or (gpus > 1 and milli < MILLI):
        expected = f"up to {MILLI}, of several GPUs {MILLI}"
        raise InputError(cells["place"], "gpu_milli", f"{gpus} x {milli}", expected)
    models = tuple(part for part in cells.get("gpu_spec", "").split("|") if part)
    return cpu, MIB * memory, gpus * milli, models
