"""What `simulate` prints for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from optsched.cli.show import console, note

if TYPE_CHECKING:
    from optsched.online.policies.by_name import Settings
    from optsched.online.prediction.predictors import Prediction, PredictionReport
    from optsched.online.runs import Run


def simulated(
    prediction: Prediction, names: list[str], settings: Settings, bound: bool, audit: bool
) -> tuple[list[Run], bool]:
    """Run policies with a progress bar; returns the runs and whether they were interrupted."""
    from optsched.online.runs import run_policies

    done: list[Run] = []
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f} of {task.total:.0f} jobs"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks = {name: bar.add_task(name, total=len(prediction.jobs)) for name in names}
        try:
            for run in run_policies(
                prediction,
                names,
                settings,
                with_bounds=bound,
                with_audit=audit,
                progress=lambda name, started, _: bar.update(tasks[name], completed=started),
            ):
                done.append(run)
        except KeyboardInterrupt:
            note(f"interrupted between runs: {len(done)} of {len(names)} policies are done")
            return done, True
    interrupted = bool(done) and not done[-1].records.complete
    if interrupted:
        note(f"interrupted: {done[-1].metrics.jobs} jobs of {done[-1].records.policy} had started")
    return done, interrupted


def prediction_line(report: PredictionReport, fits: int) -> None:
    """How good the prediction was, in a line."""
    console().print(
        f"predictor {report.name}: mean absolute error {report.mean_absolute_error:.4g} "
        f"iterations, {100 * report.within_tenth:.1f}% within 10%, "
        f"{100 * report.exact:.1f}% exact, {100 * report.unseen:.1f}% at 0; "
        f"{report.training_jobs} training jobs, {fits} fits in "
        f"{report.fit_time:.2f} s",
        markup=False,
    )


def runs_table(runs: Sequence[Run]) -> None:
    """The runs side by side, then what holds for all of them."""
    if not runs:
        return
    made = Table()
    made.add_column("policy", no_wrap=True)
    for heading in (
        "offer", "hold", "mean flow s", "p95 s", "slowdown", "inflation", "fragm. %", "util. %",
        "makespan s", "excess %", "audit", "engine s",
    ):  # fmt: skip
        made.add_column(heading, justify="right", no_wrap=True)
    for run in runs:
        m, settings = run.metrics, run.records.settings
        made.add_row(
            run.records.policy if run.records.complete else f"{run.records.policy} (part)",
            settings.offer or "",
            settings.hold or "",
            f"{m.mean_flow_time:.1f}",
            f"{m.flow_percentiles.get('95', 0.0):.1f}",
            f"{m.mean_slowdown:.3f}",
            f"{m.inflation:.3f}",
            f"{100 * m.fragmentation:.1f}",
            f"{100 * m.utilisation:.1f}",
            f"{m.makespan:.0f}",
            "-" if run.excess is None else f"{100 * run.excess:.2f}",
            _verdict(run),
            f"{run.engine_time:.3f}",
        )
    out = console()
    out.print(made)
    _footer(out, runs)


def _verdict(run: Run) -> str:
    if run.violations is None:
        return "-"
    return "clean" if not run.violations else f"{len(run.violations)} BROKEN"


def _footer(out: Console, runs: Sequence[Run]) -> None:
    first = runs[0]
    load = "-" if first.jobs.load is None else f"{first.jobs.load:.3f}"
    s = first.records.settings
    out.print(
        f"{first.metrics.jobs} jobs on {first.jobs.cluster.servers} x "
        f"{first.jobs.cluster.gpus_per_server} GPUs, load {load}; tau {s.tau:g}, "
        f"COMM_HEAVY {s.comm_heavy:g}, slot {s.slot:g} s; compiled code loaded in "
        f"{first.compile_time:.2f} s",
        markup=False,
    )
    bounds = next((run.bounds for run in runs if run.bounds is not None), None)
    if bounds is not None:
        jobs = max(len(first.jobs), 1)
        out.print(
            f"bounds on the mean flow (s): durations {bounds.durations / jobs:.1f}, fast machine "
            f"{bounds.fast_machine / jobs:.1f}, mean busy time {bounds.mean_busy_time / jobs:.1f}, "
            f"capacity dual {bounds.capacity_dual / jobs:.1f}; excess is over the best",
            markup=False,
        )
    theorem = next((run.theorem for run in runs if run.theorem is not None), None)
    if theorem is not None:
        ratio = "undefined: a job needs the whole cluster"
        if theorem.ratio is not None:
            ratio = f"{theorem.ratio:.4g} times the optimal total completion time"
        out.print(f"Theorem 1 allows A-SRPT {ratio}", markup=False)
    for run in runs:
        for violation in (run.violations or ())[:5]:
            out.print(f"{run.records.policy}: {violation}", markup=False)
