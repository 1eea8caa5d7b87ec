"""What makes a report's page answer: filter and sort its tables, zoom its pictures, see schedules.

A script of its own and no library: the page stays one small file without a licence of others in it,
and what it shows is the static page's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from optsched.errors import InputError
from optsched.experiments.plans.instances import recipe_in
from optsched.experiments.report.parts import inline_svg
from optsched.experiments.report.table import FamilyTable, Run
from optsched.experiments.report.table_formats import percent
from optsched.experiments.store.store import StoreReader
from optsched.plotting.axes import house_style
from optsched.problem import resolve
from optsched.problems import PROBLEMS

MOST_SCHEDULES = 40
"""On a page, one a family."""

STYLE = """
.tools { position: sticky; top: 0; background: #fff; padding: .5rem 0; z-index: 1; }
.tools input { font: inherit; width: min(24rem, 60vw); }
thead th { cursor: pointer; } thead th[data-order="1"]::after { content: " \\25B2"; }
thead th[data-order="-1"]::after { content: " \\25BC"; }
.zoom svg { cursor: grab; touch-action: none; border: 1px solid #ddd; }
.zoom figcaption { font-size: .85rem; min-height: 1.4em; color: #444; }
"""
TOOLS = (
    '<p class="tools"><label>Filter <input type="search" placeholder="instance, method, status"/>'
    "</label> <output></output></p>"
)
HELP = "Wheel or two fingers: zoom; drag: move; double click: all of it."

SCRIPT = """
"use strict";
const number = text => text.trim() && !isNaN(text.replace(/[,%]/g, ""))
  ? Number(text.replace(/[,%]/g, "")) : NaN;
for (const head of document.querySelectorAll("thead th")) {
  head.tabIndex = 0;
  const sort = () => {
    const order = head.dataset.order === "1" ? -1 : 1, table = head.closest("table");
    for (const other of table.querySelectorAll("thead th")) delete other.dataset.order;
    head.dataset.order = order;
    const cell = row => row.cells[head.cellIndex]?.textContent ?? "";
    const compare = (one, two) => {
      const [a, b] = [number(cell(one)), number(cell(two))];
      if (isNaN(a) && isNaN(b)) return order * cell(one).localeCompare(cell(two));
      if (isNaN(a) || isNaN(b)) return isNaN(a) ? 1 : -1;
      return order * (a - b);
    };
    table.tBodies[0].append(...[...table.tBodies[0].rows].sort(compare));
  };
  head.addEventListener("click", sort);
  head.addEventListener("keydown", event => { if (event.key === "Enter") sort(); });
}
const search = document.querySelector(".tools input");
const said = document.querySelector(".tools output");
search.addEventListener("input", () => {
  const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
  const has = text => words.every(word => text.toLowerCase().includes(word));
  let shown = 0;
  for (const row of document.querySelectorAll("section tbody tr")) {
    const about = row.closest("details")?.querySelector("summary").textContent ?? "";
    row.hidden = !has(about + " " + row.textContent);
    shown += !row.hidden;
  }
  for (const each of document.querySelectorAll("section details")) {
    const rows = [...each.querySelectorAll("tbody tr")];
    each.hidden = rows.length > 0 && rows.every(row => row.hidden);
  }
  said.textContent = words.length ? `${shown} rows` : "";
});
for (const svg of document.querySelectorAll(".zoom svg")) {
  const whole = svg.getAttribute("viewBox").split(" ").map(Number);
  let box = [...whole];
  const set = next => { box = next; svg.setAttribute("viewBox", box.join(" ")); };
  const at = event => {
    const place = svg.getBoundingClientRect();
    return [(event.clientX - place.left) / place.width, (event.clientY - place.top) / place.height];
  };
  const zoom = (factor, x, y) => {
    const wide = Math.min(whole[2], Math.max(whole[2] / 200, box[2] * factor));
    const tall = wide * whole[3] / whole[2];
    set([box[0] + (box[2] - wide) * x, box[1] + (box[3] - tall) * y, wide, tall]);
  };
  const fingers = new Map();
  svg.addEventListener("wheel", event => {
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, ...at(event));
  }, { passive: false });
  svg.addEventListener("pointerdown", event => {
    svg.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, at(event));
  });
  for (const end of ["pointerup", "pointercancel"])
    svg.addEventListener(end, event => fingers.delete(event.pointerId));
  svg.addEventListener("pointermove", event => {
    const [x, y] = at(event), was = fingers.get(event.pointerId);
    if (was) {
      const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, each]) => each);
      if (other) {
        const apart = (one, two) => Math.hypot(one[0] - two[0], one[1] - two[1]) || 1e-3;
        zoom(apart(was, other) / apart([x, y], other), (x + other[0]) / 2, (y + other[1]) / 2);
      } else set([box[0] - (x - was[0]) * box[2], box[1] - (y - was[1]) * box[3], box[2], box[3]]);
      fingers.set(event.pointerId, [x, y]);
      return;
    }
    const under = document.elementFromPoint(event.clientX, event.clientY);
    const name = under?.closest("g[id]")?.id ?? "";
    const told = svg.closest("figure").querySelector("figcaption");
    told.textContent = /^(job|stage|policy)-/.test(name) ? name : told.dataset.help;
  });
  svg.addEventListener("dblclick", () => set([...whole]));
}
"""


def schedules(store: str | Path, tables: Sequence[FamilyTable]) -> Iterator[str]:
    """For each family the section that draws the stored solution furthest above its bound."""
    drawn = 0
    for table in tables:
        text = ""
        for run in sorted(table.runs, key=lambda run: -(run.excess or 0.0)):
            if drawn < MOST_SCHEDULES and run.feasible and (text := _schedule(store, run)):
                drawn += 1
                break
        yield text


def _schedule(store: str | Path, run: Run) -> str:
    """A figure of a run's solution; nothing where the store does not keep it."""
    problem = PROBLEMS[run.problem]
    if not problem.pictures:
        return ""
    with StoreReader(store) as base:
        found = base.rows(
            "SELECT i.document, r.solution FROM results r JOIN instances i ON i.sha256 = r.sha256 "
            "WHERE r.sha256 = ? AND r.method = ? AND r.seed = ? AND r.solution IS NOT NULL",
            (run.sha256, run.method, run.seed),
        )
    if not found or recipe_in(found[0]["document"]) is not None:
        return ""
    try:
        instance = resolve(problem.instance).from_dict(json.loads(found[0]["document"]))
        solution = resolve(problem.solution).from_dict(json.loads(found[0]["solution"]))
        with house_style():
            from matplotlib import pyplot as plt
            from matplotlib.figure import Figure

            from optsched.verbs.picturing import plot

            figure = plot(instance, solution).figure
            assert isinstance(figure, Figure)
            name = f"{run.instance} by {run.method}, {percent(run.excess)}% above its bound"
            svg = inline_svg(figure, name)
            plt.close(figure)
    except InputError:
        return ""  # the static tables say what is wrong with the run
    return (
        f'<h3>{escape(name)}</h3><figure class="zoom">{svg}'
        f'<figcaption data-help="{HELP}">{HELP}</figcaption></figure>'
    )
