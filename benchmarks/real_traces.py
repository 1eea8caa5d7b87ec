"""A-SRPT, its baselines and others on real traces: does the claim hold where jobs are not drawn?

    OPTSCHED_DATA=DIR python benchmarks/real_traces.py [--page docs/real-traces.md]
        [--figure docs/real-traces.png] [--windows 10] [--only philly,muri-1]

On real traces A-SRPT is below every baseline of the paper in at least half of the windows when it
knows the true lengths, and in fewer than half when it predicts them.

**Windows.** Philly, Muri, Chronus and Gavel's trace are in DIR/traces. Each has ten windows at
even distances: stretches of up to 2,000 consecutive jobs (90% of short traces). The predictor
learns from the first half of a window, and the second half is scheduled from an empty cluster.

**Settings.** *As it is* keeps the trace's times, on a cluster of 8-GPU servers that the whole
trace keeps 80% busy. *Load 0.8* and *load 2* scale the window's times to that {term}`load` on 25
servers of 8 GPUs. Models and their configurations, which traces do not state, are drawn by group
as in a-srpt; the NIC has 10 Gbit/s. Gavel's trace states steps: a duration is the steps over the
measured throughput of the job type alone on V100s, and jobs without a measured throughput are
left out.

**Values.** A value is the mean {term}`flow time` over that of the paper's best baseline in the
same window; below 1 is better. Every run is audited. Policies that stop jobs run in every second
window: a job that resumes loses 30 s, and las and max-min decide every 360 s without lengths. The
last table removes parts of A-SRPT, with the true lengths known.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np

from optsched.experiments.statistics import spread
from optsched.online.audit import audit
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.jobs import prepare_jobs
from optsched.online.metrics import compute_metrics
from optsched.online.policies.by_name import PAPER, POLICIES, Policy
from optsched.online.prediction.predictors import Prediction, predict, report
from optsched.online.simulator.engine import simulate_online
from optsched.online.traces.importing import import_trace, workload_of_trace
from optsched.online.traces.trace import Trace
from optsched.plotting.axes import COLOURS, NOTE_COLOUR, house_style, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRACES = {
    "philly": ("philly-csv", "philly_sia.csv.gz"),
    **{f"muri-{n}": ("muri", f"muri_trace{n}.csv.gz") for n in (1, 2, 3, 4)},
    "chronus": ("chronus", "chronus_philly_MIX1.csv.gz"),
    "gavel": ("gavel", "gavel_msr_seed0_11cb48.trace"),
}
"""Format and file; sources and licences are beside the files."""
WINDOW, SERVERS, GPUS = 2000, 25, 8
BUSY, COMPRESSED = 0.8, (0.8, 2.0)
KNOWN = {"the group's mean so far": "online-group-mean", "the true length": "perfect"}
TRUE = "the true length"
"""What policies know of a job, and the predictor's name."""
BASELINES = PAPER[2:]
OTHERS = ("a-srpt", "a-srpt-backfill", "srpt-workload-hold", "fifo", "easy")
PREEMPTIVE, BLIND = ("las", "max-min", "srpt-preemptive"), ("las", "max-min")
"""Policies that stop jobs, and those of them that know nothing of lengths."""
FLOW_INTRO = """\
The first table has the flow time over that of the best baseline with the same predictions; las and
max-min are compared with baselines that know the true lengths. All three policies take the servers
with most free GPUs first and put the last piece on the smallest server that holds it
(`best-fit-last`); the paper's baselines put it on the next server (`most`)."""
INFLATION_INTRO = """\
The second table has the inflation: the GPU time of the jobs over that of good placements, the
median with true lengths. las and max-min place a job anew at each of its turns; srpt-preemptive
keeps its placement until another job stops it."""
PARTS_INTRO = """\
The tables show A-SRPT, A-SRPT without one of its parts, and policies between it and
srpt-workload-hold, at load 2 and with the true lengths known. The first table has the traces of
production clusters and of Gavel, the second those of Muri."""
APART = {
    "a-srpt": POLICIES["a-srpt"],
    "a-srpt without delays": Policy("no delay", "", virtual=True, offer="adaptive"),
    "a-srpt without the virtual machine": Policy(
        "no machine", "", order="duration", delays=True, offer="adaptive"
    ),
    "virtual machine orders by workload, no delays": Policy(
        "releases", "", virtual=True, order="workload", offer="best-fit-last"
    ),
    "the same, heavy jobs wait (srpt-workload-hold)": POLICIES["srpt-workload-hold"],
    "order by workload, heavy jobs wait, no virtual machine": Policy(
        "hold", "", order="workload", delays=True, offer="best-fit-last", hold="inf"
    ),
    "order by workload only (spwf)": POLICIES["spwf"],
}
"""A-SRPT, its parts, and the policies between it and srpt-workload-hold."""


