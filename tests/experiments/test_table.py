"""Gap tables and reports, against figures worked out by hand."""

import csv
import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import printed

import optsched
from optsched.cli import show
from optsched.experiments.plans.units import Unit
from optsched.experiments.report.page import page
from optsched.experiments.report.table import gap_table
from optsched.experiments.report.table_formats import as_csv, as_latex, as_markdown, pairs_as_csv
from optsched.experiments.statistics import bootstrap_mean
from optsched.experiments.store.store import Row, Status, failed
from optsched.result import Termination

PLAN = """
name = "by hand"
[[families]]
name = "A & <b>|50%"
instances = ["placement/communication-bound/vgg19-*"]
methods = ["heavy-edge", "repartition", "exact"]
"""
OBJECTIVES = {  # instance: heavy-edge, repartition, exact and its bound
    "vgg19-128": (120.0, 100.0, 100.0, 100.0),
    "vgg19-16": (150.0, 110.0, 100.0, 100.0),
    "vgg19-32": (100.0, None, 100.0, 80.0),
}


Stored = Callable[[str, Callable[[Unit], Row | None]], Path]


def row(unit: Unit, objective: float, bound: float | None, seconds: float) -> Row:
    empty = failed(unit, Status.DONE, "")
    return replace(
        empty, termination="feasible", objective=objective, bound=bound, bound_source="hand",
        feasible=True, build_time=0.0, solve_time=seconds, message=None,
    )  # fmt: skip


@pytest.fixture
def store(stored: Stored) -> Path:
    def row_of(unit: Unit) -> Row:
        greedy, search, best, bound = OBJECTIVES[unit.instance]
        if unit.method == "heavy-edge":
            return row(unit, greedy, None, 1.0)
        if unit.method == "exact":
            return row(unit, best, bound, 4.0)
        if search is None:
            return failed(unit, Status.CRASHED, "the <worker> died")
        return row(unit, search, 90.0, 2.0)

    return stored(PLAN, row_of)


def test_every_figure_by_hand(store: Path) -> None:
    (table,) = gap_table(store)
    assert table.instances == 3
    greedy, search, exact = table.lines
    assert greedy.mean == pytest.approx((0.2 + 0.5 + 0.25) / 3)
    assert (greedy.median, greedy.largest) == (pytest.approx(0.25), pytest.approx(0.5))
    assert (greedy.checked, greedy.planned, greedy.failed) == (3, 3, 0)
    assert (greedy.proved, exact.proved) == (0, pytest.approx(2 / 3))
    assert (greedy.time_ratio, exact.time_ratio) == (0.25, 1.0)
    assert (search.mean, search.failed, search.checked) == (pytest.approx(0.05), 1, 2)
    assert search.proved == 0.5
    assert exact.largest == pytest.approx(0.25)
    pairs = {(p.first, p.second): (p.wins, p.ties, p.losses) for p in table.pairings}
    assert pairs.pop(("heavy-edge", "repartition")) == (0, 0, 2)
    assert pairs == {("heavy-edge", "exact"): (0, 1, 2), ("repartition", "exact"): (0, 1, 1)}


def test_the_interval_is_the_bootstraps() -> None:
    values = list(np.random.default_rng(1).exponential(size=200))
    interval = bootstrap_mean(values)
    assert interval == bootstrap_mean(values)
    normal = 1.96 * np.std(values) / np.sqrt(200)
    assert interval.low == pytest.approx(np.mean(values) - normal, abs=0.15 * normal)
    assert interval.high == pytest.approx(np.mean(values) + normal, abs=0.15 * normal)
    assert bootstrap_mean([1.0]) is None
    assert bootstrap_mean([2.0, 2.0]).low == 2.0


def test_an_instance_drawn_repeatedly_counts_once(stored: Stored) -> None:
    """30 seeds give four offers of free GPUs, which differ in name and provenance only."""
    arguments = {"model": "VGG19", "gpus": 8}
    drawn = [optsched.generate("placement", seed, **arguments) for seed in range(30)]
    excess = {one.name: sum(free**2 for free in one.free_gpus) / 100 for one in drawn}
    plan = (
        '[[families]]\nname = "f"\ngenerator = "placement"\ncount = 30\nmethods = ["heavy-edge"]\n'
        'arguments = { model = "VGG19", gpus = 8 }\n'
    )
    (table,) = gap_table(stored(plan, lambda unit: row(unit, 1 + excess[unit.instance], 1.0, 1.0)))
    (line,) = table.lines
    assert (table.draws, table.instances, line.checked) == (30, 4, 30)
    distinct = list(dict.fromkeys(excess.values()))
    assert line.mean == pytest.approx(np.mean(distinct))
    assert line.interval == pytest.approx(bootstrap_mean(distinct))
    assert "### f (placement, 30 draws, 4 distinct)" in as_markdown([table])
    (read,) = csv.DictReader(io.StringIO(as_csv([table])))
    assert (read["draws"], read["instances"]) == ("30", "4")


