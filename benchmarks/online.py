"""Online: seconds, memory and spread of the simulator, one process, one core.

    python benchmarks/online.py [--runs 5] [--only CASE[,CASE]] [--policies P[,P]]

Cases: compile (a first process with an empty compile cache against a second one), paper (150,000
jobs on 250 x 8 GPUs, every policy), servers (30,000 jobs at 250, 2,500 and 25,000 servers, same
load), python (the plain-Python protocol against the compiled loop on the same policy and jobs),
command (`optsched simulate` on 1,000 jobs in new processes), predictors; million (1,000,000 jobs,
seeds 0 to 4: generated, prepared and run by every policy), memory (peaks of one and five million),
bound (how far the bound on total flow is from the best policy, and why), flow (total flow of the
best policy over others', 30,000 jobs on 250 x 8 GPUs).
Workloads come from the generator at its defaults (load 0.8; seed 0, for paper also seeds 1 to 19,
one run each), predictions are those of `optsched simulate` by default: online group means, and of
a job like none known the mean of all. Times are medians with [min-max]; every run of a row gives
the same records. Memory is the peak resident set of a process of its own that does the case once,
from workload file in memory to records.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from bisect import insort
from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("NUMBA_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from machine import peak_memory

from optsched.generators.online import WorkloadShape, generate_workload
from optsched.methods import warm_up
from optsched.online.bounds.flow import flow_bounds
from optsched.online.bounds.gang import gang_bound
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.configuration_draw import ConfigurationDrawer
from optsched.online.data.jobs import Jobs, prepare_jobs
from optsched.online.policies.by_name import PAPER, POLICIES, PolicyOptions
from optsched.online.prediction.predictors import FITTED, ONLINE, predict, report
from optsched.online.simulator.engine import simulate_online
from optsched.online.simulator.own_policy import View, simulate_policy
from optsched.online.traces.importing import import_trace, workload_of_trace

SEED, SEEDS, FEW, LOAD, MILLION = 0, 20, 5, 0.8, 1_000_000
CLUSTER = OnlineCluster.of(250)
SHAPE = WorkloadShape(load=LOAD)
CHOSEN: list[str] = []


def main() -> None:
    """Run the cases asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--policies", default="", help="of the cases paper and million")
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory_of:
        _memory_case(arguments.memory_of)
        return
    CHOSEN.extend(name for name in arguments.policies.split(",") if name)
    cases: dict[str, Callable[[int], None]] = {
        "compile": compile_times,
        "command": command,
        "paper": paper,
        "servers": servers,
        "python": python,
        "predictors": predictors,
        "million": million,
        "memory": memories,
        "bound": bound,
        "flow": flow,
    }
    chosen = arguments.only.split(",") if arguments.only else list(cases)
    print(f"one core of {os.cpu_count()}, Python {sys.version.split()[0]}, numpy {np.__version__}")
    for name in chosen:
        print(f"\n{name}", flush=True)
        cases[name](arguments.runs)


def workload(jobs: int, servers_: int, seed: int = SEED) -> tuple[Jobs, np.ndarray]:
    """Jobs of the generator on so many 8-GPU servers, and their online group means."""
    cluster = OnlineCluster.of(servers_)
    made, catalogue = generate_workload(jobs, cluster, SHAPE, seed=seed)
    prepared = prepare_jobs(made, catalogue, cluster)
    return prepared, predict(prepared, "online-group-mean").iterations


def timed(run: Callable[[], object], runs: int) -> str:
    """Median and spread of a call: by the clock, and on the processor (for shared machines)."""
    wall, busy = [], []
    for _ in range(runs):
        began, worked = time.perf_counter(), time.process_time()
        run()
        wall.append(time.perf_counter() - began)
        busy.append(time.process_time() - worked)
    text = f"{median(wall):7.3f} s [{min(wall):.3f}-{max(wall):.3f}]"
    if max(busy) > 0.01:
        text += f", of it on the processor {median(busy):.3f} [{min(busy):.3f}-{max(busy):.3f}]"
    return f"{text} over {runs}"


def every_policy(jobs: int, servers_: int, runs: int, seed: int = SEED) -> None:
    """Each policy on one workload."""
    prepared, predicted = workload(jobs, servers_, seed)
    warm_up("online")
    print(f"  {jobs} jobs, {servers_} x 8 GPUs, load {prepared.load:.3f}, seed {seed}")
    for name in CHOSEN or POLICIES:
        text = timed(lambda name=name: simulate_online(prepared, name, predicted), runs)
        print(f"  {name:20} {text}", flush=True)
    hold = PolicyOptions(hold="inf")
    text = timed(lambda: simulate_online(prepared, "a-srpt", predicted, hold), runs)
    print(f"  {'a-srpt hold=inf':20} {text}")