@dataclass(frozen=True)
class Case:
    """The jobs of one window under one regime."""

    trace: str
    regime: str
    window: int
    predictions: Mapping[str, Prediction]


def main() -> int:
    """Run the windows; print the page, or write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", type=Path)
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--windows", type=int, default=10)
    parser.add_argument("--only", default=",".join(TRACES))
    arguments = parser.parse_args()
    folder = os.environ.get("OPTSCHED_DATA")
    if folder is None:
        print(
            "real_traces: OPTSCHED_DATA: not set, expected a folder with traces/", file=sys.stderr
        )
        return 2
    rows: list[Row] = []
    for name in arguments.only.split(","):
        file_format, file = TRACES[name]
        speeds = Path(folder) / "measured" / "gavel_throughputs.json.gz"
        throughputs = speeds if file_format == "gavel" else None
        trace = import_trace(file_format, Path(folder) / "traces" / file, throughputs=throughputs)
        for case in cases(name, trace, arguments.windows):
            rows += rows_of(case)
        print(f"{name}: {len(rows)} runs so far, all audited", file=sys.stderr, flush=True)
    text = page(rows)
    if arguments.page is None:
        print(text)
    else:
        arguments.page.write_text(text, encoding="utf-8")
    if arguments.figure is not None:
        draw(rows, arguments.figure)
    return 0


# --- windows


def cases(name: str, trace: Trace, windows: int) -> Iterator[Case]:
    """The windows of a trace, as they are and compressed."""
    workload, catalogue = workload_of_trace(trace)
    workload = workload.in_row_order()
    everything = prepare_jobs(workload, catalogue, OnlineCluster.of(2**12, GPUS))
    busy = float((everything.gpus * everything.iterations * everything.estimate).sum())
    needed = busy / float(everything.submit[-1])  # GPUs, on average
    own = max(-(-int(trace.gpus.max()) // GPUS), round(needed / BUSY / GPUS))
    size = min(WINDOW, int(0.9 * len(workload)))
    for window, first in enumerate(np.linspace(0, len(workload) - size, windows).astype(int)):
        chosen = workload.rows(np.arange(first, first + size))
        small = OnlineCluster.of(SERVERS, GPUS)
        load = prepare_jobs(chosen, catalogue, small).after(size // 2).load
        assert load is not None
        begin = chosen.submit_time[0]
        regimes = {f"as it is, {own} x {GPUS}": (1.0, OnlineCluster.of(own, GPUS))}
        regimes |= {f"load {wanted:g}": (load / wanted, small) for wanted in COMPRESSED}
        for regime, (stretch, cluster) in regimes.items():
            submit = begin + (chosen.submit_time - begin) * stretch
            jobs = prepare_jobs(replace(chosen, submit_time=submit), catalogue, cluster)
            known = {
                said: predict(jobs, predictor, training_share=0.5, unseen="zero")
                for said, predictor in KNOWN.items()
            }
            yield Case(name, regime, window, known)


# --- runs


@dataclass(frozen=True)
class Row:
    """One policy on one case."""

    trace: str
    regime: str
    window: int
    known: str
    policy: str
    flow: float
    load: float
    unseen: float
    inflation: float = 1.0


def rows_of(case: Case) -> Iterator[Row]:
    """Every policy with each kind of knowledge; and A-SRPT's parts with the true lengths.

    Those that stop jobs in every second window, and once if they use no knowledge.
    """
    for said, prediction in case.predictions.items():
        named = {name: POLICIES[name] for name in (*BASELINES, *OTHERS)}
        if said == TRUE:
            named |= APART
        if case.window % 2 == 0:
            stops = (name for name in PREEMPTIVE if said == TRUE or name not in BLIND)
            named |= {name: POLICIES[name] for name in stops}
        unseen = report(prediction).unseen
        for label, policy in named.items():
            jobs = prediction.jobs
            records = simulate_online(jobs, policy, prediction.iterations)
            check = audit(jobs, records, predicted=prediction.iterations)
            assert check.feasible, (case.trace, case.window, label, check)
            metrics = compute_metrics(records)
            yield Row(
                case.trace,
                case.regime,
                case.window,
                said,
                label,
                metrics.mean_flow_time,
                jobs.load or 0.0,
                unseen,
                metrics.inflation,
            )


# --- tables


def page(rows: Sequence[Row]) -> str:
    """The page: what it shows, then a table a kind of knowledge, then the parts."""
    lines = [
        "<!-- generated by `python benchmarks/real_traces.py --page docs/real-traces.md --figure "
        "docs/real-traces.png`; do not edit -->",
        "# Real traces",
        "",
        (__doc__ or "").partition("\n\n")[2].partition("\n\n")[2].strip(),
        "",
        "Cells are medians over windows [range]; *wins* counts windows in which A-SRPT is below "
        "every baseline.",
        "",
        "![Mean flow time over the best baseline's, one dot per window](real-traces.png)",
        "",
        "The table counts the windows in which a policy is below every baseline:",
        "",
        *_in_short(rows),
        "",
        "## Windows",
        "",
        "*Unseen* is the share of jobs whose group the predictor has not seen.",
        "",
        *_windows(rows),
    ]
    for said in KNOWN:
        lines += ["", f"## Policies know {said}", "", *_table(rows, said)]
    lines += ["", "## Policies that stop jobs", "", *_stopping(rows)]
    lines += ["", "## Parts of A-SRPT", "", PARTS_INTRO, "", *_parts(rows)]
    return "\n".join([*lines, ""])


def _in_short(rows: Sequence[Row]) -> list[str]:
    """How often a policy is below every baseline, by regime and what is known."""
    kinds = list(dict.fromkeys(regime.partition(",")[0] for _, regime in _regimes(rows)))
    lines = [
        f"| below every baseline | {' | '.join(kinds)} |",
        "|---|" + "---:|" * len(kinds),
    ]
    for name in ("a-srpt", "srpt-workload-hold"):
        for said in KNOWN:
            cells = [f"{name}, knowing {said}"]
            for kind in kinds:
                values = [
                    value
                    for trace, regime in _regimes(rows)
                    if regime.startswith(kind)
                    for value in _over_best(_of(rows, trace, regime, said), name)
                ]
                cells.append(f"{sum(value < 1 for value in values)} of {len(values)}")
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def _of(rows: Sequence[Row], trace: str, regime: str, said: str) -> list[Row]:
    return [r for r in rows if (r.trace, r.regime, r.known) == (trace, regime, said)]


def _windows(rows: Sequence[Row]) -> list[str]:
    """The load of each trace's windows, and the share of jobs of unseen groups."""
    lines = ["| trace | load | unseen |", "|---|---:|---:|"]
    for trace, regime in _regimes(rows):
        chosen = _of(rows, trace, regime, next(iter(KNOWN)))
        own = [r for r in chosen if r.policy == "a-srpt"]
        unseen = f"{median(r.unseen for r in own):.0%}"
        lines.append(f"| {trace}, {regime} | {spread([r.load for r in own])} | {unseen} |")
    return lines


