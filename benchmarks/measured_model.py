"""The model behind `measured.py`: measured rows, their predicted times, and a fit of constants.

A row is a GPT, cut as Megatron does, on servers of 8 A100s. Its time is the cost of a placement
(`optsched.placement.cost`) of the zoo's profile (`optsched.zoo`): the slices of a replica side by
side, then the replicas of a stage, then the stages.
"""

import csv
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from optsched.errors import InputError, shown
from optsched.io.numerals import parse_real
from optsched.placement.cost import iteration_time
from optsched.placement.instance import SCHEMA, PlacementInstance
from optsched.profiles import LayerProfile, Plan, Training, bytes_per_gpu, stage_table
from optsched.zoo import profile_network
from optsched.zoo.device import A100_BF16, Device
from optsched.zoo.network import Network
from optsched.zoo.transformers import GptSize, gpt

FILES = {"single-node": "vtrain_single_node.csv", "multi-node": "vtrain_multi_node.csv"}
RECOMPUTED = {"single-node": False, "multi-node": True}
"""Whether a forward pass is taken to be run again in the backward pass: the jobs of hundreds of
GPUs are those of D. Narayanan et al., SC 2021, which do; those of one server have no need."""
GPUS_PER_SERVER = 8
TOLERATED = 0.05
"""Relative error from which a row counts less and less in the fit: some are outliers."""
UNSURE = 0.5
"""Logarithm of the factor by which a data sheet's constant may be off."""
FARTHEST = 7.0
"""Logarithm of the factor by which a fitted constant may differ from its start."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """One measured job: a GPT, how it was cut, and seconds of an iteration."""

    gpus: int
    global_batch: int
    micro_batch: int
    hidden: int
    heads: int
    layers: int
    tokens: int
    tensor: int
    data: int
    pipeline: int
    seconds: float

    @property
    def micro_batches(self) -> int:
        """Micro-batches of a replica in an iteration, M."""
        return self.global_batch // (self.micro_batch * self.data)


COLUMNS = {
    "gpus": "# GPUs",
    "global_batch": "global batch",
    "micro_batch": "micro batch",
    "hidden": "hidden size",
    "heads": "attention heads",
    "layers": "# layers",
    "tokens": "sequence length",
    "tensor": "tensor parallelism",
    "data": "data parallelism",
    "pipeline": "pipeline parallelism",
    "seconds": "iteration time (ms)",
}


@dataclass(frozen=True)
class Constants:
    """What is fitted; the defaults are where a fit starts, and what it is drawn to where rows
    say nothing.

    Attributes
    ----------
    efficiency : float
        Fraction of the A100's peaks that kernels reach. Start: the zoo's.
    overhead : float
        Seconds that a sublayer's forward pass takes beside.
    launch : float
        Seconds that a host needs to launch a sublayer's forward pass, all-reduces included: the
        pass lasts no less.
    intra_bandwidth : float
        Between the GPUs of a server, bytes/s. Start: one direction of NVLink 3.
    inter_bandwidth : float
        Of a server's NICs, bytes/s. Start: eight of 200 Gbit/s.
    """

    efficiency: float = 0.5
    overhead: float = 1e-4
    launch: float = 3e-4
    intra_bandwidth: float = 3e11
    inter_bandwidth: float = 2e11


NAMES = tuple(field.name for field in fields(Constants))


@dataclass(frozen=True)
class UnfusedGpu(Device):
    """A GPU that runs a layer as many kernels, which pass their results through memory.

    Products and the rest take turns, so that their times add up.
    """

    overhead: float = 0.0

    def seconds(self, flops: float, moved_bytes: float) -> float:
        """Time of a layer's forward pass, without tensors between its kernels."""
        through_memory = moved_bytes / self.memory_bandwidth
        return (flops / self.peak_flops + through_memory) / self.efficiency + self.overhead

    def inner_seconds(self, layer: str, size: GptSize, samples: int, tensor: int) -> float:
        """Time in which kernels that are not fused pass tensors inside a sublayer.

        Attention writes and reads queries, keys, values and the heads' outputs, and moves each
        score 6 times: it is written, read and written by the softmax and by the dropout, and read.
        Around the products each token's features are moved 5 times, which slices do not share: the
        norm writes and the first product reads; the last product writes; the dropout, in one
        kernel with the residual sum, reads that and the sublayer's input again.
        """
        n, h = size.tokens, size.width
        shared = {"attention": 8 * n * h + 6 * size.heads * n * n, "feed_forward": 16 * n * h}
        if (name := layer.rpartition(".")[2]) not in shared:
            return 0.0
        moved = self.bytes_per_number * samples * (shared[name] / tensor + 5 * n * h)
        return moved / self.memory_bandwidth / self.efficiency