def paper(runs: int) -> None:
    """The paper's largest run: the first seed so many times, the others once each."""
    for seed in range(SEEDS):
        every_policy(150_000, 250, 1 if seed else runs, seed)
    print(f"  peak memory of a process: {memory(150_000, 250)[-1]:.0f} MB")


def million(runs: int) -> None:
    """A million jobs of seeds 0 to 4: seconds on the processor, and ratios to rivals.

    What laying out the segments of a run that stops jobs takes stands apart: it waits until asked.
    So does such a run on offers that drain the most free GPUs first, as the paper's baselines are
    made, and how many times as much time its jobs spend there.
    """
    warm_up("online")
    generate_workload(100, CLUSTER, SHAPE)  # the models' plans are made once a process
    times: dict[str, list[float]] = {}
    longer: dict[str, list[float]] = {}
    for seed in range(FEW):
        (made, catalogue), spent = busy(
            lambda s=seed: generate_workload(MILLION, CLUSTER, SHAPE, seed=s)
        )
        times.setdefault("generate", []).append(spent)
        prepared, spent = busy(lambda m=made, c=catalogue: prepare_jobs(m, c, CLUSTER))
        times.setdefault("prepare", []).append(spent)
        predicted, spent = busy(lambda p=prepared: predict(p, "online-group-mean"))
        times.setdefault("predict", []).append(spent)
        for name in CHOSEN or POLICIES:
            run = partial(simulate_online, prepared, name, predicted.iterations)
            records, spent = busy(run)
            times.setdefault(name, []).append(spent)
            if name in POLICIES and POLICIES[name].preempts != "never":
                _, spent = busy(lambda kept=records.segments: kept.job)
                times.setdefault(f"{name}, segments", []).append(spent)
                flow_there = float((records.end - prepared.submit).sum())
                records, spent = busy(partial(run, PolicyOptions(offer="most")))
                times.setdefault(f"{name}, most", []).append(spent)
                ratio = float((records.end - prepared.submit).sum()) / flow_there
                longer.setdefault(f"{name}, most", []).append(ratio)
        seconds = ", ".join(f"{name} {row[-1]:.2f}" for name, row in times.items())
        print(f"  seed {seed}, seconds: {seconds}", flush=True)
    simulated = median(median(row) for name, row in times.items() if name in POLICIES)
    for name, row in times.items():
        goal = 3.0 if name == "generate" else 1.0 if name in POLICIES else None
        said = "" if goal is None else f"; target {goal:.0f} s: {_met(median(row) <= goal)}"
        if name in longer:
            ratios = longer[name]
            said = f"; total flow {median(ratios):.3g} [{min(ratios):.3g}-{max(ratios):.3g}] times"
        print(f"  {name:25} median {median(row):.2f} s [{min(row):.2f}-{max(row):.2f}] over {FEW} "
              f"seeds, {median(row) / simulated:.2f} of a median policy's run{said}")  # fmt: skip
    one_by_one = busy(lambda: [np.random.default_rng([0, g, 1]).integers(9) for g in range(20_000)])
    drawer = ConfigurationDrawer(0, CLUSTER)
    groups = [f"g{g}" for g in range(200_000)]
    together = busy(lambda: drawer.draw(groups, np.ones(len(groups), dtype=np.int64)))
    ratio = 10 * one_by_one[1] / together[1]
    print(f"  a group's draw: {1e6 * together[1] / 200_000:.1f} us, {ratio:.0f} times as fast as a "
          "numpy generator for each")  # fmt: skip


def memories(runs: int) -> None:
    """Peaks of processes that generate, prepare, predict and run a policy once.

    max-min is the one that records most: every job by its segments.
    """
    cases = ((1_000_000, "a-srpt", None), (1_000_000, "max-min", None), (5_000_000, "a-srpt", 4096))
    for jobs, policy, most in cases:
        before, own, peak = memory(jobs, 250, policy)
        above = peak - own - before
        goal = (
            f"peak, target {most:.0f} MiB: {_met(peak <= most)}"
            if most
            else (f"above the arrays and Python, target 300 MiB: {_met(above <= 300)}")
        )
        print(f"  {jobs} jobs, {policy}: peak {peak:.0f} MiB; workload's own arrays {own:.0f}, "
              f"Python with its libraries {before:.0f}, what is above both {above:.0f}; "
              f"{2**20 * (peak - before) / jobs:.0f} bytes a job in all; {goal}")  # fmt: skip