def _table(rows: Sequence[Row], said: str) -> list[str]:
    heads = ["trace", *OTHERS, "wins"]
    lines = [f"| {' | '.join(heads)} |", "|---|" + "---:|" * (len(heads) - 1)]
    for trace, regime in _regimes(rows):
        chosen = _of(rows, trace, regime, said)
        each = {name: _over_best(chosen, name) for name in OTHERS}
        own = [r for r in chosen if r.policy == "a-srpt"]
        cells = [f"{trace}, {regime}", *(spread(each[name]) for name in OTHERS)]
        cells.append(f"{sum(value < 1 for value in each['a-srpt'])} of {len(own)}")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _stopping(rows: Sequence[Row]) -> list[str]:
    """Flow times over the best baseline, then GPU time over that of good placements."""
    compared = [(name, TRUE) for name in (*BLIND, "srpt-preemptive")]
    compared.append(("srpt-preemptive", next(iter(KNOWN))))
    heads = [name if name in BLIND else f"{name}, knowing {said}" for name, said in compared]
    inflated = (*BLIND, "srpt-preemptive", "wcs-workload", "a-srpt")
    flows = [f"| trace | {' | '.join(heads)} |", "|---|" + "---:|" * len(heads)]
    inflations = [f"| trace | {' | '.join(inflated)} |", "|---|" + "---:|" * len(inflated)]
    for trace, regime in _regimes([row for row in rows if row.policy in PREEMPTIVE]):
        windows = {r.window for r in _of(rows, trace, regime, TRUE) if r.policy in PREEMPTIVE}
        cells = []
        for name, said in compared:
            chosen = [r for r in _of(rows, trace, regime, said) if r.window in windows]
            cells.append(spread(_over_best(chosen, name)))
        flows.append(f"| {trace}, {regime} | {' | '.join(cells)} |")
        chosen = [r for r in _of(rows, trace, regime, TRUE) if r.window in windows]
        cells = [
            f"{median(r.inflation for r in chosen if r.policy == name):.2f}" for name in inflated
        ]
        inflations.append(f"| {trace}, {regime} | {' | '.join(cells)} |")
    return [FLOW_INTRO, "", *flows, "", INFLATION_INTRO, "", *inflations]


