"""Seconds from a file of jobs to its page, in two commands, for each kind of file.

    python benchmarks/trace_to_page.py [--runs 5] [--only philly,sacct]

Needs OPTSCHED_DATA, the folder with `traces/`. Three files are published traces. The other three
are made of Philly's first 20,000 jobs, written as `sacct`, `kubectl` and a table of one's own would
state them. A run is both commands, each a process of its own, by the wall clock; kernels are
compiled before. The ratio is to the same run of the table. Aim: 300 s.
"""

import argparse
import csv
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median

from optsched.methods import warm_up

TRACES = Path(os.environ.get("OPTSCHED_DATA", "")) / "traces"
PHILLY = TRACES / "philly_sia.csv.gz"
ROWS, AIM, TABLE = 20_000, 300.0, "table"
SACCT = "JobID|User|Account|JobName|Submit|Start|End|Elapsed|Timelimit|ReqTRES|AllocTRES"
MAP = "--map", "submit=asked_at,gpus=cards,duration=secs,user=who"


def jobs() -> Iterator[tuple[str, datetime, int, int, str]]:
    """Name, submission, seconds, GPUs and owner of Philly's first jobs."""
    with gzip.open(PHILLY, "rt", encoding="utf-8") as stream:
        for at, row in zip(range(ROWS), csv.DictReader(stream), strict=False):
            submit = datetime.fromisoformat(row["timestamp"])
            seconds, gpus = max(int(float(row["duration"])), 1), int(row["num_gpus"])
            yield f"{at}", submit, seconds, gpus, row["cluster"]


def write_sacct(path: Path) -> None:
    lines = [SACCT]
    for name, submit, seconds, gpus, user in jobs():
        end, took = submit + timedelta(seconds=seconds), timedelta(seconds=seconds)
        elapsed = f"{took.days}-{timedelta(seconds=took.seconds)}"
        times = f"{submit.isoformat()}|{submit.isoformat()}|{end.isoformat()}|{elapsed}"
        lines.append(
            f"{name}|{user}|{user}|train|{times}|UNLIMITED|gres/gpu={gpus}|gres/gpu={gpus}"
        )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_kubernetes(path: Path) -> None:
    items = []
    for name, submit, seconds, gpus, user in jobs():
        begin, end = (f"{t.isoformat()}Z" for t in (submit, submit + timedelta(seconds=seconds)))
        container = {"resources": {"limits": {"nvidia.com/gpu": f"{gpus}"}}}
        metadata = {"name": f"job-{name}", "namespace": user, "creationTimestamp": begin}
        spec = {"template": {"spec": {"containers": [container]}}}
        status = {"startTime": begin, "completionTime": end}
        items.append({"kind": "Job", "metadata": metadata, "spec": spec, "status": status})
    path.write_text(json.dumps({"kind": "List", "items": items}), encoding="utf-8")


def write_table(path: Path) -> None:
    rows = (f"{submit}\t{gpus}\t{seconds}\t{user}" for _, submit, seconds, gpus, user in jobs())
    path.write_text("\n".join(["asked_at\tcards\tsecs\twho", *rows]) + "\n", encoding="utf-8")


KINDS: dict[str, tuple[Path | Callable[[Path], None], tuple[str, ...], int]] = {
    TABLE: (write_table, ("csv", *MAP), 60),
    "philly": (PHILLY, ("philly-csv",), 300),
    "muri": (TRACES / "muri_trace1.csv.gz", ("muri",), 60),
    "chronus": (TRACES / "chronus_philly_MIX1.csv.gz", ("chronus",), 300),
    "sacct": (write_sacct, ("sacct",), 60),
    "kubernetes": (write_kubernetes, ("kubernetes",), 60),
}
"""The file or what writes it, the arguments of `optsched import`, servers of 8 GPUs."""


def main() -> None:
    """Print a line a run, then the figures over the runs of each kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default=",".join(KINDS))
    asked = parser.parse_args()
    warm_up("online")
    rival: list[float] = []
    for name in dict.fromkeys((TABLE, *asked.only.split(","))):
        took = [one_run(name, run) for run in range(asked.runs)]
        rival = rival or took
        ratio = median(own / other for own, other in zip(took, rival, strict=True))
        line = f"{name:10} {median(took):6.1f} s ({min(took):.1f} to {max(took):.1f}, aim {AIM:g})"
        print(f"{line}  {ratio:.2f} times the table", flush=True)


def one_run(name: str, run: int) -> float:
    """Seconds of both commands on one kind of file."""
    source, arguments, servers = KINDS[name]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "jobs.txt"
        if callable(source):
            source(file)
        else:
            file = source
        workload, page = f"{folder}/mine/workload.csv", f"{folder}/page"
        began = time.perf_counter()
        optsched("import", *arguments, str(file), "-o", workload)
        optsched("what-to-win", f"{folder}/mine", "--servers", str(servers), "-o", page)
        seconds = time.perf_counter() - began
        size = (Path(page) / "index.html").stat().st_size
    print(f"{name} run {run}: {seconds:.1f} s, a page of {size / 1e3:.0f} kB", flush=True)
    return seconds


def optsched(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "optsched", *arguments], check=True, capture_output=True)


if __name__ == "__main__":
    main()
