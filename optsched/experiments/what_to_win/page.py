"""The page: one HTML file, two pictures and a CSV of all its numbers, in an engineer's words."""

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from optsched import __version__
from optsched.arrays import Bools, Floats
from optsched.experiments.report.page import STYLE, html_table
from optsched.experiments.what_to_win.pictures import draw_cluster, draw_waiting
from optsched.experiments.what_to_win.study import (
    SCHEDULERS,
    USUAL,
    Class,
    Study,
    classes_by_owner,
    classes_by_size,
    quantiles,
    warnings_of,
)
from optsched.io.writing import csv_text, write_text
from optsched.online.policies.by_name import POLICIES

FILES = ("index.html", "waiting.png", "over-time.png", "waits.csv")
STYLE_OF_PARTS = """
.warning { border-left: 4px solid #cc6677; padding-left: .8rem; }
.part { margin: .8rem 0; } .part div { background: #332288; height: .7rem; min-width: 2px; }
.part + .part div { background: #44aa99; } .part + .part + .part div { background: #999933; }
"""
CLOSE = (0.8, 1.25)
"""Ratios of simulated to real mean waiting that count as close."""
LENGTHS = {
    "trace": "A job runs as long as the trace says, wherever it runs. This is the default: the "
    "trace does not say which models ran, so a slowdown by scattered GPUs would be made up, and "
    "the comparison with real start times needs the real lengths. It flatters schedulers that "
    "scatter jobs over servers; <code>--lengths cost-model</code> shows by how much they would "
    "lose with models drawn at random.",
    "cost-model": "A job takes the trace's length on its best servers, and longer where its GPUs "
    "are scattered, by the cost model of a model drawn at random for each group of jobs. Such "
    "slowdowns count as waiting here. The trace does not say which models ran: without "
    "<code>--lengths cost-model</code> a job runs as long as the trace says, wherever it runs.",
}
NOT_MODELLED = (
    "CPUs, memory, kinds of GPUs, and which servers a job may use: any free GPU does, except as "
    "the cluster's file says.",
    "Jobs that ran before the trace begins, and failures: the cluster starts empty, and a job "
    "that was cancelled or failed runs as long as it did.",
    "Users: the same jobs come at the same times, however long they wait.",
    "Time to start a job. A stopped job loses 30 s when it goes on, and nothing else.",
)


def write_page(study: Study, folder: str | Path) -> None:
    """Write the files of `FILES` into a folder; raises InputError, or MissingExtraError."""
    folder = Path(folder)
    shown = dict.fromkeys((study.today, study.best(False) or study.today, study.best(True)))
    draw_waiting(study, folder / FILES[1])
    draw_cluster(study, [name for name in shown if name], folder / FILES[2])
    owners = classes_by_owner(study)
    everything = Class("all", "", np.ones(len(study.jobs), dtype=bool))
    rows = _csv_rows(study, [everything, *classes_by_size(study), *owners])
    write_text(folder / FILES[3], csv_text(CSV_HEADER, rows))
    write_text(folder / FILES[0], page(study, owners))


def page(study: Study, owners: Sequence[Class]) -> str:
    jobs, cluster = study.jobs, study.jobs.cluster
    name, days = escape(study.subject.name), float(np.ptp(jobs.submit)) / 86400
    load = "" if jobs.load is None else f"; they ask for {jobs.load:.0%} of the GPUs' time"
    warnings = "".join(f"<li>{escape(text)}</li>" for text in warnings_of(study))
    owner = owners[0].kind if owners else ""
    return "\n".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{name}: what would a better scheduler win?</title>",
            f"<style>{STYLE}{STYLE_OF_PARTS}</style></head><body>",
            f"<h1>What would a better scheduler win? {name}</h1>",
            f"<p>{len(jobs):,} jobs submitted within {days:,.1f} days, {cluster.gpus:,} GPUs"
            f"{load}. Hours are simulated, except where the page says real.</p>",
            f'<ul class="warning">{warnings}</ul>' if warnings else "",
            f"<h2>The waiting of today, in three parts</h2>{_parts(study)}",
            f"<h2>Waiting and turnaround under each scheduler</h2>{_schedulers(study)}",
            _picture(FILES[1], "Mean hours of waiting under each scheduler, and two limits"),
            f"<h2>By job size</h2>{_classes(study, 'GPUs', classes_by_size(study))}",
            f"<h2>By {owner}</h2>{_classes(study, owner, owners)}" if owners else "",
            "<h2>Over time</h2>",
            _picture(FILES[2], "Waiting jobs, GPUs in use and idle GPUs over time"),
            f"<h2>How far off is the simulation?</h2>{_calibration(study)}",
            f"<h2>What was assumed</h2><p>{LENGTHS[study.subject.lengths]}</p>",
            "<p>Not modelled:</p>",
            f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in NOT_MODELLED)}</ul>",
            _appendix(study),
            "</body></html>\n",
        )
    )