def bound(runs: int) -> None:
    """Best policy over the bound, less 1, on 40 x 8 at load 0.8, seeds 0 to 9; and where it goes.

    The gap on predictions is split in two: what knowing the lengths saves, and the rest. Of that,
    so much is no bound's that knows no servers: a schedule of the least lengths on as many GPUs
    takes it, too.
    """
    print("  best policy: of all that stop nothing and know predictions only; each as it is, with "
          "offers\n  best-fit-last, and if it waits for better ones also without a window; "
          "spwf-consolidated for GPUs\n  that make an iteration take at most 1, 1.1 and 1.5 "
          "alpha~ (comm_heavy)")  # fmt: skip
    cluster = OnlineCluster.of(40)
    for jobs in (1_000, 5_000, 20_000):
        rows, seconds = [], []
        for seed in range(10):
            made, catalogue = generate_workload(jobs, cluster, WorkloadShape(load=LOAD), seed=seed)
            prepared = prepare_jobs(made, catalogue, cluster)
            guessed = predict(prepared, "online-group-mean").iterations
            known = min(_flows(prepared, prepared.iterations))[0]
            flows = _flows(prepared, guessed)
            blind, name = min(flows)
            other = min(flow for flow, name in flows if not name.startswith(NEAR))
            usual = next(flow for flow, name in flows if name == NEAR)
            weak = flow_bounds(prepared, known_flow=known).best
            strong, spent = busy(lambda p=prepared, k=known: gang_bound(p, k).value)
            seconds.append(spent)
            least = max(strong, weak)
            split = (blind - known, known - least)
            without = _without_servers(prepared) - least
            placed = float((prepared.iterations * prepared.estimate).sum())
            placed = placed / float(prepared.min_length.sum()) - 1
            gaps = (blind - least, usual - least, other - least, *split, without)
            rows.append([each / least for each in gaps] + [blind / weak - 1, placed])
            now, default, others, *parts, before, slower = (f"{each:.2%}" for each in rows[-1])
            print(f"  {jobs} jobs, seed {seed}: bound {least / 3600:.1f} h (flow-bound "
                  f"{weak / 3600:.1f}); best policy on predictions {blind / 3600:.1f} h, excess "
                  f"{now} ({name}; over flow-bound {before}); {NEAR} as it is {default}, without "
                  f"it {others}; split {' + '.join(parts[:2])}, without servers {parts[2]}; alpha~ "
                  f"over the least alpha {slower}", flush=True)  # fmt: skip
        columns = [*zip(*rows, strict=True)]
        middle = [median(column) for column in columns]
        now, default, others, *parts, before, slower = (
            f"{m:.2%} [{min(c):.1%} to {max(c):.1%}]" for m, c in zip(middle, columns, strict=True)
        )
        print(f"  {jobs} jobs, medians: best policy on predictions {now}, target 5%: "
              f"{_met(middle[0] <= 0.05)} (over flow-bound {before}); {NEAR} as it is {default}, "
              f"target 5%: {_met(middle[1] <= 0.05)}; without it {others}, target 5%: "
              f"{_met(middle[2] <= 0.05)}; the gap: lengths not known {parts[0]}, the rest "
              f"{parts[1]}, without servers {parts[2]}, what placements may cost {slower}; "
              f"gang-bound takes {median(seconds):.1f} s "
              f"[{min(seconds):.1f}-{max(seconds):.1f}]", flush=True)  # fmt: skip


def flow(runs: int) -> None:
    """Total flow of spwf-consolidated over others', where queues are short and where long."""
    for load in (0.8, 1.2):
        rows = []
        for seed in range(FEW):
            made, catalogue = generate_workload(
                30_000, CLUSTER, WorkloadShape(load=load), seed=seed
            )
            prepared = prepare_jobs(made, catalogue, CLUSTER)
            guessed = predict(prepared, "online-group-mean").iterations
            by = {name: flow for flow, name in _flows(prepared, guessed)}
            least = flow_bounds(prepared, known_flow=min(by.values())).best
            own, nearest = by[NEAR], by[f"{NEAR} 1.0"]
            baseline, held = min(by[name] for name in BASELINES), by["srpt-workload-hold"]
            rows.append((own / by["a-srpt"], own / baseline, own / held, own / least))
            rows[-1] += (nearest / own, nearest / least)
        text = (f"{median(c):.3f} [{min(c):.3f}-{max(c):.3f}]" for c in zip(*rows, strict=True))
        first, second, third, above, fourth, nearer = text
        print(f"  load {load}, 30,000 jobs on 250 x 8, seeds 0 to {FEW - 1}: flow of {NEAR} over "
              f"a-srpt's {first}, over the best of the paper's baselines {second}, over "
              f"srpt-workload-hold's {third}, over flow-bound {above}; with comm_heavy 1 {fourth} "
              f"of it, over flow-bound {nearer}", flush=True)  # fmt: skip


