"""`benchmarks/measured.py`: reading rows, predicting one by hand, fitting constants, the page."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from processes import ROOT
from scripts import script

from optsched.errors import InputError

PAGE = (ROOT / "docs" / "measured.md").read_text(encoding="utf-8")
HEAD = (
    "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,"
    "tensor parallelism,data parallelism,pipeline parallelism,iteration time (ms)"
)


model = script("measured_model")


def written(folder: Path, *lines: str, head: str = HEAD) -> Path:
    path = folder / "rows.csv"
    path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8-sig")
    return path


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("8,16,2,64,4,4,32,2,2,2,fast", "line 2, iteration time (ms): found 'fast'"),
        ("8,16,2.5,64,4,4,32,2,2,2,3", "line 2, micro batch: found '2.5', expected a whole number"),
        ("8,16,2,64,4,4,32,2,2", "line 2, pipeline parallelism: found None"),
        ("8,16,2,64,4,4,32,2,2,1,3", "2: found 4 against 8, expected tensor x data x pipeline"),
        ('8,16,2,64,4,4,32,2,2,2,"3', "unexpected end of data"),
    ],
)
def test_garbage_is_refused_in_one_line(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        model.read_rows(written(tmp_path, line))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_one_row_by_hand() -> None:
    """Two stages of two replicas of two slices on one server, two micro-batches of one sample.

    Each line in seconds, with F = 0.5 x 312e12 FLOP/s, W = 0.5 x 2039e9 bytes/s, n = 32 tokens,
    h = 64 features, 4 heads, 1 block a stage, two bytes a number:

    attention, forward: the matrices and pairs 8 n h^2 + 4 n^2 h FLOPs, and n h of the residual
    sum, halved by the slices; memory: input and output 2 n h, half of the 4 h^2 + 6 h parameters,
    half of 8 n h + 6 x 4 n^2 between kernels, 5 n h around them; and the overhead. Feed-forward:
    16 n h^2 + n h FLOPs, 8 h^2 + 7 h parameters, 16 n h between kernels. An all-reduce of 2 n h
    bytes in each direction of each sublayer takes 2 (1/2) 2 n h / B.
    """
    n, h, peak, memory, overhead, inside = 32, 64, 0.5 * 312e12, 0.5 * 2039e9, 1e-5, 1e11
    constants = model.Constants(0.5, overhead, 1e-9, inside, 1e10)
    row = model.Row(8, 4, 1, h, 4, 2, n, 2, 2, 2, 1.0)

    def seconds(flops: float, elements: float) -> float:
        return flops / peak + 2 * elements / memory + overhead

    attention = seconds(
        (8 * n * h**2 + 4 * n**2 * h + n * h) / 2,
        2 * n * h + (4 * h**2 + 6 * h) / 2 + (8 * n * h + 24 * n**2) / 2 + 5 * n * h,
    )
    feed_forward = seconds(
        (16 * n * h**2 + n * h) / 2,
        2 * n * h + (8 * h**2 + 7 * h) / 2 + 16 * n * h / 2 + 5 * n * h,
    )
    embedding = seconds(0, n + 2 * n * h)
    head = seconds(
        2 * n * h * 50_257 / 2,
        n * h + n * 50_257 + 2 * h / 2,  # the table is the embedding's
    )
    one_reduce = 2 * (1 / 2) * (2 * n * h) / inside
    block = 3 * (attention + feed_forward) + 4 * one_reduce
    # All of a neighbour's replicas are on the server: activations and their gradients at B_intra.
    across = 2 * (2 * n * h) / inside
    first = 3 * embedding + one_reduce + block + across
    last = block + 3 * head + one_reduce + across
    # Parameters of a block, and of the tables in the first stage and the last norm in the last;
    # two replicas of two slices all-reduce them inside the server.
    reduced = [
        2 * (1 / 2) * 2 * (12 * h**2 + 13 * h + own) / (2 * inside)
        for own in ((50_257 + 2048) * h, 2 * h)
    ]
    hidden = 2 * (embedding + attention + feed_forward)  # the first stage's backward pass
    slowest = max(first, last)
    expected = slowest + first + last + max(reduced[0], reduced[1] - hidden)
    assert model.predicted(row, constants, False) == pytest.approx(expected, rel=1e-12)


def test_ranks_are_laid_out_as_megatron_does() -> None:
    row = model.Row(32, 64, 1, 64, 4, 8, 32, 2, 8, 2, 1.0)
    instance, counts = model.placement_of(row, model.Constants(), False)
    assert instance.free_gpus == (8, 8, 8, 8)
    assert counts.tolist() == [[4, 4, 0, 0], [0, 0, 4, 4]]
    assert instance.job.micro_batches == 8
    # 16 slices span two servers: one of 16 GPUs, inside which the NICs decide.
    wide = model.Row(32, 64, 1, 64, 16, 8, 32, 16, 2, 1, 1.0)
    instance, counts = model.placement_of(wide, model.Constants(), False)
    assert instance.free_gpus == (16, 16)
    assert counts.tolist() == [[1, 1]]
    assert instance.cluster.intra_bandwidth == model.Constants().inter_bandwidth
    assert instance.cluster.inter_bandwidth == 2 * model.Constants().inter_bandwidth


def test_the_page_is_of_the_files_and_under_the_target() -> None:
    """What the page prints: all rows of both files, and mean errors below a tenth."""
    assert re.findall(r"^## \S+: (\d+) rows", PAGE, re.MULTILINE) == ["1440", "109"]
    one, other = re.findall(r"^\| mean \| ([0-9.]+)%", PAGE, re.MULTILINE)
    assert max(float(one), float(other)) < 10
    assert (ROOT / "docs" / "measured.png").is_file()


@pytest.mark.skipif("OPTSCHED_DATA" not in os.environ, reason="OPTSCHED_DATA is unset")
def test_the_constants_of_the_page_predict_the_rows_as_it_says() -> None:
    """The medians of its draws, on some rows of each file; no fit."""
    files = model.measured_files()
    assert [len(rows) for rows in files.values()] == [1440, 109]
    for name, text in zip(files, re.split(r"^## \S+: ", PAGE, flags=re.MULTILINE)[1:], strict=True):
        found = re.findall(r"^\| (\w+) \([^)]*\) \| \S+ \| (\S+) \|", text, re.MULTILINE)
        constants = model.Constants(**{name: float(value) for name, value in found})
        message = re.search(r"^\| mean \| ([0-9.]+)%", text, re.MULTILINE)
        rows = files[name][:: 12 if name == "single-node" else 3]
        errors = [
            abs(model.predicted(row, constants, model.RECOMPUTED[name]) / row.seconds - 1)
            for row in rows
        ]
        assert 100 * np.mean(errors) == pytest.approx(float(message[1]), abs=2.5)