def _parts(study: Study) -> str:
    """The waiting of today, split by the two limits, and what schedulers here save of it."""
    today, run_on, least = study.mean(study.today), study.least_running_on, study.least
    better, stopping = study.best(False), study.best(True)
    saved = today - study.mean(better or study.today)
    more = 0.0 if stopping is None else max(0.0, today - saved - study.mean(stopping))
    parts = (
        (
            today - run_on,
            "A better order could save at most this: what today's waiting exceeds the least that "
            "is possible without stopping a job.",
            f"<code>{better}</code> on this page saves {_hours(saved)} of it, or more than that.",
        ),
        (
            run_on - least,
            "Only stopping jobs and resuming them later could save this, at most: the difference "
            "between the least waiting without stopping jobs and the least of all.",
            f"Stopping jobs saves {_hours(more)} beyond the best order here "
            f"(<code>{stopping}</code>), of this part and of the one above."
            if stopping
            else "",
        ),
        (
            least,
            "The load forces this: no scheduler avoids it, even if it knows the future and stops "
            "jobs at no cost; only more GPUs or less work do.",
            "",
        ),
    )
    middle, high = np.percentile(study.waits[study.today], (50, 95))
    lines = [
        f"<p>Under <code>{study.today}</code> ({escape(SCHEDULERS[study.today])}), which stands "
        f"for today's scheduler, a job waits <b>{_hours(today)}</b> on average (median "
        f"{_hours(middle)}, 95% of the jobs at most {_hours(high)}). Of that:</p>"
    ]
    for hours, words, shown in parts:
        share = 100 * hours / today if today > 0 else 0.0
        lines.append(
            f'<div class="part"><div style="width: {share:.1f}%"></div>'
            f"<b>{_hours(hours)} a job ({share:.0f}%).</b> {words} {shown}</div>"
        )
    return "".join(lines)


def _schedulers(study: Study) -> str:
    headings = ("scheduler", "waiting: mean", "median", "95%", "turnaround: mean", "median", "95%")
    rows = []
    for name, run in study.runs.items():
        values = (study.waits[name], study.waits[name] + study.lengths)
        hours = [_number(value) for each in values for value in quantiles(each)]
        stops = f"{run.records.preemptions / len(study.jobs):.1f}"
        rows.append((name, *hours, f"{run.metrics.utilisation:.0%}", stops))
    words = "".join(
        f"<li><code>{escape(name)}</code>: {escape(SCHEDULERS.get(name, POLICIES[name].summary))}"
        f"{' (today)' if name == study.today else ''}</li>"
        for name in study.runs
    )
    table = html_table((*headings, "GPUs in use", "stops per job"), rows)
    return f"<p>Hours per job; turnaround is from submission to end.</p>{table}<ul>{words}</ul>"


def _classes(study: Study, kind: str, classes: Sequence[Class]) -> str:
    """Median and 95% of waiting by class, a column a scheduler."""
    rows = [
        (
            each.name,
            f"{each.jobs.sum():,}",
            f"{(study.jobs.gpus * study.lengths)[each.jobs].sum():,.0f}",
            *(_two(study.waits[name][each.jobs]) for name in study.runs),
        )
        for each in classes
    ]
    table = html_table((kind, "jobs", "GPU hours", *study.runs), rows)
    return f"<p>Hours of waiting: median / 95%. Turnaround: <code>{FILES[3]}</code>.</p>{table}"