NEAR, BASELINES = "spwf-consolidated", PAPER[2:]


def _without_servers(prepared: Jobs) -> float:
    """Flow of list schedules of the least lengths on as many GPUs: the better of two."""
    return min(_listed(prepared, scans_on) for scans_on in (False, True))


def _listed(prepared: Jobs, scans_on: bool) -> float:
    length = prepared.min_length.tolist()
    submit, gpus = prepared.submit.tolist(), prepared.gpus.tolist()
    key = (prepared.gpus * np.sqrt(prepared.min_length)).tolist()
    free, upcoming, flow = prepared.cluster.gpus, 0, 0.0
    queue: list[tuple[float, int]] = []
    ends: list[tuple[float, int]] = []
    while upcoming < len(submit) or ends:
        now = min(*submit[upcoming : upcoming + 1], *(end for end, _ in ends[:1]), np.inf)
        while ends and ends[0][0] <= now:
            free += gpus[heappop(ends)[1]]
        while upcoming < len(submit) and submit[upcoming] <= now:
            insort(queue, (key[upcoming], upcoming))
            upcoming += 1
        waiting = []
        for place, (rank, row) in enumerate(queue):
            if gpus[row] > free:
                waiting.append((rank, row))
                if not scans_on or not free:
                    waiting += queue[place + 1 :]
                    break
                continue
            free -= gpus[row]
            flow += now + length[row] - submit[row]
            heappush(ends, (now + length[row], row))
        queue = waiting
    return flow


def _flows(prepared: Jobs, known: np.ndarray) -> list[tuple[float, str]]:
    """Total flow of all policies that stop nothing, and their names, with a few settings each."""
    found = []
    for name, policy in POLICIES.items():
        settings = [{}, {"offer": "best-fit-last"}]
        if policy.delays and policy.scans_on:
            settings = [{}, {"comm_heavy": 1.1}, {"comm_heavy": 1.0}]
        elif policy.delays and not policy.backfills:
            settings.append({"hold": "inf"})
        for given in settings if policy.preempts == "never" and not policy.perfect else []:
            flow = float(
                simulate_online(prepared, policy, known, PolicyOptions(**given)).flow.sum()
            )
            found.append((flow, " ".join([name, *map(str, given.values())])))
    return found


def _met(is_met: bool) -> str:
    return "met" if is_met else "missed"


def busy(run: Callable[[], Any]) -> tuple[Any, float]:
    """What a call gives, and its seconds on the processor."""
    began = time.process_time()
    return run(), time.process_time() - began


def servers(runs: int) -> None:
    """Time by size of the cluster, the same jobs per GPU-second of load."""
    for count in (250, 2_500, 25_000):
        prepared, predicted = workload(30_000, count)
        for name in ("a-srpt", "wcs-workload", "srpt-workload-hold"):
            text = timed(lambda p=prepared, n=name, q=predicted: simulate_online(p, n, q), runs)
            print(f"  {count:6} servers {name:20} {text}", flush=True)


class FirstSubmitted:
    """wcs-subtime in plain Python."""

    def schedule(self, view: View) -> None:
        for job in view.queue:
            if job.gpus <= view.free_gpus:
                view.start(job, view.offer(job, "most"))


def python(runs: int) -> None:
    """The protocol's rate, and the ratio to the compiled loop."""
    prepared, predicted = workload(10_000, 50)
    warm_up("online")
    ours = simulate_policy(prepared, FirstSubmitted(), predicted)
    theirs = simulate_online(prepared, "wcs-subtime", predicted)
    for column in ("start", "end", "alpha", "server", "taken"):
        np.testing.assert_allclose(getattr(ours, column), getattr(theirs, column), rtol=1e-9)
    plain, compiled = [], []
    for _ in range(runs):
        began = time.perf_counter()
        simulate_policy(prepared, FirstSubmitted(), predicted)
        plain.append(time.perf_counter() - began)
        began = time.perf_counter()
        simulate_online(prepared, "wcs-subtime", predicted)
        compiled.append(time.perf_counter() - began)
    ratios = [a / b for a, b in zip(plain, compiled, strict=True)]
    print(
        f"  wcs-subtime, 10,000 jobs on 50 x 8, equal records: plain Python "
        f"{len(prepared) / median(plain):.0f} jobs/s, compiled "
        f"{len(prepared) / median(compiled):.0f} jobs/s, ratio {median(ratios):.0f} "
        f"[{min(ratios):.0f}-{max(ratios):.0f}]"
    )


