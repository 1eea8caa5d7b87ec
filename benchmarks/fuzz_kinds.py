"""What `fuzz_files` breaks: a valid file of every kind the package reads, and how it is read."""

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fuzz_mutations as mutations
from fuzz_mutations import Maker

from optsched import check, load, solve
from optsched.experiments.plans.plan import read_plan
from optsched.experiments.plans.units import expand
from optsched.experiments.report.page import page
from optsched.experiments.report.table import gap_table
from optsched.experiments.report.table_formats import as_csv, as_latex, as_markdown
from optsched.experiments.store.store import Store, done
from optsched.generators.placement import instance_from_profile
from optsched.generators.rolling import read_trace
from optsched.generators.selection import measured_kinds
from optsched.library import BEST_KNOWN, find, shipped_folder
from optsched.library.best_known import read_best_known
from optsched.online.data.catalogue import read_catalogue
from optsched.online.data.cluster import OnlineCluster, read_cluster
from optsched.online.data.jobs import prepare_jobs
from optsched.online.data.workload import Workload
from optsched.online.data.workload_files import read_workload, write_workload
from optsched.online.instance import OnlineInstance
from optsched.online.traces.importing import import_trace, workload_of_trace
from optsched.profiles import read_pipedream

Read = Callable[[str], Any]
INSTANCES = {
    "placement": ("fig2", "heavy-edge"),
    "makespan": ("contended-3x3", "first-fit"),
    "selection": ("3x6", "edf"),
    "speed-profile": ("one-atom", "hull"),
    "packing": ("two-nodes", "fgd"),
}
PLAN = """name = "small"
[limits]
iterations = 100
unit_time = 60.0
[[families]]
name = "fig2"
instances = ["placement/fig2"]
methods = ["heavy-edge", "columns"]
seeds = [0, 1]
[[families]]
name = "made"
generator = "placement"
arguments = {model = "VGG19", gpus = 8}
count = 2
methods = ["heavy-edge"]
"""
GRAPH = "".join(
    f"node{n} -- Layer({n}) -- forward_compute_time={n}.5, backward_compute_time={2 * n}.0, "
    f"activation_size={[1000.0 * n, '[64.0; 8.0]'][n % 2]}, parameter_size={100 * n}.000\n"
    for n in range(1, 9)
) + "".join(f"\tnode{n} -- node{n + 1}\n" for n in range(1, 8))
TRACES = {
    "pai": "job_id,user,num_gpu,num_pod,duration,submit_time,group\n"
    "a,u,0.5,2,100,0,g\nb,v,8,1,50,10,h\nc,u,1,1,5,20,g\n",
    "philly-csv": "timestamp,duration,num_gpus,cluster\n"
    "2017-10-09 07:01:55,100,1,x\n2017-10-09 08:01:55,7,4,y\n",
    "philly-json": json.dumps(
        [
            {
                "jobid": f"j{n}",
                "user": "u",
                "vc": "v",
                "submitted_time": "2017-10-09 07:01:55",
                "attempts": [
                    {
                        "start_time": "2017-10-09 07:02:55",
                        "end_time": "2017-10-09 09:01:55",
                        "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}],
                    }
                ],
            }
            for n in range(3)
        ],
        indent=1,
    ),
    "helios": "job_id,user,gpu_num,submit_time,start_time,end_time,duration,jobname\n"
    "1,u,2,2020-04-01 00:00:00,2020-04-01 00:01:00,2020-04-01 01:00:00,3540,n\n"
    "2,v,1,2020-04-01 00:05:00,2020-04-01 00:06:00,2020-04-01 02:00:00,,m\n",
    "muri": "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,"
    "iteration_time\n1,2,0,100,vgg,32,50000,1,500\n2,1,60000,10,bert,4,9000,1,900\n",
    "chronus": "job_id,user,num_gpu,submit_time,iterations,model_name,duration\n"
    "1,u,2,0,100,vgg,5000\n2,v,1,60,10,bert,900\n",
    "gavel": "".join(
        f"ResNet-18 (batch size {n})\tpython3 main.py\timage\t-n\t1\t{900 * n}\t{n}\tgns\t1\t-1"
        f"\t{300 * n}\t{60.5 * n}\n"
        for n in (1, 2, 4)
    ),
    "swf": "; Version: 2\n"
    + "".join(
        f"{n} {60 * n} 5 {300 * n} {n} -1 -1 {n} -1 -1 1 {n} 1 {n} 1 -1 -1 -1\n" for n in (1, 2, 3)
    ),
}


@dataclass(frozen=True)
class Kind:
    """A kind of file: its ending, a valid one, how it is broken, and what reads it."""

    name: str
    ending: str
    valid: bytes
    makers: Sequence[Maker]
    read: Read
    large: Sequence[Maker] = ()


