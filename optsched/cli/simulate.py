"""The command that simulates policies on a workload."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from optsched import declared
from optsched.cli import show_runs
from optsched.cli.exit_codes import BROKEN, DONE, INTERRUPTED
from optsched.cli.progress import RunProgress
from optsched.cli.settings import Json, Seed, print_json, table_extras
from optsched.cli.show import note
from optsched.errors import InputError
from optsched.extras import require_extras
from optsched.io.outputs import require_file, require_outputs
from optsched.io.writing import STANDARD_OUTPUT
from optsched.library import WORKLOAD, find, workload_folder
from optsched.online.data.catalogue import read_catalogue
from optsched.online.data.cluster import read_cluster
from optsched.online.data.workload_files import read_workload
from optsched.online.instance import OnlineInstance
from optsched.online.options import OnlineOptions
from optsched.online.policies.by_name import PAPER, POLICIES, find_policy
from optsched.online.record_files import is_run_file, require_one_run, write_records, write_run

if TYPE_CHECKING:
    from optsched.online.policies.by_name import PolicyOptions
    from optsched.online.prediction.predictors import Prediction
    from optsched.online.runs import Run


def simulate(
    workload: Annotated[
        str, Argument(metavar="WORKLOAD", help="workload.csv or .parquet, a folder, or a name.")
    ],
    policy: Annotated[
        str, Option("--policy", metavar="P[,P...]", help="Names of policies, or: all, paper.")
    ],
    cluster: Annotated[
        str | None,
        Option("--cluster", metavar="FILE", help="By default cluster.json beside the workload."),
    ] = None,
    catalogue: Annotated[
        str | None, Option(metavar="FILE", help="By default catalogue.json beside the workload.")
    ] = None,
    predictor: Annotated[
        str,
        Option(
            metavar="NAME",
            help="forest, group-mean, group-median, log-forest, constant, perfect, or online-*. "
            "Fitted ones learn from the training share and the rest is simulated.",
        ),
    ] = "online-group-mean",
    training_share: Annotated[
        float | None, Option(metavar="X", help="Default 0.8; 0 for perfect and online-*.")
    ] = None,
    refit_interval: Annotated[
        float | None, Option(metavar="S", help="Seconds between refits of online-*.")
    ] = None,
    unseen: Annotated[
        str,
        Option(
            metavar="mean|median|zero",
            help="Prediction for a job of a new group: of all known jobs, or 0 as in a-srpt.",
        ),
    ] = "mean",
    offer: Annotated[
        str | None,
        Option(
            metavar="RULE",
            help="most, least, first-fit, adaptive or best-fit-last, for every policy; by default "
            "each its own (a-srpt adaptive, baselines most, those that stop jobs best-fit-last).",
        ),
    ] = None,
    tau: Annotated[float, Option(help="The delay's window is tau L.")] = 100.0,
    comm_heavy: Annotated[
        float,
        Option(
            help="Ratio of worst to best iteration time above which a job is communication-heavy."
        ),
    ] = 1.5,
    hold: Annotated[
        str | None, Option(metavar="none|window|inf", help="By default the policy's own.")
    ] = None,
    slot: Annotated[float, Option(metavar="S", help="Events act at its multiples.")] = 0.0,
    checkpoint: Annotated[
        float | None,
        Option(metavar="S", help="Seconds that restoring a preempted job takes; default 30."),
    ] = None,
    round_length: Annotated[
        float | None, Option("--round", metavar="S", help="Of las and max-min; default 360.")
    ] = None,
    records: Annotated[
        str | None,
        Option(
            metavar="FILE",
            help="Write the records: .csv, .parquet, or one policy's as .json for "
            "`optsched check`.",
        ),
    ] = None,
    bound: Annotated[bool, Option("--bound", help="Bound the total flow.")] = False,
    audit: Annotated[bool, Option("--audit", help="Audit every run.")] = False,
    seed: Seed = 0,
    as_json: Json = False,
) -> int:
    """Simulate policies on a workload, and bound how far from optimal they are."""
    from optsched.online.prediction.predictors import predict_instance, report
    from optsched.online.runs import mark_comparable

    declared.require("simulate", "--seed", seed, declared.Seed)
    names = _policies(policy)
    options = OnlineOptions.from_dict(
        {
            "predictor": predictor,
            "training_share": training_share,
            "refit_interval": refit_interval,
            "unseen": unseen,
            "tau": tau,
            "comm_heavy": comm_heavy,
            "offer": offer,
            "hold": hold,
            "slot": slot,
            "checkpoint": checkpoint,
            "round": round_length,
        }
    )
    names = _fitting(names, policy, options.policy)
    if as_json:
        require_file(records, "standard output takes what --json prints")
    files = _files(workload, cluster, catalogue)
    require_outputs([records], files)
    require_extras(table_extras(records))
    instance = _load(*files)
    require_one_run(records, names, len(instance.workload))
    prediction = predict_instance(instance, options, seed)
    if prediction.jobs.replaced:
        count = prediction.jobs.replaced
        note(f"{count} jobs ask for other GPUs than their configuration: one stage each")
    runs, interrupted = _run(prediction, names, options.policy, bound, audit)
    runs = mark_comparable(runs)
    if records is not None and is_run_file(records):
        for run in runs:
            write_run(records, run.records, instance, options.to_dict(), seed)
    elif records is not None:
        write_records(records, [run.records for run in runs])
    if as_json:
        trained = {"predictor": predictor, "unseen": unseen, "seed": seed}
        extra = {**trained, "training_jobs": prediction.training_jobs}
        print_json([{**run.to_dict(), **extra} for run in runs])
    elif records != STANDARD_OUTPUT:
        show_runs.prediction_line(report(prediction), prediction.fits)
        show_runs.workload_runs(runs)
    if interrupted:
        return INTERRUPTED
    return DONE if all(run.check is None or run.check.feasible for run in runs) else BROKEN


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
    """Return the files of the workload, the catalogue and the cluster."""
    named = workload_folder(workload)
    table = Path(workload) if named is None else named / WORKLOAD
    is_instance = table.suffix == ".json"
    if is_instance or os.path.isdir(table) or not os.path.exists(table):  # it may be a pipe
        expected = "a workload: a file, its folder or a name of `optsched instances list`"
        raise InputError(workload, "", _instead(workload), expected)
    for file, option in ((catalogue, "catalogue"), (cluster, "cluster")):
        if file is None and not (table.parent / f"{option}.json").exists():
            found = f"no {option}.json beside {table.name}"
            raise InputError(str(table.parent), "", found, f"one, or --{option} FILE")
    return (
        table,
        Path(catalogue or table.parent / "catalogue.json"),
        Path(cluster or table.parent / "cluster.json"),
    )


def _instead(reference: str) -> str:
    """Describe what the reference names in place of a workload."""
    try:
        found = find(reference)
    except InputError:
        return "a folder without a workload.csv" if os.path.isdir(reference) else "no such file"
    return "an instance of another problem" if len(found) == 1 else f"{len(found)} instances"


def _load(table: Path, catalogue: Path, cluster: Path) -> Any:
    """Return the instance of a workload, a catalogue and a cluster."""
    machine, models = read_cluster(cluster), read_catalogue(catalogue)
    return OnlineInstance(read_workload(table), models, machine)


def _policies(text: str) -> list[str]:
    groups: dict[str, list[str]] = {"all": list(POLICIES), "paper": list(PAPER)}
    given = _names(text)
    names = [each for name in given for each in groups.get(name, [name])]
    for name in names:
        find_policy(name)
    return list(dict.fromkeys(names)) if groups.keys() & set(given) else names


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _fitting(names: list[str], text: str, options: PolicyOptions) -> list[str]:
    """Return the policies that take the options; those of a group that do not are left out."""
    fitting = []
    for name in names:
        try:
            options.for_policy(find_policy(name))
        except InputError as refused:
            if name in _names(text):
                raise
            note(f"left out of {text}: {refused}")
        else:
            fitting.append(name)
    return fitting