def predictors(runs: int) -> None:
    """Fit time and error of every predictor on a synthetic workload and every trace at hand."""
    prepared, _ = workload(50_000, 250)
    print("  synthetic, 50,000 jobs")
    _predictor_rows(prepared)
    folder = os.environ.get("OPTSCHED_DATA")
    if folder is None:
        print("  OPTSCHED_DATA is not set: no traces")
        return
    for file_format, pattern in (
        ("philly-csv", "philly*.csv.gz"),
        ("muri", "muri*.csv.gz"),
        ("chronus", "chronus*.csv.gz"),
        ("gavel", "gavel*.trace"),
    ):
        for path in sorted((Path(folder) / "traces").glob(pattern)):
            speeds = Path(folder) / "measured" / "gavel_throughputs.json.gz"
            throughputs = speeds if file_format == "gavel" else None
            trace = import_trace(file_format, path, throughputs=throughputs)
            made, catalogue = workload_of_trace(trace, seed=SEED)
            print(f"  {path.name}: {'; '.join(trace.report.lines())}")
            _predictor_rows(prepare_jobs(made, catalogue, OnlineCluster.of()))


def _predictor_rows(prepared: Jobs) -> None:
    for name in [*FITTED, *(ONLINE + name for name in ("group-mean", "group-median"))]:
        made = report(predict(prepared, name, training_share=0.8, seed=SEED))
        print(
            f"  {name:22} MAE {made.mean_absolute_error:10.1f}, within 10% "
            f"{100 * made.within_tenth:5.1f}%, exact {100 * made.exact:5.1f}%, fit "
            f"{made.fit_time:.2f} s",
            flush=True,
        )


def compile_times(_: int) -> None:
    """The very first run, and one that finds compiled code on disk."""
    with tempfile.TemporaryDirectory() as folder:
        code = "from optsched.methods import warm_up; print(warm_up('online'))"
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        for label in ("first process, nothing compiled", "second process, cached"):
            done = subprocess.run(
                [sys.executable, "-c", code], env=environment, capture_output=True, check=True
            )
            print(f"  {label}: {float(done.stdout):.2f} s")


def command(runs: int) -> None:
    """`optsched simulate` on 1,000 jobs in a new process each time."""
    with tempfile.TemporaryDirectory() as folder:
        program = [sys.executable, "-m", "optsched"]
        arguments = ["generate", "workload", "--jobs", "1000", "--seed", str(SEED), "-o", folder]
        subprocess.run([*program, *arguments], check=True, capture_output=True)
        files = [f"{folder}/workload.csv", "--cluster", f"{folder}/cluster.json"]
        for flags in ([], ["--bound", "--audit"]):
            full = [*program, "simulate", *files, "--policy", "a-srpt,spwf", "--json", *flags]
            subprocess.run(full, check=True, capture_output=True)
            text = timed(lambda full=full: subprocess.run(full, check=True, capture_output=True),
                         runs)  # fmt: skip
            print(f"  simulate, 1,000 jobs, 2 policies {' '.join(flags):16} {text}")


def memory(jobs: int, servers_: int, policy: str = "a-srpt") -> list[float]:
    """MiB of a process that runs the case: before it, of the workload's arrays, at its peak."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__)), "--memory-of", f"{jobs},{servers_},{policy}"],
        capture_output=True,
        check=True,
        text=True,
    )
    return [float(part) for part in done.stdout.split()]


def _memory_case(text: str) -> None:
    *sizes, policy = text.split(",")
    jobs, servers_ = map(int, sizes)
    warm_up("online")
    before = peak_memory()
    prepared, predicted = workload(jobs, servers_)
    simulate_online(prepared, policy, predicted)
    made = prepared.workload
    arrays = (made.job_id, made.submit_time, made.gpus, made.iterations)
    codes = (made.user, made.group, made.model)
    own = sum(each.nbytes for each in arrays) + sum(each.codes.nbytes for each in codes)
    own += sum(map(sys.getsizeof, made.job_id)) + sum(map(sys.getsizeof, made.group.values))
    print(before, own / 2**20, peak_memory())


if __name__ == "__main__":
    main()