def kinds(folder: Path) -> Iterator[Kind]:
    """Every kind; valid files that others are read with are written into the folder."""
    shipped = shipped_folder()
    as_json, large_json = mutations.JSON, (mutations.json_large,)
    for problem, (name, method) in INSTANCES.items():
        path = find(f"{problem}/{name}")[0]
        raw = json.dumps(json.loads(path.read_bytes()), indent=1).encode()
        instance = load(path)
        yield Kind(problem, "json", raw, as_json, lambda p, m=method: _solved(p, m), large_json)
        solution = solve(instance, method).solution.to_dict()
        raw = json.dumps(solution, indent=1).encode()
        read = lambda p, i=instance: check(i, p)  # noqa: E731
        yield Kind(f"{problem} solution", "json", raw, as_json, read, large_json)
        best = path.with_name(BEST_KNOWN)
        yield Kind(f"{problem} best known", "json", best.read_bytes(), as_json, read_best_known)
    path = shipped / "rolling" / "three-by-hand.json"
    raw = json.dumps(json.loads(path.read_bytes()), indent=1).encode()
    yield Kind("rolling", "json", raw, as_json, lambda p: _solved(p, "edf"), large_json)
    yield _run("rolling", load(path), "edf")
    yield Kind(
        "graph", "graph.txt", GRAPH.encode(), mutations.TEXT, _planned, (mutations.long_text,)
    )
    yield Kind("plan", "toml", PLAN.encode(), mutations.TEXT, _expanded, (mutations.long_text,))
    yield from _online(folder, shipped / "online" / "testbed-75x14")
    for name, text in TRACES.items():
        read = lambda p, f=name: _imported(f, p)  # noqa: E731
        large = (mutations.long_text,)
        yield Kind(f"trace {name}", "csv", text.encode(), mutations.TEXT, read, large)
        yield Kind(f"trace {name} gz", "csv.gz", text.encode(), (mutations.compressed,), read)
    arrivals = b"submit_time,duration,gpus,due_date\n0,100,1,300\n5,7.5,2,\n60,1e3,8,9e3\n"
    yield Kind("arrivals", "csv", arrivals, mutations.TEXT, read_trace, (mutations.long_text,))
    runs = b"dataset,network,target_metric,target_epoch\na,b,0.5,3\na,b,0.5,nan\na,c,0.9,40\n"
    yield Kind("runs", "csv", runs, mutations.TEXT, measured_kinds, (mutations.long_text,))
    yield Kind("store", "sqlite", _store(folder), mutations.BINARY, _tables)
    raw = find("placement/fig2")[0].read_bytes()
    yield Kind("instance gz", "json.gz", raw, (mutations.compressed,), load)


def _online(folder: Path, shipped: Path) -> Iterator[Kind]:
    workload = read_workload(shipped / "workload.csv")
    models, cluster = (
        read_catalogue(shipped / "catalogue.json"),
        read_cluster(shipped / "cluster.json"),
    )

    held = json.loads((shipped / "catalogue.json").read_bytes())
    held["models"] = dict(itertools.islice(held["models"].items(), 3))
    few = Workload.of(
        submit_time=[0, 1, 2],
        gpus=[models.models[name].gpus for name in held["models"]],
        iterations=[9, 9, 9],
        model=list(held["models"]),
    )

    yield _run("online", OnlineInstance(few.named("few"), models, cluster), "spjf")

    def joined(path: str) -> Any:
        return prepare_jobs(read_workload(path), models, cluster)

    def catalogue(path: str) -> Any:
        return prepare_jobs(few, read_catalogue(path), cluster)

    def machine(path: str) -> Any:
        return prepare_jobs(few, models, read_cluster(path))

    text = b"".join((shipped / "workload.csv").read_bytes().splitlines(keepends=True)[:20])
    large = (mutations.long_text,)
    yield Kind("workload", "csv", text, mutations.TEXT, joined, large)
    yield Kind("workload gz", "csv.gz", text, (mutations.compressed,), joined)
    write_workload(folder / "w.parquet", workload)
    raw = (folder / "w.parquet").read_bytes()
    yield Kind("workload parquet", "parquet", raw, mutations.BINARY, joined)
    raw = json.dumps(held, indent=1).encode()
    yield Kind("catalogue", "json", raw, mutations.JSON, catalogue, (mutations.json_large,))
    raw = json.dumps(OnlineCluster.of(20).to_dict(), indent=1).encode()
    yield Kind("cluster", "json", raw, mutations.JSON, machine, (mutations.json_large,))


def _run(problem: str, instance: Any, policy: str) -> Kind:
    """Records of a run, which `check` audits against their instance."""
    raw = json.dumps(solve(instance, policy).solution.to_dict(), indent=1).encode()
    read = lambda p: check(instance, p)  # noqa: E731
    return Kind(f"{problem} run", "json", raw, mutations.JSON, read, (mutations.json_large,))


def _solved(path: str, method: str) -> None:
    solve(path, method, time_limit=1, iterations=100)


def _planned(path: str) -> None:
    instance_from_profile(read_pipedream(path), 4, [3, 1], stages=2)


def _expanded(path: str) -> None:
    for _ in itertools.islice(expand(read_plan(path)), 2):
        pass


def _imported(file_format: str, path: str) -> None:
    workload_of_trace(import_trace(file_format, path))


def _tables(path: str) -> None:
    tables = gap_table(path)
    for form in (as_csv, as_markdown, as_latex):
        form(tables)
    page(path).encode()


def _store(folder: Path) -> bytes:
    """A store whose rows are run in this process."""
    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
    plan = read_plan(folder / "plan.toml")
    planned = list(expand(plan))
    with Store(folder / "valid.sqlite") as store:
        store.register(plan.name, plan.sha256, plan.text, planned)
        store.record_start(plan.name, "optsched sweep plan.toml", "1 process", "{}")
        for document, units in planned:
            instance = load_document(document)
            for unit in units:
                result = solve(instance, unit.method, seed=unit.seed, iterations=100)
                store.add(done(unit, result, 0.1))
    raw = (folder / "valid.sqlite").read_bytes()
    return raw[:18] + b"\x01\x01" + raw[20:]  # no write-ahead log beside it


def load_document(text: str) -> Any:
    """A placement instance of its document."""
    from optsched.placement.instance import PlacementInstance

    return PlacementInstance.from_dict(json.loads(text))
