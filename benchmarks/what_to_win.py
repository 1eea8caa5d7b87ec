"""A page on what a better scheduler would win on a trace: three numbers and a picture.

    python benchmarks/what_to_win.py philly-csv DIR/traces/philly_sia.csv.gz --servers 60
        [--page docs/philly.md --figure docs/philly.png]

The whole trace runs on servers of 8 GPUs with NICs of 10 Gbit/s under each of `POLICIES`; all offer
GPUs best-fit-last, so that none loses by scattering its jobs. Policies predict a job's length from
the jobs that have ended. Every run is audited.
"""

import argparse
import sys
from pathlib import Path

from optsched.online.data.cluster import OnlineCluster
from optsched.online.instance import OnlineInstance
from optsched.online.options import OnlineOptions
from optsched.online.policies.by_name import PolicyOptions
from optsched.online.prediction.predictors import predict_instance
from optsched.online.runs import Run, run_policies
from optsched.online.traces import FORMATS
from optsched.online.traces.importing import import_trace, workload_of_trace

POLICIES = {
    "fifo": "first in, first out, strictly",
    "easy": "the same with EASY backfilling",
    "spwf": "smallest predicted workload first",
    "a-srpt": "A-SRPT, the paper's",
    "srpt-workload-hold": "ours: its releases by workload, heavy jobs hold",
    "las": "least attained service: jobs are stopped and resumed",
}
TODAY, BEST_WITHOUT_PREEMPTION, BEST_PREEMPTIVE = "easy", "srpt-workload-hold", "las"


def main() -> int:
    """Run the policies; print the page, or write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("format", choices=sorted(FORMATS))
    parser.add_argument("trace", type=Path)
    parser.add_argument("--servers", type=int, required=True)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--figure", type=Path)
    arguments = parser.parse_args()
    cluster = OnlineCluster.of(arguments.servers)
    trace = import_trace(arguments.format, arguments.trace)
    workload, catalogue = workload_of_trace(trace, reference=cluster)
    instance = OnlineInstance(workload, catalogue, cluster)
    options = PolicyOptions(offer="best-fit-last")
    runs = list(
        run_policies(
            predict_instance(instance, OnlineOptions(), 0),
            list(POLICIES),
            options,
            with_bounds=True,
            with_audit=True,
        )
    )
    text = page(arguments.format, arguments.trace.name, instance, runs)
    if arguments.page is None:
        print(text)
    else:
        arguments.page.write_text(text, encoding="utf-8")
    if arguments.figure is not None:
        draw(runs, arguments.figure)
    return 0


def hours(run: Run) -> float:
    """Mean time from submission to end."""
    return run.metrics.mean_flow_time / 3600


def bound_hours(run: Run) -> float:
    """Lower bound on the mean time, with or without preemption as the run has it."""
    assert run.bounds is not None
    preempts = run.records.policy == BEST_PREEMPTIVE
    total = run.bounds.best_preemptive if preempts else run.bounds.best
    return total / run.metrics.jobs / 3600


def page(kind: str, name: str, instance: OnlineInstance, runs: list[Run]) -> str:
    """The page in Markdown."""
    assert all(run.check is not None and run.check.feasible for run in runs)
    by_policy = {run.records.policy: run for run in runs}
    cluster = instance.cluster
    today, best, preemptive = (
        hours(by_policy[policy]) for policy in (TODAY, BEST_WITHOUT_PREEMPTION, BEST_PREEMPTIVE)
    )
    bound = bound_hours(by_policy[TODAY])
    factor = best / bound_hours(by_policy[BEST_WITHOUT_PREEMPTION])
    busy = 100 * by_policy[TODAY].jobs.load
    days = (instance.workload.submit_time.max() - instance.workload.submit_time.min()) / 86400
    rows = "\n".join(
        f"| `{policy}` | {description} | {hours(run):.1f} | {run.metrics.mean_slowdown:,.1f} "
        f"| {hours(run) / bound_hours(run):.1f} | {100 * (run.metrics.inflation - 1):.0f}% "
        f"| {run.records.preemptions / run.metrics.jobs:.1f} |"
        for (policy, description), run in zip(POLICIES.items(), runs, strict=True)
    )
    command = f"python benchmarks/what_to_win.py {kind} {name} --servers {cluster.servers}"
    return f"""# {name}: what would a better scheduler win?

Written by `{command} --page docs/philly.md
--figure docs/philly.png`; do not edit.

{len(instance.workload):,} jobs of {days:.0f} days, on {cluster.servers} servers of
{cluster.gpus_per_server} GPUs, which they keep {busy:.0f}% busy when each
runs where it runs fastest. The steps, with any trace that `optsched import --help` lists:

```text
optsched import {kind} {name} -o mine/workload.csv
optsched simulate mine --policy {",".join(POLICIES)} \\
    --offer best-fit-last --bound --audit
```

The import writes `catalogue.json` and `cluster.json` beside the workload; put the number of your
servers into the latter. Mean time from submission to end; *scattering* is what it adds to the jobs'
own lengths:

| policy | what it does | hours a job | mean slowdown | times its bound | scattering | stops a job |
|---|---|---|---|---|---|---|
{rows}

![Hours a job under each policy, and the bound below which none can be](philly.png)

**Three numbers.** First come, first served with backfilling, what most clusters run, takes
**{today:.0f} hours** a job. A scheduler that stops no job and knows no length beforehand takes
**{best:.0f} hours**; one that stops and resumes them, at 30 s a time, {preemptive:.0f}. No schedule
without preemption is below **{bound:.1f} hours**, not even one that knows all jobs
in advance: at most a factor of {factor:.1f} is left to win there.

What to make of it: the trace says how many GPUs a job had and for how long, not which model it
trained. Models are drawn, one a group of jobs; the length in the trace is taken as that on the
best placement, and a job whose replicas are scattered takes longer than that, by the cost model of
placement. The orders that start whatever fits lose by that; A-SRPT keeps its jobs together
and loses by what waits behind one that it delays.
Set `inter_bandwidth` in `mine/cluster.json` to your network's before you believe a number.
"""


def draw(runs: list[Run], path: Path) -> None:
    """A bar a policy, and the two bounds."""
    from matplotlib import pyplot as plt

    from optsched.plotting.axes import COLOURS, FAINT, WIDTH, add_heading, house_style

    with house_style():
        figure, ax = plt.subplots(figsize=(WIDTH, 3.4), layout="constrained")
        names = [f"{run.records.policy}" for run in runs]
        values = [hours(run) for run in runs]
        ax.plot(values, names, "o", color=COLOURS[0])
        for name, value in zip(names, values, strict=True):
            ax.annotate(f"{value:.0f} h", (value, name), (7, -3), textcoords="offset points")
        marks = ("jobs run on", "jobs may be stopped")
        for run, said, style in zip((runs[0], runs[-1]), marks, ("-", "--"), strict=True):
            label = f"bound, {said}: {bound_hours(run):.1f} hours"
            ax.axvline(bound_hours(run), color=COLOURS[1], linestyle=style, label=label)
        ax.set_xscale("log")
        ax.set_xlim(right=2 * max(values))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.grid(axis="y", color=FAINT)
        ax.invert_yaxis()
        ax.set_xlabel("mean hours from submission to end")
        add_heading(ax, "What a better scheduler would win")
        figure.savefig(path)
        plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