def _calibration(study: Study) -> str:
    real = study.real_waits
    if real is None:
        return "<p>The trace has no real start times, so nobody can tell.</p>"
    started = ~np.isnan(real)
    rows = [
        (
            each.name,
            f"{chosen.sum():,}",
            _two(real[chosen]),
            *(_two(study.waits[name][chosen]) for name in USUAL),
        )
        for each in classes_by_size(study)
        if (chosen := started & each.jobs).any()
    ]
    truth, replay = float(real[started].mean()), float(study.waits[study.today][started].mean())
    ratio = replay / truth if truth > 0 else np.inf
    verdict = (
        "The replay is close to what happened."
        if CLOSE[0] <= ratio <= CLOSE[1] or max(truth, replay) < 0.01
        else "The replay is <b>far off</b>: read the hours of this page as those of a simulated "
        "cluster, not of yours. Is the number of GPUs right? Were there quotas, reserved "
        "servers or jobs that the trace lacks?"
    )
    return (
        f"<p>{started.sum():,} of {len(real):,} jobs have a real start. They really waited "
        f"{_hours(truth)} on average; replayed under <code>{study.today}</code>, the nearer of "
        f"{' and '.join(f'<code>{name}</code>' for name in USUAL)}, they wait {_hours(replay)}: "
        f"{'no' if not np.isfinite(ratio) else f'{ratio:.2f}'} times as long. {verdict}</p>"
        + "<p>Hours of waiting: median / 95%.</p>"
        + html_table(("GPUs", "jobs", "real", *(f"replay: {name}" for name in USUAL)), rows)
    )


def _appendix(study: Study) -> str:
    first = next(iter(study.runs.values()))
    notes = [
        "Waiting is flow time minus the job's length. Schedulers are policies of <code>optsched "
        "simulate</code> with offers best-fit-last; every run passed its audit.",
        "Limits are lower bounds on the total flow time: without preemption the largest of the "
        "flow bounds and the gang bound, with it the fast machine's and the mean busy time's. A "
        "bound may be too low, never too high, so the first two parts are upper limits.",
        "Lengths of jobs are predicted from ended jobs of the same group (online-group-mean). "
        "EASY backfills by the user's time limit where there is one.",
        f"tau {first.records.options.tau:g}, checkpoint 30 s, rounds of 360 s.",
        *map(escape, study.subject.remarks),
        f"Written by optsched {escape(__version__)}.",
    ]
    items = "".join(f"<li>{text}</li>" for text in notes)
    return f"<details><summary>Terms and methods</summary><ul>{items}</ul></details>"


CSV_HEADER = (
    *("scheduler", "class", "value", "jobs", "gpu_hours"),
    *(
        f"{what}_{how}_hours"
        for what in ("wait", "turnaround")
        for how in ("mean", "median", "p95")
    ),
)


def _csv_rows(study: Study, classes: Sequence[Class]) -> Iterable[tuple[Any, ...]]:
    waits = dict(study.waits)
    if study.real_waits is not None:
        waits["real"] = study.real_waits
    for name, wait in waits.items():
        for each in classes:
            chosen: Bools = each.jobs & ~np.isnan(wait)
            if chosen.any():
                gpu_hours = float((study.jobs.gpus * study.lengths)[chosen].sum())
                values = (*quantiles(wait[chosen]), *quantiles((wait + study.lengths)[chosen]))
                yield (name, each.kind, each.name, int(chosen.sum()), gpu_hours, *values)


def _picture(file: str, words: str) -> str:
    return f'<figure><img src="{file}" alt="{words}"></figure>'


def _two(hours: Floats) -> str:
    middle, high = np.percentile(hours, (50, 95))
    return f"{_number(middle)} / {_number(high)}"


def _number(hours: float) -> str:
    digits = 0 if abs(hours) >= 100 else 1 if abs(hours) >= 10 else 2
    return f"{hours:,.{digits}f}"


def _hours(hours: float) -> str:
    return f"{_number(hours)} hours"
