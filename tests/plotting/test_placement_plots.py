"""Placement pictures, read back from the Axes and compared with the placement itself."""

from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from placement.jobs import made

import optsched
from optsched.placement.explain import PARTS
from optsched.placement.solution import PlacementSolution
from optsched.plotting import plot_breakdown, plot_placement

SOLUTION = PlacementSolution.of("by hand", ((1, 1), (1, 0)))


def _stage(name: str, replicas: int, *traffic: float, **more: Any) -> dict[str, Any]:
    times = {"name": name, "replicas": replicas, "forward_time": 1, "backward_time": 2}
    keys = ("input_bytes", "output_bytes", "parameter_bytes")
    return {**times, **dict(zip(keys, traffic, strict=True)), **more}


def _instance(*stages: dict[str, Any], free: tuple[int, ...] = (2, 1), **job: Any) -> Any:
    """Server 0 has 4 GPUs of which it offers 2; the cost of every part is known by hand."""
    stages = stages or (_stage("front", 2, 0, 10, 30), _stage("back", 1, 20, 0, 50))
    numbers = {"gpus": max(4, *free), "inter": 40, "intra": 1000, "name": "by hand"}
    return made(list(free), list(stages), **numbers, **job)


def _sliced(**job: Any) -> Any:
    """Two replicas of 2 GPUs and one of 1, on servers that offer 4 and 3."""
    slices = {"tensor_parallel": 2, "tensor_bytes": 500, "expert_bytes": 10}
    stages = _stage("front", 2, 0, 10, 30, **slices), _stage("back", 1, 20, 0, 50)
    return _instance(*stages, free=(4, 3), **job)


def _bars(ax: Axes, prefix: str) -> dict[str, Rectangle]:
    return {p.get_gid(): p for p in ax.patches if (p.get_gid() or "").startswith(prefix)}


def _title(ax: Axes) -> str:
    """On one line, however it was wrapped."""
    return " ".join(ax.get_title(loc="left").split())


def _words(ax: Axes) -> str:
    return " ".join([_title(ax), *(text.get_text() for text in ax.texts)])


def _row(bar: Rectangle) -> int:
    return round(bar.get_y() + bar.get_height() / 2)


WHOLE = {
    "stage-0-server-0": (0, 0, 1),
    "stage-1-server-0": (0, 1, 2),
    "not-offered-server-0": (0, 2, 4),
    "stage-0-server-1": (1, 0, 1),
    "not-offered-server-1": (1, 1, 4),
}
SLICED = {
    "stage-0-server-0": (0, 0, 2),
    "stage-1-server-0": (0, 2, 3),
    "stage-0-server-1": (1, 0, 2),
    "not-offered-server-1": (1, 3, 4),
}


@pytest.mark.parametrize(
    ("instance", "spans", "names"),
    [
        (
            _instance(),
            WHOLE,
            ["stage 0 (2 replicas): front", "stage 1 (1 replica): back", "used by other jobs"],
        ),
        (
            _sliced(),
            SLICED,
            [
                "stage 0 (2 replicas of 2 GPUs): front",
                "stage 1 (1 replica): back",
                "used by other jobs",
            ],
        ),
    ],
)
def test_bars_fill_a_server_from_its_first_gpu_to_its_last_offered(
    instance: Any, spans: dict[str, Any], names: list[str]
) -> None:
    ax = plot_placement(instance, SOLUTION)
    bars = {**_bars(ax, "stage-"), **_bars(ax, "not-offered-")}
    drawn = {g: (_row(b), b.get_x(), b.get_x() + b.get_width()) for g, b in bars.items()}
    assert drawn == spans
    assert [text.get_text() for text in ax.get_legend().get_texts()] == names
    frame = _bars(ax, "bottleneck")["bottleneck"]
    assert frame.get_width() == spans["stage-0-server-1"][2]


def test_slices_experts_and_micro_batches_in_titles_and_stacks() -> None:
    """front on server 1: 20 bytes out over two tenths of the NIC 1 s, slices' 500 bytes 0.5 s,
    half of the experts' 10 bytes 0.25 s, a ring of 30 bytes 1.5 s; two micro-batches.

    Its work is 3 + 1 + 0.5 + 0.25 = 4.75 s; back works 3 s and receives half of 40 bytes over the
    NIC's tenth, 2 s, half inside, 0.02 s: 5.02 s.
    """
    assert _title(plot_placement(_sliced(), SOLUTION)).endswith(
        "= compute 3,000 + inter-server 1,000 + intra-server 0 + tensor all-reduce 500 "
        "+ expert all-to-all 250 + all-reduce 1,500 ms"
    )
    ax = plot_breakdown(_sliced(), SOLUTION)
    assert [container.get_label() for container in ax.containers] == list(PARTS.values())
    ax = plot_breakdown(_sliced(micro_batches=2), SOLUTION)
    assert _title(ax) == (
        "by hand: 8,895 ms per iteration of 2 micro-batches "
        "= slowest work 5,020 + fill and drain 2,375 + exposed all-reduce 1,500 ms"
    )
    assert "slowest work, 5,020 ms" in _words(ax)
    assert ax.get_xlim()[1] > 6250


@pytest.mark.parametrize("name", ["fig2", "vgg19-16", "gpt-175b-64x1"])
def test_the_frame_stands_where_explain_puts_the_bottleneck(name: str) -> None:
    result = optsched.solve(f"placement/{name}", "heavy-edge")
    worst = optsched.explain(result.instance_data, result).bottleneck
    ax = plot_placement(result.instance_data, result.solution)
    frame = _bars(ax, "bottleneck")["bottleneck"]
    bar = _bars(ax, f"stage-{worst.stage}-server-{worst.server}").popitem()[1]
    assert frame.get_bbox().bounds == pytest.approx(bar.get_bbox().bounds)
    assert f"(stage {worst.stage}, server {worst.server}) =" in _words(ax)


def test_the_title_states_the_bottleneck_s_time_and_split() -> None:
    # Stage "front" on server 1: 3 s; its 20 bytes out go over a tenth of the NIC, 2 s; a ring of
    # 30 bytes over the same share, 3 s.
    assert _title(plot_placement(_instance(), SOLUTION)) == (
        "by hand: 8,000 ms per iteration (stage 0, server 1) "
        "= compute 3,000 + inter-server 2,000 + intra-server 0 + all-reduce 3,000 ms"
    )
    for plot in (plot_placement, plot_breakdown):
        ax = plot(_instance(), SOLUTION, {"all_reduce_overlap": 0.5})
        assert _title(ax).startswith("by hand: 6,500 ms")


def test_the_stack_of_each_row_is_its_breakdown() -> None:
    result = optsched.solve("placement/vgg19-16", "heavy-edge")
    rows = optsched.explain(result.instance_data, result).rows
    ax = plot_breakdown(result.instance_data, result.solution)
    left = [0.0] * len(rows)
    drawn = [name for name in PARTS if name not in ("tensor", "experts")]
    for container, attribute in zip(ax.containers, drawn, strict=True):
        assert container.get_label() == PARTS[attribute]
        widths = [bar.get_width() for bar in container]
        assert widths == pytest.approx([1e3 * getattr(row, attribute) for row in rows])
        assert [bar.get_x() for bar in container] == pytest.approx(left)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    assert left == pytest.approx([1e3 * row.total for row in rows])
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == [f"{row.name} on server {row.server} (x{row.replicas})" for row in rows]
