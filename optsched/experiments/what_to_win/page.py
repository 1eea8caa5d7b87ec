"""The page: one HTML file, three pictures and a CSV of all its numbers, in an engineer's words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from optsched import __version__
from optsched.arrays import Floats
from optsched.experiments.report.page import STYLE, html_table
from optsched.experiments.what_to_win.study import (
    SCHEDULERS,
    USUAL,
    Class,
    Study,
    classes_by_owner,
    classes_by_size,
    warnings_of,
)
from optsched.io.writing import csv_text, replacing, write_text
from optsched.online.policies.by_name import POLICIES
from optsched.plotting.axes import COLOURS, WIDTH, add_heading, axes, compact, house_style
from optsched.plotting.online import plot_queue, plot_utilisation

FILES = ("index.html", "waiting.png", "queue.png", "gpus.png", "waits.csv")
STYLE_OF_PARTS = """
.warning { border-left: 4px solid #cc6677; padding-left: 1.6rem; }
.part { margin: .8rem 0; } .part div { background: #332288; height: .7rem; min-width: 2px; }
.part + .part div { background: #44aa99; } .part + .part + .part div { background: #999933; }
"""
NO_WAITING = 0.01
"""Mean hours of waiting below which no saving is shown."""
NOT_SAVED = "No scheduler on this page saves any."
CLOSE = (0.8, 1.25)
"""Ratios of simulated to real mean waiting that count as close."""
LENGTHS = {
    "trace": "A job runs as long as the trace says, wherever it runs. This is the default since "
    "the trace does not say which models ran: slowdowns of scattered jobs would be invented, and "
    "real starts can only be compared with real lengths. It flatters schedulers that scatter jobs; "
    "<code>--lengths cost-model</code> shows how much, for models drawn at random.",
    "cost-model": "A job takes the trace's length on its best servers, and longer where its GPUs "
    "are scattered, by the cost model of a model drawn at random; this counts as waiting. By "
    "default it runs as long as the trace says, which does not say which models ran.",
}
NOT_MODELLED = (
    "Not modelled: CPUs, memory, kinds of GPUs and which servers a job may use; maintenance "
    "windows, quotas and priorities that the cluster file does not state; jobs that ran before the "
    "trace; users who change their submissions when they wait less; the time to start a job. A "
    "stopped job loses 30 s when it resumes."
)
TERMS = (
    "Waiting is flow time minus length. Schedulers are policies of <code>optsched simulate "
    "--offer best-fit-last</code>; every run passed its audit. Expected lengths are means of the "
    "ended jobs of a job's group; EASY uses time limits where the trace has them.",
    "The limits are lower bounds on the total flow time: flow bounds and the gang bound if no job "
    "is stopped, preemptive flow bounds in general. They may be too low, never too high, so the "
    "first part may be overstated and the last understated.",
)
MEASURES = ("mean_hours", "median_hours", "p95_hours")
CSV_HEADER = (
    *("scheduler", "class", "value", "jobs", "gpu_hours"),
    *(f"{time}_{measure}" for time in ("wait", "turnaround") for measure in MEASURES),
)


def write_page(study: Study, folder: str | Path) -> None:
    """Write the files of `FILES` into a folder; raises InputError."""
    folder, owners = Path(folder), classes_by_owner(study)
    best = (study.best(stops_jobs=stops) for stops in (False, True))
    shown = [study.runs[name] for name in dict.fromkeys((study.today, *best))]
    _draw_waiting(study, folder / FILES[1])
    _save(plot_queue(None, shown), folder / FILES[2])
    _save(plot_utilisation(None, shown), folder / FILES[3])
    everything = Class("all", "", np.ones(len(study.jobs), dtype=bool))
    rows = _csv_rows(study, [everything, *classes_by_size(study), *owners])
    write_text(folder / FILES[4], csv_text(CSV_HEADER, rows))
    write_text(folder / FILES[0], page(study, owners))


def page(study: Study, owners: Sequence[Class]) -> str:
    jobs, name = study.jobs, escape(study.instance.name)
    load = "" if jobs.load is None else f", at a load of {jobs.load:.0%}"
    owner = owners[0].kind if owners else ""
    sections = {
        "The waiting of today, in three parts": _parts(study),
        "Waiting and turnaround under each scheduler": _schedulers(study)
        + _picture(FILES[1], "Mean hours of waiting under each scheduler, and two limits"),
        "By job size": _waits(study, classes_by_size(study), study.waits),
        f"By {owner}": _waits(study, owners, study.waits) if owners else "",
        "Over time": _picture(FILES[2], "Waiting jobs over time")
        + "GPUs in use; the others are idle."
        + _picture(FILES[3], "GPUs in use over time"),
        "How far off is the simulation?": _calibration(study),
        "What was assumed": f"<p>{LENGTHS[study.instance.provenance['lengths']]}</p>{NOT_MODELLED}",
    }
    return "\n".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{name}: what would a better scheduler win?</title>",
            f"<style>{STYLE}{STYLE_OF_PARTS}</style></head><body>",
            f"<h1>What would a better scheduler win? {name}</h1>",
            f"<p>{len(jobs):,} jobs in {np.ptp(jobs.submit) / 86400:,.1f} days on "
            f"{jobs.cluster.gpus:,} GPUs{load}. Hours are simulated unless called real.</p>",
            _list(map(escape, warnings_of(study)), "warning"),
            *(f"<h2>{escape(title)}</h2>{text}" for title, text in sections.items() if text),
            f"<details><summary>Terms and methods</summary>{_list(TERMS)}</details>",
            f"<p>Every number: <code>{FILES[4]}</code>. optsched {escape(__version__)}.</p>",
            "</body></html>\n",
        )
    )


def _parts(study: Study) -> str:
    """The waiting of today, split by the two limits, and what schedulers here save of it."""
    today, min_wait = study.mean(study.today), study.min_wait
    order, stopping = study.best(stops_jobs=False), study.best(stops_jobs=True)
    saved, more = today - study.mean(order), study.mean(order) - study.mean(stopping)
    middle, high = np.percentile(study.waits[study.today], (50, 95))
    head = (
        f"<p>Under <code>{study.today}</code> ({escape(SCHEDULERS[study.today])}), which stands "
        f"for today's scheduler, a job waits <b>{_hours(today)}</b> on average, half of the jobs "
        f"at most {_hours(middle)}, 95% at most {_hours(high)}. "
    )
    if today < NO_WAITING:
        return f"{head}Hardly any job waits, so no scheduler can save much.</p>"
    by_order = f"<code>{order}</code> saves {_hours(saved)} of it."
    by_stopping = (
        f"<code>{stopping}</code>, which stops jobs, saves another {_hours(more)} of both parts."
    )
    parts = {
        "A better order of starts can save at most this: today's waiting less the lower limit for "
        f"schedulers that stop no job. {by_order if saved > 0 else NOT_SAVED}": today
        - study.min_wait_without_stops,
        "Only a scheduler that stops jobs and resumes them later could save any of this. "
        f"{by_stopping if more > 0 else NOT_SAVED}": study.min_wait_without_stops - min_wait,
        "No scheduler avoids this part, not even one that knows the future and stops jobs at no "
        "cost; only more GPUs or less work reduce it.": min_wait,
    }
    lines = [
        f'<div class="part"><div style="width: {100 * hours / today:.1f}%"></div>'
        f"<b>{_hours(hours)} ({hours / today:.0%}).</b> {words}</div>"
        for words, hours in parts.items()
    ]
    return f"{head}The average has three parts:</p>{''.join(lines)}"


def _schedulers(study: Study) -> str:
    rows, words = [], []
    for name, run in study.runs.items():
        values = (*_three(study.waits[name]), *_three(study.waits[name] + study.lengths))
        stops = f"{run.records.preemptions / len(study.jobs):.1f}"
        rows.append((name, *map(_number, values), f"{run.metrics.utilisation:.0%}", stops))
        words.append(f"<code>{name}</code>: {escape(SCHEDULERS[name])}")
    headings = ("scheduler", "waiting: mean", "median", "95%", "turnaround: mean", "median", "95%")
    table = html_table((*headings, "GPUs in use", "stops per job"), rows)
    return f"Hours per job; turnaround is from submission to end.{table}{_list(words)}"


def _calibration(study: Study) -> str:
    """Real waits beside those of the replays."""
    if (real := study.real_waits) is None:
        return "<p>The trace has no real start times to compare with.</p>"
    started = ~np.isnan(real)
    truth, replay = (float(w[started].mean()) for w in (real, study.waits[study.today]))
    ratio = replay / truth if truth > 0 else np.inf
    is_close = CLOSE[0] <= ratio <= CLOSE[1] or max(truth, replay) < NO_WAITING
    verdict = (
        "The replay is close to what happened."
        if is_close
        else "The replay is <b>far off</b>: the hours on this page are those of a simulated "
        "cluster, not of yours. Is the number of GPUs right? Were there quotas or maintenance "
        "that cluster.json lacks, reserved servers, or jobs that the trace lacks?"
    )
    classes = [replace(c, jobs=c.jobs & started) for c in classes_by_size(study)]
    columns = {"real": real} | {f"replay: {name}": study.waits[name] for name in USUAL}
    times = f" ({ratio:.2f} times as long)" if np.isfinite(ratio) else ""
    return (
        f"<p>{started.sum():,} of {len(real):,} jobs have a real start. They really waited "
        f"{_hours(truth)} on average; replayed under <code>{study.today}</code>, the closer one of "
        f"{' and '.join(USUAL)}, they wait {_hours(replay)}{times}. {verdict}</p>"
        f"{_waits(study, classes, columns)}"
    )


def _waits(study: Study, classes: Sequence[Class], columns: Mapping[str, Floats]) -> str:
    """A table of the median and the 95% quantile of waiting, a row a class."""
    gpu_hours, rows = study.jobs.gpus * study.lengths, []
    for chosen in (c for c in classes if c.jobs.any()):
        cells = (_three(wait[chosen.jobs])[1:] for wait in columns.values())
        sizes = f"{chosen.jobs.sum():,}", f"{gpu_hours[chosen.jobs].sum():,.0f}"
        rows.append((chosen.name, *sizes, *(" / ".join(map(_number, pair)) for pair in cells)))
    table = html_table((classes[0].kind, "jobs", "GPU hours", *columns), rows)
    return f"Hours of waiting: median / 95%.{table}"


def _csv_rows(study: Study, classes: Sequence[Class]) -> Iterable[tuple[Any, ...]]:
    waits, real = dict(study.waits), study.real_waits
    waits |= {} if real is None else {"real": real}
    for name, wait in waits.items():
        for each in classes:
            chosen = each.jobs & ~np.isnan(wait)
            if chosen.any():
                gpu_hours = float((study.jobs.gpus * study.lengths)[chosen].sum())
                values = (*_three(wait[chosen]), *_three((wait + study.lengths)[chosen]))
                yield (name, each.kind, each.name, int(chosen.sum()), gpu_hours, *values)


@house_style()
def _draw_waiting(study: Study, path: Path) -> None:
    """Draw the mean waiting under each scheduler, and the two limits."""
    ax = axes(None, WIDTH, 1.3 + 0.3 * len(study.runs))
    hours = {name: study.mean(name) for name in study.runs}
    colours = [COLOURS[POLICIES[name].preempts != "never"] for name in hours]
    ax.barh([*hours], [*hours.values()], color=colours)
    for name, value in hours.items():
        ax.annotate(f"{compact(value)} h", (value, name), (4, -3), textcoords="offset points")
    limits = (
        (study.min_wait_without_stops, "limit without stops", "-"),
        (study.min_wait, "limit of all", "--"),
    )
    for limit, words, style in limits:
        label = f"{words}: {compact(limit)} h"
        ax.axvline(limit, color=COLOURS[2], linestyle=style, label=label)
    ax.set_xlim(0, 1.15 * max(*hours.values(), 1e-6))
    ax.invert_yaxis()
    ax.set_xlabel("mean hours of waiting per job; red: stops jobs")
    add_heading(ax)
    _save(ax, path)


@house_style()
def _save(ax: Any, path: Path) -> None:
    from matplotlib import pyplot as plt

    with replacing(path) as file:
        ax.figure.savefig(file, format="png", metadata={"Software": None})
    plt.close(ax.figure)


def _picture(file: str, words: str) -> str:
    return f'<figure><img src="{file}" alt="{words}"></figure>'


def _list(items: Iterable[str], style: str = "") -> str:
    text = "".join(f"<li>{item}</li>" for item in items)
    return f'<ul class="{style}">{text}</ul>' if text else ""


def _three(hours: Floats) -> tuple[float, float, float]:
    """Mean, median and 95% quantile."""
    middle, high = np.percentile(hours, (50, 95))
    return float(hours.mean()), float(middle), float(high)


def _number(hours: float) -> str:
    digits = 0 if abs(hours) >= 100 else 1 if abs(hours) >= 10 else 2
    return f"{round(hours, digits) + 0.0:,.{digits}f}"  # never -0.00


def _hours(hours: float) -> str:
    return f"{_number(hours)} hours"