def test_csv_latex_and_markdown(store: Path, tmp_path: Path) -> None:
    tables = gap_table(store)
    read = list(csv.DictReader(io.StringIO(as_csv(tables))))
    assert [r["method"] for r in read] == ["heavy-edge", "repartition", "exact"]
    assert float(read[0]["mean_excess"]) == tables[0].lines[0].mean
    pairs = list(csv.DictReader(io.StringIO(pairs_as_csv(tables))))
    assert len(pairs) == sum(len(table.pairings) for table in tables) > 0
    assert {int(p["wins"]) + int(p["ties"]) + int(p["losses"]) for p in pairs} - {0}
    latex = as_latex(tables)
    assert r"\caption{A \& <b>|50\% (placement, 3 instances)}" in latex
    assert latex.count(r"\toprule") == latex.count(r"\bottomrule") == 2  # gaps, pairs
    assert "heavy-edge against exact & 0 & 1 & 2" in latex
    assert "heavy-edge & 31.67 & " in latex
    markdown = as_markdown(tables)
    assert r"### A & &lt;b>\|50% (placement, 3 instances)" in markdown
    assert "| repartition | 5.00 | " in markdown
    assert "| 2 of 3 (1 failed) |" in markdown
    for option, text in (("csv", as_csv(tables)), ("latex", latex), ("markdown", markdown)):
        printed("table", store, f"--{option}", tmp_path / "t")
        assert (tmp_path / "t").read_text(encoding="utf-8") == text


@pytest.mark.full
def test_parts_stand_for_an_excess_that_counts_waiting_jobs(swept: Callable[[str], Path]) -> None:
    instances = '["selection/5x10", "selection/12x6-light"]'
    family = f'name = "f"\ninstances = {instances}\nmethods = ["sts", "exact", "same-jobs"]\n'
    tables = gap_table(swept(f"[[families]]\n{family}"))
    greedy, best, same = tables[0].lines
    waiting = [optsched.solve(f"selection/{n}", "sts").measures for n in ("5x10", "12x6-light")]
    for name in ("jobs_waiting", "tardiness", "full_run_energy"):
        assert greedy.measures[name] == pytest.approx(np.mean([said[name] for said in waiting]))
    assert greedy.measures["jobs_waiting"] == same.measures["jobs_waiting"] == 1.5
    assert (best.measures["jobs_waiting"], same.proved, greedy.proved) == (0.0, 1.0, 0.0)
    head, _, first, *_ = as_markdown(tables).splitlines()[2:]
    assert head.startswith("| method | jobs waiting | tardiness $ | interval energy $ | full-run")
    assert "excess" not in head
    assert first.startswith(f"| sts | 1.50 | {greedy.measures['tardiness']:.2f} | ")
    row = next(csv.DictReader(io.StringIO(as_csv(tables))))
    assert float(row["mean_excess"]) == greedy.mean > 10
    assert float(row["jobs_waiting"]) == 1.5
    assert [(pair.first, pair.second) for pair in tables[0].pairings] == [("sts", "exact")]


def test_the_report_is_one_page_that_fetches_nothing(store: Path, tmp_path: Path) -> None:
    printed("report", store, "-o", tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert text == page(store)
    ET.fromstring(re.sub(r"<(meta[^>]*|br)>|xlink:", "", text.partition(">")[2]))  # all closed
    assert not re.search(r"<script|src=|href=.[^#]", text)
    assert text.count("<svg ") == 1
    assert len(re.findall(r"<use [^>]*fill-opacity", text)) == 3 + 2 + 3  # a dot a run
    assert text.count("<details>") == 3 + 1
    assert "<b>" not in text
    assert "the &lt;worker&gt; died" in text
    assert "optsched sweep &lt;x&gt;" in text
    assert re.search(r"vgg19-16: largest excess 50\.00%, bound 100000\.000 ms by hand", text)


def test_runs_without_a_solution_are_counted_by_how_they_ended(stored: Stored) -> None:
    """One instance each: no solution found, proved infeasible, solved, free of a rule."""
    endings = {
        "vgg19-128": {"termination": "no-solution", "feasible": None, "objective": None},
        "vgg19-16": {"termination": "infeasible", "feasible": None, "objective": None},
        "vgg19-32": {},
    }

    def row_of(unit: Unit) -> Row:
        made = row(unit, 120.0, 100.0 if unit.method == "exact" else 60.0, 1.0)
        if unit.method == "heavy-edge":
            return replace(made, bound=None, **endings[unit.instance])
        relaxes = {"details": '{"relaxes":"no preemption"}'}
        return replace(made, **relaxes) if unit.method == "repartition" else made

    path = stored(PLAN, row_of)
    (table,) = gap_table(path)
    greedy, relaxed, exact = table.lines
    assert greedy.unsolved == {"infeasible": 1, "no-solution": 1}
    assert (greedy.checked, greedy.failed) == (1, 0)
    assert (relaxed.relaxes, exact.relaxes) == ("no preemption", None)
    markdown = as_markdown([table])
    assert "| 1 of 3 (1 infeasible, 1 no-solution) |" in markdown
    assert "| repartition | 100.00 (not comparable) |" in markdown
    assert "| exact | 20.00 |" in markdown
    first, second, _ = csv.DictReader(io.StringIO(as_csv([table])))
    counts = {"infeasible": "1", "no_solution": "1", "time_limit": "0", "not_run": "0"}
    assert {name: first[name] for name in counts} == counts
    assert (first["relaxes"], second["relaxes"]) == ("", "no preemption")


def test_compare_says_which_rows_have_no_solution_and_which_a_bound_of_their_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    base = optsched.solve("placement/fig2", "heavy-edge", bound=False)
    empty = replace(base, solution=None, objective=None, termination=Termination.NO_SOLUTION)
    relaxed = replace(base, bound=base.objective / 1.25, details={"relaxes": "no preemption"})
    show.table(iter([[empty, replace(empty, method="first-fit"), relaxed]]), quiet=False)
    out = capsys.readouterr().out
    assert "25.00 (not comparable)" in out
    assert "relaxes: no preemption; not comparable" in out
    assert "first-fit: without a solution on 1 instance (1 no-solution)" in out