def measured_files() -> dict[str, list[Row]]:
    """The rows of both files, by name; raises InputError."""
    folder = os.environ.get("OPTSCHED_DATA")
    if not folder:
        expected = "a folder with measured/" + " and measured/".join(FILES.values())
        raise InputError("measured.py", "OPTSCHED_DATA", "nothing", expected)
    return {name: read_rows(Path(folder) / "measured" / FILES[name]) for name in FILES}


def read_rows(path: Path) -> list[Row]:
    """The rows of a file; raises InputError, which names the line, for anything else."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(str(path), "", type(error).__name__, "a CSV file in UTF-8") from None
    reader = csv.DictReader(text.splitlines(), strict=True)
    missing = set(COLUMNS.values()) - set(reader.fieldnames or ())
    if missing:
        raise InputError(
            str(path), "line 1", f"no column {min(missing)!r}", "the columns of vTrain"
        )
    try:
        rows = [_row(f"{path}", f"line {reader.line_num}", cells) for cells in reader]
    except csv.Error as error:
        raise InputError(str(path), f"line {reader.line_num}", str(error), "CSV") from None
    if not rows:
        raise InputError(str(path), "", "no row", "at least one measured iteration")
    return rows


def _row(source: str, line: str, cells: dict[str, str]) -> Row:
    values: dict[str, float] = {}
    for name, column in COLUMNS.items():
        value = parse_real((cells[column] or "").strip())
        whole = name != "seconds"
        if value is None or not 0 < value < 1e9 or (whole and value != int(value)):
            expected = "a whole number from 1 up" if whole else "a number of milliseconds above 0"
            raise InputError(source, f"{line}, {column}", shown(cells[column]), expected)
        values[name] = int(value) if whole else value / 1e3
    row = Row(**values)  # type: ignore[arg-type]
    for found, of, what in (
        (row.tensor * row.data * row.pipeline, row.gpus, "tensor x data x pipeline = GPUs"),
        (row.global_batch % (row.micro_batch * row.data), 0, "whole micro-batches of a replica"),
        (row.layers % row.pipeline, 0, "as many layers in each stage"),
        (row.hidden % row.heads + row.heads % row.tensor, 0, "heads that divide hidden features"),
    ):
        if found != of:
            raise InputError(source, line, f"{found} against {of}", what)
    return row


def predicted(row: Row, constants: Constants, recompute: bool) -> float:
    """Seconds of an iteration: the cost of the row's placement."""
    instance, counts = placement_of(row, constants, recompute)
    return iteration_time(instance, counts)


