"""The command that runs policies on a rolling instance."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from optsched import declared
from optsched.cli import show, show_runs
from optsched.cli.exit_codes import DONE, INFEASIBLE, INTERRUPTED, NO_SOLUTION
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
)
from optsched.errors import InputError, shown
from optsched.files import instance_sha256, write_document
from optsched.io.outputs import require_outputs
from optsched.library import files_read, load
from optsched.result import Settings
from optsched.rolling.instance import RollingInstance
from optsched.rolling.options import RollingOptions
from optsched.rolling.solution import RollingSolution

if TYPE_CHECKING:
    from optsched.rolling.runs import Run
    from optsched.rolling.simulator.engine import UnfinishedRunError


def roll(
    file: InstanceFile,
    policy: Annotated[str, Option(metavar="P[,P...]", help="e.g. sts,edf,price.")] = "sts",
    seed: Seed = 0,
    time_limit: TimeLimit = None,
    iterations: Iterations = None,
    option: Options = None,
    bound: Annotated[int, Option(metavar="N", help="Iterations of the bound; 0: none.")] = 200,
    records: Annotated[
        str | None,
        Option(
            metavar="DIR|FILE.json",
            help="Write each run for `optsched check`: into a folder, or one policy's to a file.",
        ),
    ] = None,
    as_json: Json = False,
) -> int:
    """Simulate policies with sampled true epochs, audit the runs and bound the cost."""
    if not _is_record_file(records):
        require_folder(records)
    instance = load(file)
    if not isinstance(instance, RollingInstance):
        raise InputError(file, "schema", shown(instance.schema_), "optsched/rolling")
    declared.require("roll", "--bound", bound, declared.Iterations)
    options = RollingOptions.from_dict(dict(read_options(option)))
    settings = Settings(seed=seed, iterations=iterations, time_limit=time_limit)
    names = [name.strip() for name in policy.split(",")]
    if _is_record_file(records) and len(names) > 1:
        raise InputError("roll", "--records", shown(records), "a folder, for several policies")
    paths = {name: _record_path(records, instance.name, name, seed) for name in names}
    require_outputs(dict.fromkeys(paths.values()), files_read(file))
    runs, error = _run(instance, names, options, settings, bound)
    digest = instance_sha256(instance.to_dict())
    for run in runs if records is not None else ():
        path = _record_path(records, instance.name, run.records.policy, seed)
        solution = RollingSolution.of(run.records, run.metrics.total_cost, digest)
        write_document(str(path), solution.to_dict())
        show.note(f"wrote {path}")
    if as_json:
        print_json([run.to_dict() for run in runs])
    elif runs:
        show_runs.rolling_runs(runs)
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if error is not None:
        show.note(f"optsched: {error}")
        return NO_SOLUTION
    return DONE if all(run.check.feasible for run in runs) else INFEASIBLE


def _is_record_file(records: str | None) -> bool:
    """Whether --records names the file of one policy, not a folder."""
    return records is not None and records.endswith((".json", ".json.gz"))


def _record_path(records: str | None, instance: str, policy: str, seed: int) -> Path | None:
    if records is None or _is_record_file(records):
        return None if records is None else Path(records)
    return Path(records) / f"{instance}-{policy}-s{seed}.json"


def _run(
    instance: RollingInstance,
    names: list[str],
    options: RollingOptions,
    settings: Settings,
    bound: int,
) -> tuple[list[Run], KeyboardInterrupt | UnfinishedRunError | None]:
    """Return the complete runs, and the exception that ended the others."""
    from optsched.rolling.bounds.clairvoyant import BoundSettings
    from optsched.rolling.runs import run_policies
    from optsched.rolling.simulator.engine import UnfinishedRunError

    runs: list[Run] = []
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
