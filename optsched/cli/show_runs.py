"""Tables and lines that `simulate` and `roll` print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from optsched.checking import CheckReport
from optsched.cli.show import console, print_in_full, titled
from optsched.display import counted
from optsched.result import NOT_COMPARABLE, ONLY_A_BOUND

if TYPE_CHECKING:
    from optsched.online.prediction.predictors import PredictionReport
    from optsched.online.runs import Run as OnlineRun
    from optsched.rolling.runs import Run as RollingRun


def prediction_line(report: PredictionReport, fits: int) -> None:
    console().print(
        f"predictor {report.name}: mean absolute error {report.mean_absolute_error:.4g} "
        f"iterations, {100 * report.within_tenth:.1f}% within 10%, "
        f"{100 * report.exact:.1f}% exact, {100 * report.unseen:.1f}% unseen; "
        f"{report.training_jobs} training jobs, {fits} fits in "
        f"{report.fit_time:.2f} s",
        markup=False,
    )


def workload_runs(runs: Sequence[OnlineRun]) -> None:
    """Print the runs of `simulate` side by side, then a summary."""
    if not runs:
        return
    table = _policy_table(
        "offer", "hold", "mean flow s", "p95 s", "slowdown", "inflation", "fragm. %", "util. %",
        "makespan s", "excess %", "audit", "engine s",
    )  # fmt: skip
    for run in runs:
        m, options = run.metrics, run.records.options
        table.add_row(
            run.records.policy if run.records.complete else f"{run.records.policy} (interrupted)",
            options.offer or "",
            options.hold or "",
            f"{m.mean_flow_time:.1f}",
            f"{m.flow_percentiles.get('95', 0.0):.1f}",
            f"{m.mean_slowdown:.3f}",
            f"{m.inflation:.3f}",
            f"{100 * m.fragmentation:.1f}",
            f"{100 * m.utilisation:.1f}",
            f"{m.makespan:.0f}",
            _percent(run.excess) if run.comparable else NOT_COMPARABLE,
            _verdict(run.check),
            f"{run.seconds:.3f}",
        )
    bounds = {}
    for run in runs:
        if run.bound is not None:
            suffix = ", preemptive" if run.records.preemptions else ""
            bounds[f"flow-bound{suffix}"] = run.bound / max(len(run.jobs), 1)
    for name, mean in sorted(bounds.items()):
        table.add_row(name, "", "", f"{mean:.1f}", *[""] * 7, ONLY_A_BOUND, "")
    out = console()
    print_in_full(out, table)
    _footer(out, runs)


def rolling_runs(runs: Sequence[RollingRun]) -> None:
    """Print the runs of `roll` side by side, then the load."""
    table = _policy_table(
        "total $", "energy $", "tardiness $", "late", "excess %", "busy %", "decision s",
        "longest ms", "audit",
    )  # fmt: skip
    for run in runs:
        m = run.metrics
        table.add_row(
            run.records.policy,
            f"{m.total_cost:.2f}",
            f"{m.energy_cost:.2f}",
            f"{m.tardiness_cost:.2f}",
            f"{m.late_jobs} of {len(run.records.jobs)}",
            _percent(run.excess),
            " ".join(f"{kind} {100 * share:.0f}" for kind, share in m.utilisation.items()),
            f"{m.decision_time:.2f}",
            f"{1e3 * m.longest_decision:.1f}",
            _verdict(run.check),
        )
    if runs[0].bound is not None:
        table.add_row("clairvoyant-bound", f"{runs[0].bound:.2f}", *[""] * 7, ONLY_A_BOUND)
    out = console()
    print_in_full(out, table)
    out.print(load_line(runs[0].load, runs[0].clairvoyant_utilisation), markup=False)
    for run in runs:
        if run.message is not None:
            out.print(f"{run.records.policy}: {run.message}", markup=False)
    _violations(out, runs)


def load_line(rho: float, plan: dict[str, float]) -> str:
    """Return both measures of a rolling instance's load."""
    shares = ", ".join(f"{kind} {100 * share:.3g}%" for kind, share in plan.items())
    return f"rho = {rho:.3g}; utilisation of the uncapacitated clairvoyant plan: {shares}"


def _policy_table(*headings: str) -> Table:
    return titled("", ["policy", *headings], (), headings)


def _percent(excess: float | None) -> str:
    return "-" if excess is None else f"{100 * excess:.2f}"


def _verdict(check: CheckReport | None) -> str:
    if check is None:
        return "-"
    return "passed" if check.feasible else f"{len(check.violations)} violations"


def _violations(out: Console, runs: Sequence[OnlineRun | RollingRun]) -> None:
    for run in runs:
        for violation in () if run.check is None else run.check.violations[:5]:
            out.print(f"{run.records.policy}: {violation}", markup=False)


def _footer(out: Console, runs: Sequence[OnlineRun]) -> None:
    from optsched.online.runs import preemption_details

    first = runs[0]
    load = "-" if first.jobs.load is None else f"{first.jobs.load:.3f}"
    options = first.records.options
    out.print(
        f"{first.metrics.jobs} jobs on {first.jobs.cluster.servers} x "
        f"{first.jobs.cluster.gpus_per_server} GPUs, load {load}; tau {options.tau:g}, "
        f"comm_heavy {options.comm_heavy:g}, slot {options.slot:g} s (timings exclude "
        f"{first.compile_time:.2f} s of loading compiled code)",
        markup=False,
    )
    for run in runs:
        if counts := preemption_details(run.records):
            options = run.records.options
            rounds = "" if options.round is None else f", rounds of {options.round:g} s"
            stops = counted(int(counts["preemptions"]), "preemption")
            out.print(
                f"{run.records.policy}: {stops}{rounds}; {options.restore:g} s per resume, "
                f"{counts['restoring'] / 3600:.1f} GPU-hours in total",
                markup=False,
            )
    bounds = next((run.bounds for run in runs if run.bounds is not None), None)
    if bounds is not None:
        jobs = max(len(first.jobs), 1)
        out.print(
            f"bounds on the mean flow (s): durations {bounds.durations / jobs:.1f}, fast machine "
            f"{bounds.fast_machine / jobs:.1f}, mean busy time {bounds.mean_busy_time / jobs:.1f}, "
            f"capacity dual {bounds.capacity_dual / jobs:.1f}; excess: over the best valid bound",
            markup=False,
        )
    theorem = next((run.theorem for run in runs if run.theorem is not None), None)
    if theorem is not None:
        out.print(theorem.sentence, markup=False, soft_wrap=True)
    _violations(out, runs)