def placement_of(
    row: Row, constants: Constants, recompute: bool
) -> tuple[PlacementInstance, NDArray[np.int64]]:
    """The row as an instance, and the counts of its placement by stage and server.

    Slices of a replica stay in one server. Where there are more than a server has GPUs, the servers
    that a replica spans are given as one, inside which no link is faster than their NICs.
    """
    spanned = math.ceil(row.tensor / GPUS_PER_SERVER)
    per_server = GPUS_PER_SERVER * spanned
    inside = constants.intra_bandwidth if spanned == 1 else constants.inter_bandwidth
    iteration, plan = _cut(row, constants, inside, recompute)
    document = {
        "schema": SCHEMA,
        "version": 1,
        "name": "measured",
        "cluster": {
            "gpus_per_server": per_server,
            "inter_bandwidth": spanned * constants.inter_bandwidth,
            "intra_bandwidth": inside,
        },
        "free_gpus": [
            min(per_server, row.gpus - first) for first in range(0, row.gpus, per_server)
        ],
        "job": {
            "model": "GPT",
            "all_reduce": "ring",
            "micro_batches": row.micro_batches,
            "stages": stage_table(iteration, plan),
        },
    }
    instance = PlacementInstance.from_dict(document, "measured")
    counts = np.zeros(instance.shape, dtype=np.int64)
    for replica in range(row.pipeline * row.data):
        counts[replica // row.data, replica * row.tensor // per_server] += 1
    return instance, counts


def memory_of(row: Row) -> float:
    """Bytes on the fullest GPU, by the planner's reading (`optsched.profiles.choice`)."""
    iteration, plan = _cut(row, Constants(), Constants.intra_bandwidth, False)
    parts = row.micro_batches
    return max(bytes_per_gpu(iteration, plan, Training("global", micro_batches=parts)))


def _cut(
    row: Row, constants: Constants, inside: float, recompute: bool
) -> tuple[LayerProfile, Plan]:
    """The profile of an iteration, and the stages: as many blocks in each."""
    profile = _micro_batch_profile(
        GptSize("GPT", row.layers, row.heads, row.hidden // row.heads, row.tokens),
        row.micro_batch,
        row.tensor,
        constants,
        inside,
        recompute,
    )
    each = 2 * row.layers // row.pipeline  # sublayers; the embedding is before, the head after
    cuts = tuple(1 + stage * each for stage in range(1, row.pipeline))
    plan = Plan(cuts, (row.data,) * row.pipeline, 0.0)
    return profile.repeated(row.micro_batches * row.data), plan


@lru_cache(maxsize=4096)
def _micro_batch_profile(
    size: GptSize,
    samples: int,
    tensor: int,
    constants: Constants,
    bandwidth: float,
    recompute: bool,
) -> LayerProfile:
    """The zoo's profile of one micro-batch, no pass of a sublayer shorter than its launch."""
    device = UnfusedGpu(
        **{
            **{field.name: getattr(A100_BF16, field.name) for field in fields(Device)},
            "efficiency": constants.efficiency,
        },
        overhead=constants.overhead,
    )
    found = profile_network(
        _network(size), device, samples, tensor_parallel=tensor, recompute=recompute
    )
    forward, backward = 1, 3 if recompute else 2  # launches
    reduces = 3 if recompute else 2  # all-reduces of a sublayer, one of them forward
    layers = []
    for layer in found.layers:
        inner = device.inner_seconds(layer.name, size, samples, tensor)
        sent = 2 * (tensor - 1) / tensor * layer.tensor_bytes / bandwidth
        ahead, back = sent / reduces, sent * (reduces - 1) / reduces
        layers.append(
            replace(
                layer,
                forward_time=max(layer.forward_time + inner, forward * constants.launch - ahead),
                backward_time=max(
                    layer.backward_time + backward * inner, backward * constants.launch - back
                ),
            )
        )
    return replace(found, layers=tuple(layers))


@lru_cache(maxsize=64)
def _network(size: GptSize) -> Network:
    return gpt(size)


def fit(
    rows: Sequence[Row],
    recompute: bool,
    *,
    start: Constants | None = None,
    predict: Callable[[Row, Constants, bool], float] = predicted,
) -> Constants:
    """The constants by which the rows' predicted times are nearest to the measured ones.

    Least squares of log(predicted / measured), beyond `TOLERATED` nearly least absolute values. A
    constant that is `UNSURE` off its start (in its logarithm) counts like a row that is TOLERATED
    off, so that it stays where rows say nothing of it; the NIC's does where no row has two servers.
    """
    start = start or Constants()
    several = any(row.gpus > GPUS_PER_SERVER for row in rows)
    fitted = NAMES if several else NAMES[:-1]
    origin = np.log([getattr(start, name) for name in fitted])
    measured = np.log([row.seconds for row in rows])

    def constants(point: Floats) -> Constants:
        return replace(start, **dict(zip(fitted, map(float, np.exp(point)), strict=True)))

    def residuals(point: Floats) -> Floats:
        now = constants(point)
        times = np.log([predict(row, now, recompute) for row in rows])
        return np.concatenate((times - measured, TOLERATED / UNSURE * (point - origin)))

    most = [0.0 if name == "efficiency" else math.inf for name in fitted]
    found = least_squares(
        residuals,
        origin,
        bounds=(origin - FARTHEST, np.minimum(origin + FARTHEST, most)),
        loss="soft_l1",
        f_scale=TOLERATED,
        diff_step=1e-4,
        max_nfev=40,
    )
    return constants(found.x)
