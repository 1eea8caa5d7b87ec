"""What objects show of themselves, and instances made in Python."""

import io

import pytest
from small_instances import SMALL

import optsched
from optsched.errors import InputError
from optsched.library import shipped_names
from optsched.placement.instance import Cluster, Job, PlacementInstance, Stage
from optsched.verbs.comparing import compare_each

STAGE = {"forward_time": 0.01, "backward_time": 0.02, "input_bytes": 0.0, "output_bytes": 0.0}


def made(**changes: object) -> PlacementInstance:
    """Two replicas of one stage on two servers."""
    values: dict = {
        "name": "mine",
        "cluster": Cluster(gpus_per_server=8, inter_bandwidth=1e9, intra_bandwidth=1e11),
        "free_gpus": (1, 1),
        "job": Job(
            model="M",
            all_reduce="ring",
            stages=(Stage(name="a", replicas=2, parameter_bytes=1e6, **STAGE),),
        ),
    }
    return PlacementInstance(**{**values, **changes})


def test_a_fault_in_python_names_its_place_as_a_file_does() -> None:
    with pytest.raises(InputError, match=r"PlacementInstance: free_gpus: found a sum of 3"):
        made(free_gpus=(1, 2))
    with pytest.raises(InputError, match=r"Stage: replicas: found 0"):
        Stage(name="a", replicas=0, parameter_bytes=1e6, **STAGE)
    with pytest.raises(InputError, match=r"colour: found 'red', expected no such key"):
        made(colour="red")


def test_a_file_still_needs_both() -> None:
    for key in ("schema", "version"):
        document = made().to_dict()
        del document[key]
        with pytest.raises(InputError, match=f"{key}: missing required field"):
            PlacementInstance.from_dict(document, "f.json")


@pytest.mark.parametrize("name", [n for n in shipped_names() if not n.startswith("online/")])
def test_every_shipped_instance_is_one_line(name: str) -> None:
    instance = optsched.load(name)
    line = repr(instance)
    assert len(line) <= 400
    assert "\n" not in line
    assert instance.name in line
    assert len(str(instance).splitlines()) <= 15
    assert f'<td style="text-align:left">{instance.name}</td>' in instance._repr_html_()


def test_results_and_checks_say_what_matters() -> None:
    result = optsched.solve("placement/vgg19-16", "heavy-edge")
    assert "heavy-edge" in repr(result)
    assert len(repr(result)) <= 400
    assert f"{result.excess:.2%}" in str(result)
    assert len(str(result).splitlines()) <= 15
    assert "GPUs by server 7, 5, 4" in repr(result.solution)
    broken = result.solution.model_copy(update={"counts": ((1,),)})
    report = optsched.check("placement/vgg19-16", broken)
    assert "shape" in str(report)
    assert len(str(report).splitlines()) <= 15


@pytest.mark.parametrize("width", [200, 100, 80, 60])
def test_the_gap_table_reads_in_full_in_a_narrow_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns that do not fit are a second table, and no cell is cut."""
    from rich.console import Console

    from optsched.cli import show

    out = Console(width=width, record=True, file=io.StringIO(), force_terminal=True)
    monkeypatch.setattr(show, "console", lambda: out)
    methods = ["heavy-edge", "repartition", "exact"]
    show.table(compare_each("placement/gpt-175b-64x1", methods), quiet=False)
    text = out.export_text().split("heavy-edge: excess")[0]
    assert all(len(line) <= width for line in text.splitlines())
    assert "\u2026" not in text  # nothing is cut with dots
    for word in (
        "method",
        "excess %",
        "status",
        "exact (columns)",
        "optimal",
        "gpt-175b-64x1",
        "objective",
    ):
        assert word in text


EXPLAINED = {**dict(SMALL.values()), "placement/vgg19-16": "heavy-edge", "selection/40x160": "sts"}


@pytest.mark.parametrize("name", EXPLAINED)
def test_an_explanation_shows_itself(name: str) -> None:
    breakdown = optsched.explain(name, method=EXPLAINED[name])
    title, headings, rows, closing = breakdown.table()
    assert len(repr(breakdown)) <= 400
    assert "\n" not in repr(breakdown)
    lines = str(breakdown).splitlines()
    assert lines[0] == title
    assert lines[-len(closing.splitlines()) :] == closing.splitlines()
    assert len(lines) <= 20 + 3 + len(closing.splitlines())
    page = breakdown._repr_html_()
    assert page.count("<tr>") == 1 + min(len(rows), 20)
    assert f">{headings[-1]}</th>" in page
    for row in rows[:20]:
        assert row[-1] in str(breakdown)
        assert f">{row[-1]}</td>" in page
    if len(rows) > 20:
        assert f"... and {len(rows) - 20} rows more" in lines


def test_a_page_escapes_names() -> None:
    stage = Stage(name="<b>", replicas=2, parameter_bytes=1e6, **STAGE)
    job = Job(model="M", all_reduce="ring", stages=(stage,))
    page = optsched.explain(made(job=job), method="heavy-edge")._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page


def test_a_comparison_is_compact() -> None:
    names = ["heavy-edge", "exact"]
    frame = optsched.compare("placement/vgg19-16", names)
    assert list(frame.columns) == [
        *("instance", "method", "objective", "bound", "excess"),
        *("status", "seconds", "checked"),
    ]
    texts = {"messages": {}, "tracebacks": {}}
    assert frame.attrs == {"problem": "placement", "not comparable": "", **texts}
    greedy, best = (optsched.solve("placement/vgg19-16", name) for name in names)
    assert list(frame["status"]) == ["feasible", "optimal"]
    assert list(frame["checked"]) == [True, True]
    assert list(frame["objective"]) == [greedy.objective, best.objective]
    assert frame["excess"][0] == greedy.objective / best.bound - 1
    assert "<table" in frame._repr_html_()


def test_a_full_comparison_has_the_keys_of_the_command() -> None:
    frame = optsched.compare("placement/vgg19-16", ["heavy-edge"], full=True)
    document = optsched.solve("placement/vgg19-16", "heavy-edge").to_dict(with_solution=False)
    assert list(frame.columns) == list(document)
    options = {"all_reduce_bandwidth": "bottleneck"}
    short = optsched.compare("placement/gpt-175b-64x1", ["repartition"], options=options)
    assert list(short["status"]) == ["error"]
    assert short["checked"][0] is None
