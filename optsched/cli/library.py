"""Commands of the library: its instances, their best values and proofs, and submissions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from optsched.cli.exit_codes import BROKEN, DONE
from optsched.cli.settings import Json, Seed, print_json, require_folder
from optsched.cli.show import note
from optsched.errors import InputError, shown
from optsched.files import write_document
from optsched.library.best_records import best_records, status_counts
from optsched.library.records import unpacked
from optsched.library.sets import all_entries, library_set, required_entry, set_names, write_set

Store = Annotated[
    str | None, Option("--store", metavar="DIR", help="Records besides the shipped ones.")
]
Name = Annotated[str, Argument(metavar="NAME", help="Such as placement/plans-1/001.")]
Set = Annotated[str, Argument(metavar="SET", help="Such as placement/plans-1.")]


library = typer.Typer(rich_markup_mode=None)


@library.command("list")
def list_names(
    name: Annotated[str | None, Argument(metavar="SET", help="Only this set's.")] = None,
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
    solution: Annotated[
        str | None, Option("--solution", metavar="F", help="Write the best solution here.")
    ] = None,
    certificate: Annotated[
        str | None, Option("--certificate", metavar="F", help="Write the best proof here.")
    ] = None,
) -> int:
    """Show the best value and bound of an instance, with their history."""
    (best,) = best_records([required_entry(name)], store)
    outputs = [
        (solution, best.value, "solution"),
        (certificate, best.certified, "certificate"),
    ]
    for path, record, what in outputs:
        if path is not None:
            packed = None if record is None else getattr(record, what)
            if packed is None:
                raise InputError(name, "", f"no {what}", f"one that is known, to write {path}")
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
    """Count what is proved, certified and open, set by set."""
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
    folder: Annotated[str, Argument(metavar="DIR", help="A folder for the files.")],
) -> int:
    """Write the instances of a set as files; each must have its frozen hash."""
    require_folder(folder)
    note(f"{name}: {write_set(name, folder)} instances made in {folder}")
    return DONE


@library.command()
def measure(
    name: Set,
    store: Annotated[str, Option("--store", metavar="DIR", help="Where records go.")],
    time_limit: Annotated[float, Option("--time-limit", metavar="S", help="Seconds a run.")] = 60.0,
    methods: Annotated[
        str | None, Option("--methods", metavar="A,B", help="By default the set's.")
    ] = None,
    by: Annotated[str | None, Option("--by", metavar="TEXT", help="Author of the records.")] = None,
    only_open: Annotated[bool, Option("--open", help="Only instances not proved.")] = False,
) -> int:
    """Run methods on a set and store values, bounds and certificates; resumes a stopped run."""
    from optsched.library.measuring import measure as run

    names = None if methods is None else [method.strip() for method in methods.split(",")]
    runs = run(name, store, time_limit=time_limit, methods=names, by=by, only_open=only_open)
    for best, new in runs:
        excess = "-" if best.excess is None else f"{best.excess:.3%}"
        print(f"{best.entry.name}  {best.status}  {excess}  {new} records", flush=True)
    return DONE


def verify(
    name: Annotated[
        str | None, Argument(metavar="NAME|FILE", help="Of the library, or a file.")
    ] = None,
    solution: Annotated[
        str | None, Option("--solution", metavar="F", help="A solution file.")
    ] = None,
    certificate: Annotated[
        str | None,
        Option(
            "--certificate", metavar="F", help="Certificate of a bound, under the default options."
        ),
    ] = None,
    every: Annotated[bool, Option("--all", help="The whole library.")] = False,
    sample: Annotated[
        int | None, Option("--sample", metavar="N", help="Number of instances drawn.")
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
    store: Store = None,
) -> int:
    """Verify solutions and certificates, stored or in files, without a solver."""
    from optsched.library.verifying import sample as drawn
    from optsched.library.verifying import verify_files, verify_many

    if (name is not None) + every + (sample is not None) != 1:
        raise InputError("verify", "", "none or several", "one of NAME|FILE, --all, --sample N")
    if sample is not None and sample < 1:
        raise InputError("verify", "--sample", shown(sample), "1 or more")
    if store is not None and not Path(store).is_dir():
        raise InputError("verify", "--store", shown(store), "a folder of records")
    if name is not None:
        answers = verify_files(name, solution, certificate)
        if answers:
            return _answered(answers, as_json)
    chosen = [required_entry(name)] if name else list(all_entries()) if every else []
    verdicts = []
    for verdict in verify_many(chosen or drawn(sample or 0, seed), store):
        verdicts.append(verdict)
        if not as_json:
            words = verdict.faults or ("holds", *verdict.notes)
            print(f"{verdict.name}: {'; '.join(words)}", flush=True)
    if as_json:
        print_json([verdict.to_dict() for verdict in verdicts])
    return BROKEN if any(verdict.faults for verdict in verdicts) else DONE


def submit(
    name: Name,
    solution: Annotated[str, Argument(metavar="SOLUTION", help="A solution file.")],
    by: Annotated[str, Option("--by", metavar="TEXT", help="Author of the solution.")],
    store: Annotated[str, Option("--store", metavar="DIR", help="Where records go.")],
    certificate: Annotated[
        str | None, Option("--certificate", metavar="F", help="Certificate of a bound.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Check a solution, and record it if it is better than the best known one."""
    from optsched.library.submitting import submit as run

    require_folder(store, [solution, certificate])
    return _answered(run(name, solution, by=by, store=store, certificate=certificate), as_json)


def _answered(answers: list[Any], as_json: bool) -> int:
    if as_json:
        print_json([vars(answer) for answer in answers])
    else:
        for answer in answers:
            print(answer)
    return BROKEN if any(answer.refused for answer in answers) else DONE