def _parts(rows: Sequence[Row]) -> list[str]:
    regimes = [(t, r) for t, r in _regimes(rows) if r == f"load {COMPRESSED[-1]:g}"]
    lines = list[str]()
    for part in ([r for r in regimes if r[0].startswith("muri") == muri] for muri in (False, True)):
        heads = ["policy", *(trace for trace, _ in part)]
        lines += ["", f"| {' | '.join(heads)} |", "|---|" + "---:|" * len(part)]
        for label in APART:
            cells = (spread(_over_best(_of(rows, *key, TRUE), label)) for key in part)
            lines.append(f"| {' | '.join([label, *cells])} |")
    return lines[1:]


def _regimes(rows: Sequence[Row]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((row.trace, row.regime) for row in rows))


def _over_best(rows: Sequence[Row], label: str) -> list[float]:
    """By window: a policy's mean flow over the best baseline's."""
    found = {(row.window, row.policy): row.flow for row in rows}
    windows = sorted({row.window for row in rows})
    return [found[w, label] / min(found[w, rival] for rival in BASELINES) for w in windows]


def draw(rows: Sequence[Row], path: Path) -> None:
    """A panel a kind of knowledge: a row a trace, a dot a window, A-SRPT and the one beyond it."""
    with house_style():
        _drawn(rows).savefig(path)


def _drawn(rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    regimes = _regimes(rows)
    figure = Figure(figsize=(9, 1.5 + 0.42 * len(regimes)), layout="constrained")
    panels = figure.subplots(1, len(KNOWN), sharey=True)
    for ax, said in zip(panels, KNOWN, strict=True):
        for place, (trace, regime) in enumerate(regimes):
            chosen = _of(rows, trace, regime, said)
            for shift, name, colour in zip((-0.22, 0, 0.22), OTHERS[:3], COLOURS, strict=False):
                values = _over_best(chosen, name)
                label = name if place == 0 else None
                ax.scatter(values, [place + shift] * len(values), s=14, color=colour, label=label)
        ax.axvline(1.0, color=NOTE_COLOUR, linewidth=1)
        ax.set_xscale("log")
        ax.set_title(f"policies know {said}")
        ax.set_xlabel("mean flow time over\nthe best baseline's")
        ax.set_ylim(len(regimes) - 0.5, -0.5)
        ax.set_yticks(range(len(regimes)), [f"{t}, {r.split(',')[0]}" for t, r in regimes])
    legend_below(figure, panels[0])
    return figure


if __name__ == "__main__":
    sys.exit(main())
