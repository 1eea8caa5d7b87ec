"""Commands of the library and the shipped instances, schemas and compiled kernels."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from optsched.cli.exit_codes import DONE, INFEASIBLE
from optsched.cli.settings import Json, Seed, print_json, require_folder
from optsched.cli.show import note
from optsched.errors import InputError, shown, suggestion
from optsched.files import write_document
from optsched.io.schemas import SCHEMAS, json_schema
from optsched.library import copy_shipped, shipped_names, shipped_plans
from optsched.library.best_records import best_records, status_counts
from optsched.library.records import unpacked
from optsched.library.sets import all_entries, library_set, required_entry, set_names, write_set
from optsched.problems import PROBLEMS

Store = Annotated[str | None, Option("--store", metavar="DIR", help="Folder of further records.")]
Name = Annotated[str, Argument(metavar="NAME", help="Library name: placement/plans-1/001.")]
Certificate = Annotated[str | None, Option(metavar="F", help="Certificate file of a bound.")]
Set = Annotated[str, Argument(metavar="SET", help="Library set, e.g. placement/plans-1.")]


library = typer.Typer(rich_markup_mode=None)
instances = typer.Typer(rich_markup_mode=None)


@library.command("list")
def list_names(
    name: Annotated[str | None, Argument(metavar="SET", help="Set to list.")] = None,
) -> int:
    """List the sets, or the instances of one."""
    if name is not None:
        for entry in library_set(name).entries:
            print(entry.name)
        return DONE
    for set_name in set_names():
        print(f"{set_name}  {len(library_set(set_name).entries)}")
    return DONE


@library.command()
def show(
    name: Name,
    as_json: Json = False,
    store: Store = None,
    solution: Annotated[str | None, Option(metavar="F", help="Write the best solution.")] = None,
    certificate: Annotated[str | None, Option(metavar="F", help="Write the best proof.")] = None,
) -> int:
    """Show the best value and bound of an instance, with their history."""
    (best,) = best_records([required_entry(name)], store)
    outputs = [
        (solution, best.value, "solution"),
        (certificate, best.certified, "certificate"),
    ]
    for path, record, kind in outputs:
        if path is not None:
            packed = None if record is None else getattr(record, kind)
            if packed is None:
                expected = f"an instance with a stored {kind}"
                raise InputError(name, "", f"no stored {kind}", expected)
            write_document(path, unpacked(packed, name))
    document = best.to_dict()
    if as_json:
        print_json(document)
        return DONE
    values = document.pop("best")
    history = document.pop("history")
    for key, value in {**document, **values}.items():
        print(f"{key:16} {'-' if value is None else value}")
    for record in best.history or ():
        proof = f", {record.proof}" if record.proof else ""
        print(f"{record.date}  {record.kind:6} {record.value!r}{proof}, by {record.by}")
        if record.command:
            print(f"            {record.command}")
    if not history:
        print("no records")
    return DONE


@library.command()
def status(as_json: Json = False, store: Store = None) -> int:
    """Count proved, certified and open instances by set."""
    if as_json:
        print_json(status_counts(best_records(all_entries(), store)))
        return DONE
    rows = {
        name: status_counts(best_records(library_set(name).entries, store)) for name in set_names()
    }
    total = {key: sum(row[key] for row in rows.values()) for key in next(iter(rows.values()))}
    keys = (
        *("instances", "proved", "proved_by_certificate", "within_1_percent"),
        *("certified", "best_bound_certified", "easy", "hard", "open"),
    )
    print(f"{'set':26}" + "".join(f"{key.replace('_', ' '):>23}" for key in keys))
    for name, row in {**rows, "all": total}.items():
        print(f"{name:26}" + "".join(f"{row[key]:23}" for key in keys))
    return DONE


@library.command("make")
def make_set(
    name: Set,
    folder: Annotated[str, Argument(metavar="DIR", help="Output folder.")],
) -> int:
    """Write the instances of a set as files, and verify their hashes."""
    require_folder(folder)
    note(f"{name}: wrote {write_set(name, folder)} instances to {folder}")
    return DONE


def verify(
    name: Annotated[str | None, Argument(metavar="NAME|FILE", help="Library name or file.")] = None,
    solution: Annotated[str | None, Option(metavar="F", help="Solution file.")] = None,
    certificate: Certificate = None,
    every: Annotated[bool, Option("--all", help="Verify the whole library.")] = False,
    sample: Annotated[int | None, Option(metavar="N", help="Verify N random instances.")] = None,
    seed: Seed = 0,
    as_json: Json = False,
    store: Store = None,
) -> int:
    """Verify solutions and certificates, in the library or in files, without a solver."""
    from optsched.library.verifying import sample as random_entries
    from optsched.library.verifying import verify_files, verify_many

    if (name is not None) + every + (sample is not None) != 1:
        raise InputError("verify", "", "none or several of NAME, --all, --sample", "one of them")
    if sample is not None and sample < 1:
        raise InputError("verify", "--sample", shown(sample), "1 or more")
    if store is not None and not Path(store).is_dir():
        raise InputError("verify", "--store", shown(store), "a folder of records")
    if name is not None:
        answers = verify_files(name, solution, certificate)
        if answers:
            return _print_verdicts(answers, as_json)
    chosen = [required_entry(name)] if name else list(all_entries()) if every else []
    verdicts = []
    for verdict in verify_many(chosen or random_entries(sample or 0, seed), store):
        verdicts.append(verdict)
        if not as_json:
            texts = verdict.faults or ("verified", *verdict.notes)
            print(f"{verdict.name}: {'; '.join(texts)}", flush=True)
    if as_json:
        print_json([verdict.to_dict() for verdict in verdicts])
    return INFEASIBLE if any(verdict.faults for verdict in verdicts) else DONE


def submit(
    name: Name,
    solution: Annotated[str, Argument(metavar="SOLUTION", help="Solution file.")],
    by: Annotated[str, Option(metavar="TEXT", help="Author of the solution.")],
    store: Annotated[str, Option(metavar="DIR", help="Folder to write the record to.")],
    certificate: Certificate = None,
    as_json: Json = False,
) -> int:
    """Check a solution, and record it if it is better than the best known one."""
    from optsched.library.verifying import submit as submit_solution

    require_folder(store, [solution, certificate])
    answers = submit_solution(name, solution, by=by, store=store, certificate=certificate)
    return _print_verdicts(answers, as_json)


def _print_verdicts(answers: list[Any], as_json: bool) -> int:
    if as_json:
        print_json([vars(answer) for answer in answers])
    else:
        for answer in answers:
            print(answer)
    return INFEASIBLE if any(answer.refused for answer in answers) else DONE


@instances.command("list")
def list_instances() -> int:
    """List the shipped instances, and the plans for sweeps."""
    for name in (*shipped_names(), *shipped_plans()):
        print(name)
    return DONE


@instances.command("copy")
def copy_instances(
    folder: Annotated[str, Argument(metavar="DIR", help="Output folder; overwrites nothing.")],
) -> int:
    """Copy the shipped instances and plans into a folder."""
    require_folder(folder)
    note(f"copied {copy_shipped(folder)} files into {folder}")
    return DONE


def schema(
    name: Annotated[str, Argument(metavar="NAME", help="Schema name, e.g. placement.")],
) -> int:
    """Print the JSON Schema of a file format."""
    if name not in SCHEMAS:
        raise InputError("schema", "", shown(name), suggestion(name, SCHEMAS))
    print_json(json_schema(name))
    return DONE


def warm_up(
    problems: Annotated[
        list[str] | None, Argument(metavar="[PROBLEM]...", help="Problems. [default: all]")
    ] = None,
) -> int:
    """Compile the numba code, once per machine. The command can be interrupted and resumed."""
    from optsched.methods import warm_up

    names = problems or list(PROBLEMS)
    for name in names:
        if name not in PROBLEMS:
            raise InputError("warm-up", "", shown(name), suggestion(name, PROBLEMS))
    for i, name in enumerate(names):
        note(f"{name}, {i + 1} of {len(names)}: {warm_up(name):.1f} s")
    return DONE
