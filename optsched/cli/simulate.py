"""Commands of policies over time: `simulate`, `decide` once, `roll`, the page of `what-to-win`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from optsched import declared
from optsched.cli.exit_codes import DONE, INFEASIBLE, INTERRUPTED, NO_SOLUTION
from optsched.cli.generate import annotated_options, option, with_options
from optsched.cli.progress import RunProgress
from optsched.cli.settings import (
    InstanceFile,
    Iterations,
    Json,
    Options,
    Seed,
    TimeLimit,
    print_json,
    read_options,
    require_folder,
    table_extras,
)
from optsched.cli.show import note, prediction_line, rolling_runs, workload_runs
from optsched.errors import InputError, require_extras, shown
from optsched.files import instance_sha256, write_document
from optsched.io.outputs import require_file, require_outputs
from optsched.io.writing import STANDARD_OUTPUT
from optsched.library import WORKLOAD, files_read, find, load, workload_folder
from optsched.online.data.catalogue import read_catalogue
from optsched.online.data.cluster import MAX_SERVERS, OnlineCluster, read_cluster
from optsched.online.data.workload_files import read_workload
from optsched.online.instance import OnlineInstance
from optsched.online.options import OnlineOptions
from optsched.online.policies.by_name import PAPER, POLICIES, Policy, PolicyOptions, find_policy
from optsched.online.solution import is_run_file, require_one_run, write_records, write_run
from optsched.result import Settings
from optsched.rolling.instance import RollingInstance
from optsched.rolling.options import RollingOptions
from optsched.rolling.solution import RollingSolution
from optsched.verbs.generating import attributes

if TYPE_CHECKING:
    from optsched.online.prediction.predictors import Prediction
    from optsched.online.runs import Run
    from optsched.rolling.runs import Run as RollingRun
    from optsched.rolling.simulator.engine import UnfinishedRunError


BesideWorkload = Annotated[str | None, Option(metavar="FILE", help="[default: beside WORKLOAD]")]


def _simulate(
    workload: Annotated[str, Argument(metavar="WORKLOAD", help="Workload file, folder or name.")],
    policy: Annotated[str, Option(metavar="P[,P...]", help="Policy names, `all` or `paper`.")],
    cluster: BesideWorkload = None,
    catalogue: BesideWorkload = None,
    records: Annotated[
        str | None,
        Option(
            metavar="FILE",
            help="Write the job records as .csv or .parquet, or those of one policy as .json "
            "for `optsched check`.",
        ),
    ] = None,
    bound: Annotated[bool, Option("--bound", help="Also compute a lower bound.")] = False,
    audit: Annotated[bool, Option("--audit", help="Check the rules on every run.")] = False,
    seed: Seed = 0,
    as_json: Json = False,
    **values: Any,
) -> int:
    """Simulate scheduling policies on a workload of jobs; with --bound, show the excess."""
    from optsched.online.prediction.predictors import predict_instance, report
    from optsched.online.runs import mark_comparable

    declared.require("simulate", "--seed", seed, declared.Seed)
    options = OnlineOptions.from_dict({k: v for k, v in values.items() if v is not None})
    names = _policies(policy, options.policy.for_policy)
    if as_json:
        require_file(records, "standard output is used by --json")
    files = _files(workload, cluster, catalogue)
    require_outputs([records], files)
    require_extras(table_extras(records))
    table, models, machine = files
    instance = OnlineInstance(
        cluster=read_cluster(machine),
        catalogue=read_catalogue(models),
        workload=read_workload(table),
    )
    require_one_run(records, names, len(instance.workload))
    prediction = predict_instance(instance, options, seed)
    if prediction.jobs.replaced:
        count = prediction.jobs.replaced
        note(f"{count} jobs have another GPU count than their configuration: one stage each")
    runs, interrupted = _run(prediction, names, options.policy, bound, audit)
    runs = mark_comparable(runs)
    if records is not None and is_run_file(records):
        for run in runs:
            write_run(records, run.records, instance, options.to_dict(), seed)
    elif records is not None:
        write_records(records, [run.records for run in runs])
    if as_json:
        extra = {"predictor": options.predictor, "unseen": options.unseen, "seed": seed}
        extra["training_jobs"] = prediction.training_jobs
        print_json([{**run.to_dict(), **extra} for run in runs])
    elif records != STANDARD_OUTPUT:
        prediction_line(report(prediction), prediction.fits)
        workload_runs(runs)
    if interrupted:
        return INTERRUPTED
    return DONE if all(run.check is None or run.check.feasible for run in runs) else INFEASIBLE


simulate = with_options(
    _simulate,
    [*annotated_options(_simulate), *map(option, attributes(OnlineOptions, OnlineOptions))],
)


def _decide(
    state: Annotated[str, Argument(metavar="STATE", help="JSON file of schema online-state.")],
    policy: Annotated[str, Option(metavar="P", help="Policy name, or module:name.")],
    output: Annotated[str, Option("-o", metavar="FILE", help="Output file.")] = STANDARD_OUTPUT,
    **values: Any,
) -> int:
    """Print which waiting jobs a policy starts now, and on which servers, as JSON."""
    from optsched.online.decide import decide as next_decision

    require_outputs([output], [state])
    options = {name: value for name, value in values.items() if value is not None}
    write_document(output, next_decision(state, policy, options=options).to_dict())
    return DONE


DECISION_OPTIONS = ("tau", "comm_heavy", "offer", "hold", "slot")
decide = with_options(
    _decide,
    [
        *annotated_options(_decide),
        *(
            option(p)
            for p in attributes(PolicyOptions, PolicyOptions)
            if p.name in DECISION_OPTIONS
        ),
    ],
)


def _run(
    prediction: Prediction, names: list[str], options: PolicyOptions, bound: bool, audit: bool
) -> tuple[list[Run], bool]:
    """Return the runs, the last possibly partial, and whether they were interrupted."""
    from optsched.online.runs import run_policies

    done: list[Run] = []
    with RunProgress() as bars:
        try:
            for run in run_policies(
                prediction, names, options, with_bounds=bound, with_audit=audit, progress=bars
            ):
                done.append(run)
        except KeyboardInterrupt:
            note(f"interrupted between runs: {len(done)} of {len(names)} policies are done")
            return done, True
    interrupted = bool(done) and not done[-1].records.complete
    if interrupted:
        note(f"interrupted: {done[-1].metrics.jobs} jobs of {done[-1].records.policy} had started")
    return done, interrupted


def _files(workload: str, cluster: str | None, catalogue: str | None) -> tuple[Path, Path, Path]:
    named = workload_folder(workload)
    table = Path(workload) if named is None else named / WORKLOAD
    is_instance = table.suffix == ".json"
    if is_instance or os.path.isdir(table) or not os.path.exists(table):  # pipes are allowed
        expected = "a workload: a file, its folder or a name of `optsched instances list`"
        raise InputError(workload, "", _describe_reference(workload), expected)
    for file, name in ((catalogue, "catalogue"), (cluster, "cluster")):
        if file is None and not (table.parent / f"{name}.json").exists():
            found = f"no {name}.json beside {table.name}"
            raise InputError(str(table.parent), "", found, f"{name}.json, or --{name} FILE")
    return (
        table,
        Path(catalogue or table.parent / "catalogue.json"),
        Path(cluster or table.parent / "cluster.json"),
    )


def _describe_reference(reference: str) -> str:
    """Describe what the reference names in place of a workload."""
    try:
        found = find(reference)
    except InputError:
        return "a folder without a workload.csv" if os.path.isdir(reference) else "no such file"
    return "an instance of another problem" if len(found) == 1 else f"{len(found)} instances"


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _policies(text: str, check: Callable[[Policy], object]) -> list[str]:
    """Return the policies that pass a check; those of a group that do not are skipped."""
    groups: dict[str, list[str]] = {"all": list(POLICIES), "paper": list(PAPER)}
    given, fitting = _names(text), []
    names = [each for name in given for each in groups.get(name, [name])]
    if groups.keys() & set(given):
        names = list(dict.fromkeys(names))
    for policy in list(map(find_policy, names)):  # all are known before one is skipped
        try:
            check(policy)
        except InputError as refused:
            if policy.name in given:
                raise
            note(f"skipped (from {text!r}): {refused}")
        else:
            fitting.append(policy.name)
    return fitting


def roll(
    file: InstanceFile,
    policy: Annotated[str, Option(metavar="P[,P...]", help="Policies such as sts,price.")] = "sts",
    seed: Seed = 0,
    time_limit: TimeLimit = None,
    iterations: Iterations = None,
    option: Options = None,
    bound: Annotated[int, Option(metavar="N", help="Iterations of the bound; 0: off.")] = 200,
    records: Annotated[
        str | None,
        Option(
            metavar="DIR|FILE.json",
            help="Write the runs to a folder, or a single run to a file, for `optsched check`.",
        ),
    ] = None,
    as_json: Json = False,
) -> int:
    """Simulate selection policies over time, check each run and bound the cost from below."""
    is_file = records is not None and is_run_file(records)
    if not is_file:
        require_folder(records)
    instance = load(file)
    if not isinstance(instance, RollingInstance):
        raise InputError(file, "schema", shown(instance.schema_), "optsched/rolling")
    declared.require("roll", "--bound", bound, declared.Iterations)
    options = RollingOptions.from_dict(dict(read_options(option)))
    settings = Settings(seed=seed, iterations=iterations, time_limit=time_limit)
    names = _names(policy)
    if is_file and len(names) > 1:
        raise InputError("roll", "--records", shown(records), "a folder, for several policies")
    paths = [_record_path(records, instance.name, name, seed) for name in dict.fromkeys(names)]
    require_outputs(paths, files_read(file))
    runs, error = _run_rolling(instance, names, options, settings, bound)
    digest = instance_sha256(instance.to_dict())
    for run in runs if records is not None else ():
        path = _record_path(records, instance.name, run.records.policy, seed)
        solution = RollingSolution.of(run.records, run.metrics.total_cost, digest)
        write_document(str(path), solution.to_dict())
        note(f"wrote {path}")
    if as_json:
        print_json([run.to_dict() for run in runs])
    elif runs:
        rolling_runs(runs)
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if error is not None:
        note(f"optsched: {error}")
        return NO_SOLUTION
    return DONE if all(run.check.feasible for run in runs) else INFEASIBLE


def _record_path(records: str | None, instance: str, policy: str, seed: int) -> Path | None:
    if records is None or is_run_file(records):
        return None if records is None else Path(records)
    return Path(records) / f"{instance}-{policy}-s{seed}.json"


def _run_rolling(
    instance: RollingInstance,
    names: list[str],
    options: RollingOptions,
    settings: Settings,
    bound: int,
) -> tuple[list[RollingRun], KeyboardInterrupt | UnfinishedRunError | None]:
    """Return the complete runs, and the exception that ended the others."""
    from optsched.rolling.bounds.clairvoyant import BoundSettings
    from optsched.rolling.runs import run_policies
    from optsched.rolling.simulator.engine import UnfinishedRunError

    runs: list[RollingRun] = []
    bound_settings = BoundSettings(iterations=bound) if bound else None
    with RunProgress() as bars:
        try:
            for run in run_policies(
                instance, names, options, settings, bound=bound_settings, progress=bars
            ):
                runs.append(run)
        except (KeyboardInterrupt, UnfinishedRunError) as error:
            return runs, error
    return runs, None


def what_to_win(
    trace: Annotated[str, Argument(metavar="TRACE", help="Workload that `optsched import` wrote.")],
    output: Annotated[str, Option("-o", metavar="DIR", help="Output folder.")],
    cluster: Annotated[
        str | None, Option(metavar="FILE", help="Cluster. [default: cluster.json beside TRACE]")
    ] = None,
    servers: Annotated[
        int | None, Option(metavar="N", help="Number of servers, in place of --cluster.")
    ] = None,
    gpus_per_server: Annotated[
        int, Option("--gpus-per-server", metavar="G", help="GPUs per server, with --servers.")
    ] = 8,
    lengths: Annotated[
        Literal["trace", "cost-model"],
        Option(help="Run times: as in the trace, or longer where a job spans servers."),
    ] = "trace",
    seed: Seed = 0,
) -> int:
    """Report how long a trace's jobs wait under several schedulers, and how much is avoidable."""
    from optsched.experiments.what_to_win.page import FILES, write_page
    from optsched.experiments.what_to_win.study import instance_of, study_jobs

    source, count = "what-to-win", Annotated[int, declared.Between(1, MAX_SERVERS)] | None
    require_folder(output)
    declared.require(source, "--seed", seed, declared.Seed)
    declared.require(source, "--servers", servers, count)
    if cluster is not None and servers is not None:
        raise InputError(source, "", "--cluster and --servers", "one of them")
    require_extras(["matplotlib"])
    table, _, _ = _files(trace, "", "")
    models, beside = (table.parent / f"{name}.json" for name in ("catalogue", "cluster"))
    if not models.exists():
        expected = "a workload; `optsched import --explain FILE` says how to make one"
        raise InputError(trace, "", "no catalogue.json beside it", expected)
    if cluster is None and servers is None and not beside.exists():
        raise InputError(trace, "", "no cluster.json beside it", "--cluster FILE or --servers N")
    require_outputs((Path(output) / name for name in FILES), [table, models, beside, cluster])
    target = None if cluster is None else read_cluster(cluster)
    imported = read_cluster(beside) if beside.exists() else target or OnlineCluster.of()
    if servers is not None:
        network = imported.inter_bandwidth, imported.intra_bandwidth
        target = OnlineCluster.of(servers, gpus_per_server, *network)
    instance = instance_of((table, models), target or imported, imported, lengths)
    with RunProgress() as progress:
        study = study_jobs(instance, seed=seed, progress=progress)
    write_page(study, output)
    today, best = study.today, study.best(stops_jobs=False)
    mean = study.mean(today)
    saved, most = mean - study.mean(best), mean - study.min_wait_without_stops
    waits, saves, limit = (f"{round(value, 2) + 0.0:.2f}" for value in (mean, saved, most))
    note(
        f"wrote {Path(output) / FILES[0]}: jobs wait {waits} hours on average under {today}; "
        f"{best} saves {saves} of them, and no order of starts saves more than {limit}"
    )
    return DONE
