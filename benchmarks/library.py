"""The library: `python benchmarks/library.py`, what it costs to make, to verify and to install.

Of each set, in processor seconds of one core: the slowest of its instances to make, the slowest to
verify from its name on (made, its best solution checked, its best certificate verified), and all of
them to verify. Beside it a rival where there is one: the seconds in which the method that proved
the values did so, with its solver.
"""

import time
from pathlib import Path

from optsched.library.best_records import best_records
from optsched.library.sets import library_folder, library_set, load_entry, set_names
from optsched.library.verifying import verify_entry

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Print a row a set, and the sizes."""
    heads = (
        "set",
        "instances",
        "make, slowest s",
        "verify, slowest s",
        "verify, all s",
        "found in",
    )
    print(f"{heads[0]:26}{heads[1]:>10}{heads[2]:>17}{heads[3]:>19}{heads[4]:>15}{heads[5]:>11}")
    verify_entry(best_records(library_set(set_names()[0]).entries[:1])[0])  # imports, compiled code
    total = 0.0
    for name in set_names():
        made, verified, found, faults = [], [], 0.0, 0
        for known in best_records(library_set(name).entries):
            began = time.process_time()
            load_entry(known.entry)
            made.append(time.process_time() - began)
            began = time.process_time()
            faults += bool(verify_entry(known).faults)
            verified.append(time.process_time() - began)
            found += 0.0 if known.bound is None else known.bound.processor_seconds or 0.0
        total += sum(verified)
        row = f"{name:26}{len(made):10}{max(made):17.2f}{max(verified):19.2f}{sum(verified):15.1f}"
        print(f"{row}{found:11.1f}" + (f"  {faults} do not hold" if faults else ""))
    print(f"\nall verified in {total:.0f} s of one core, or half of that on two")
    for what, folder in (
        ("sets, records and runs", library_folder()),
        ("code", ROOT / "optsched" / "library"),
    ):
        files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]
        print(f"{what}: {sum(path.stat().st_size for path in files) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
