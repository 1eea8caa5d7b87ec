"""Writes docs/library/: `python docs/library.py`, from the sets and records that ship.

A page a set and a page an open instance; an index with the counts of all; a picture of what is
proved; and of each set a picture of one solution (drawn again with `--pictures`).
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from optsched.library.best_records import OPEN, PROVED_GAP, BestRecords, best_records, status_counts
from optsched.library.records import Record, unpacked
from optsched.library.sets import LibrarySet, library_folder, library_set, load_entry, set_names
from optsched.problems import PROBLEMS

FOLDER = Path(__file__).resolve().parent / "library"
WRITTEN = "Written by `python docs/library.py`; do not edit.\n"
COUNTS = {
    "instances": "instances",
    "proved": "proved",
    "proved_by_certificate": "by a certificate alone",
    "within_1_percent": "within 1%",
    "certified": "with a certified bound",
    "easy": "easy",
    "hard": "hard",
    "open": "open",
}
INTRODUCTION = """\
# The library

{written}
{instances} frozen instances of seven problems, each with the best value that anybody has shown, the
best bound, and what proves it. An instance is named `problem/set/number`, and its name is taken
wherever a file is: `optsched compare placement/plans-1`, `instances = ["makespan/small-1"]` in a
plan, `optsched.load("selection/interval-1/003")`. Tables then show the excess over the best bound
of the library. An instance is made on demand from its generator's arguments and its seed, bit for
bit: the SHA-256 of its canonical JSON is frozen, and anything else is refused. A set never changes;
one with a flaw is followed by another, of the next number.

```
optsched library list [SET]             the sets, or a set's instances
optsched library show NAME              what is known of one; its best files
optsched library status                 what is proved, certified and open
optsched library make SET DIR           a set as files
optsched verify NAME | --all | --sample N        the stored solutions and certificates again
optsched submit NAME SOLUTION [--certificate F] --by TEXT --store DIR
python benchmarks/measure_library.py SET --store DIR      the set's methods, resumable
```

**Proofs.** A bound has a *certificate*: prices from which `optsched verify` works the bound out
anew, without a solver, with numpy alone (`optsched/library/verify`); where
prices alone fall short, a tree of whole numbers to branch on, with prices in every leaf. Or it
rests on an *enumeration* by the method named, on a *formula* that the method works out of the
instance, or on the *word of a solver*, with its version. A word goes further than a certificate if
it does so by more than 1e-6, which is what solvers leave open. *Easy*: value and proof took a
minute of processor time at most; *hard*: more; *open*: not proved to 1e-6.

**Submitting.** A solution is checked by code that shares nothing with the methods, under the
problem's default options; the answer is "better and recorded", "equal", "not better", "infeasible"
with the rule and the place, or one line that says why the file cannot be read. What is better is
added to the store named; nothing in it is ever changed.

**For papers.** Which sets, limits, metrics and intervals to report, the table in LaTeX and how to
cite: [the protocol](../how-to/library-results.md).

## Sets

"""


def main() -> None:
    """Write the pages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", action="store_true", help="draw the solutions again")
    drawn = parser.parse_args().pictures
    FOLDER.mkdir(exist_ok=True)
    written = pages()
    for path in FOLDER.glob("*.md"):
        if path.name not in written:  # no longer open
            path.unlink()
    for name, text in written.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    draw_status(FOLDER / "status.svg")
    for name in set_names():
        path = FOLDER / f"{page_name(name)}.png"
        if drawn or not path.exists():
            draw_solution(library_set(name), path)


def pages() -> dict[str, str]:
    """The text of every page, by file name."""
    known = {name: best_records(library_set(name).entries) for name in set_names()}
    texts = {f"{page_name(name)}.md": set_page(library_set(name), known[name]) for name in known}
    for each in (each for found in known.values() for each in found if each.status == OPEN):
        texts[f"{page_name(each.entry.name)}.md"] = "\n".join(_open_lines(each)) + "\n"
    return {"index.md": "\n".join(index_page(known)) + "\n", **texts}


def page_name(name: str) -> str:
    """The page of a set or an instance: its name in one word."""
    return name.replace("/", "-")


def index_page(known: dict[str, list[BestRecords]]) -> Iterator[str]:
    """The lines of the index."""
    rows = {name: status_counts(found) for name, found in known.items()}
    total = {key: sum(row[key] for row in rows.values()) for key in COUNTS}
    said = INTRODUCTION.format(written=WRITTEN, instances=total["instances"])
    yield said.rstrip("\n")
    yield ""
    yield f"| set | {' | '.join(COUNTS.values())} |"
    yield f"|---|{'---|' * len(COUNTS)}"
    for name, row in rows.items():
        cells = " | ".join(str(row[key]) for key in COUNTS)
        yield f"| [{name}]({page_name(name)}.md) | {cells} |"
    yield f"| all | {' | '.join(str(total[key]) for key in COUNTS)} |"
    yield ""
    yield "![What is proved, by set](status.svg)"
    yield ""
    yield "```{toctree}"
    yield ":hidden:"
    yield ""
    yield from (page_name(name) for name in known)
    yield "```"


def set_page(chosen: LibrarySet, known: Sequence[BestRecords]) -> str:
    """The page of a set."""
    return "\n".join(_set_lines(chosen, known)) + "\n"


def _set_lines(chosen: LibrarySet, known: Sequence[BestRecords]) -> Iterator[str]:
    problem = PROBLEMS[chosen.name.partition("/")[0]]
    counts = status_counts(known)
    yield f"# {chosen.name}"
    yield ""
    yield WRITTEN
    yield chosen.purpose
    yield ""
    counted = ", ".join(f"{counts[key]} {said}" for key, said in COUNTS.items())
    yield f"{counted}. `optsched library make {chosen.name} DIR` makes it."
    yield ""
    shown = pictured(known).entry.name
    yield f"![The best known solution of {shown}]({page_name(chosen.name)}.png)"
    yield ""
    yield f"*The best known solution of `{shown}`.*"
    yield ""
    yield "## Best known"
    yield ""
    yield f"Values are the {problem.objective}, {unit(chosen.name)}; open instances come first."
    yield ""
    features = list(known[0].entry.features)
    heads = ["", *features, "best value", "best bound", "certified bound", "excess %", "status"]
    yield f"| {' | '.join([*heads, 'proof'])} |"
    yield f"|{'---|' * (len(heads) + 1)}"
    for each in sorted(known, key=lambda k: (k.status != OPEN, k.entry.name)):
        yield f"| {' | '.join(_cells(each))} |"
    yield ""
    yield "## Runs"
    yield ""
    yield from _run_lines(chosen.name, known)
    still_open = [each for each in known if each.status == OPEN]
    if still_open:
        yield ""
        yield "```{toctree}"
        yield ":hidden:"
        yield ""
        yield from (page_name(each.entry.name) for each in still_open)
        yield "```"


def _run_lines(name: str, known: Sequence[BestRecords]) -> Iterator[str]:
    """What each method found within each limit, from the lines of the runs that ship."""
    bounds = {each.entry.name: each.bound.value for each in known if each.bound is not None}
    best = {each.entry.name: each.value.value for each in known if each.value is not None}
    log = library_folder() / f"{name}.runs.jsonl"
    by_method: dict[tuple[str, float], list[dict[str, Any]]] = {}
    for line in log.read_text(encoding="utf-8").splitlines():
        run = json.loads(line)
        by_method.setdefault((run["method"], float(run["limit"])), []).append(run)
    yield "Every run made, in processor seconds; the excess is over the best bound known today."
    yield ""
    heads = ("method", "limit s", "instances", "with a value", "mean excess %", "largest %")
    yield f"| {' | '.join(heads)} | at the best value | median s |"
    yield f"|{'---|' * (len(heads) + 2)}"
    for (method, limit), runs in sorted(by_method.items()):
        found = [run for run in runs if run.get("value") is not None]
        excess = [100 * max(run["value"] / bounds[run["instance"]] - 1, 0.0) for run in found]
        equal = sum(run["value"] <= best[run["instance"]] * (1 + PROVED_GAP) for run in found)
        seconds = [run["seconds"] for run in runs if "seconds" in run]
        middle = f"{median(seconds):.3g}" if seconds else "-"
        told = (f"{fmean(excess):.3f}", f"{max(excess):.3f}") if excess else ("-", "-")
        cells = (f"`{method}`", f"{limit:g}", len(runs), len(found), *told, equal, middle)
        yield f"| {' | '.join(map(str, cells))} |"


def unit(name: str) -> str:
    """The unit of the records' values: the objective's own, not that of tables."""
    units = {"placement": "seconds", "makespan": "slots", "online": "seconds"}
    return units.get(name.partition("/")[0], PROBLEMS[name.partition("/")[0]].unit)


def _cells(known: BestRecords) -> list[str]:
    number = known.entry.name.rpartition("/")[2]
    return [
        f"[{number}]({page_name(known.entry.name)}.md)" if known.status == OPEN else number,
        *(f"{value:g}" for value in known.entry.features.values()),
        *map(_number, (known.value, known.bound, known.certified)),
        "-" if known.excess is None else f"{100 * known.excess:.3f}",
        known.status,
        _proof(known),
    ]


def _proof(known: BestRecords) -> str:
    """What the best bound rests on."""
    if known.bound is None or known.bound.proof is None:
        return "-"
    if known.bound.proof in ("enumeration", "formula"):
        return f"{known.bound.proof} ({known.bound.method})"
    if known.bound.proof == "solver":
        return f"word of {known.bound.solver}"
    return known.bound.proof


def _number(record: Record | None) -> str:
    return "-" if record is None else f"{record.value:.9g}"


def _open_lines(known: BestRecords) -> Iterator[str]:
    """The page of an open instance."""
    entry = known.entry
    yield f"# {entry.name}"
    yield ""
    yield WRITTEN
    yield f"An open instance of [{entry.set_name}]({page_name(entry.set_name)}.md)."
    yield ""
    yield "| | |"
    yield "|---|---|"
    for key, value in entry.features.items():
        yield f"| {key} | {value:g} |"
    yield f"| best value | {_number(known.value)} {unit(entry.set_name)} |"
    yield f"| best bound | {_number(known.bound)} ({_proof(known)}) |"
    excess = "-" if known.excess is None else f"{100 * known.excess:.3f}%"
    yield f"| excess | {excess} |"
    made = ", ".join(f"{key} = {value!r}" for key, value in entry.arguments.items())
    yield f"| made by | seed {entry.seed} of {made or 'the defaults'} |"
    yield f"| sha256 | `{entry.sha256}` |"
    yield ""
    yield "## History"
    yield ""
    yield "| date | | | how | by |"
    yield "|---|---|---|---|---|"
    for record in known.history:
        how = f"`{record.command}`" if record.command else "submitted"
        proof = "" if record.proof is None else f", {record.proof}"
        yield f"| {record.date} | {record.kind}{proof} | {record.value:.9g} | {how} | {record.by} |"
    yield ""
    yield "## To submit"
    yield ""
    yield "A value below the best one, or, with any solution, a certificate of a better bound."
    yield ""
    yield "```"
    yield f"optsched library make {entry.set_name} DIR"
    yield f"optsched library show {entry.name} --solution BEST.json --certificate BEST-PROOF.json"
    yield f'optsched submit {entry.name} SOLUTION.json --by "your name" --store DIR'
    yield (
        f"optsched submit {entry.name} SOLUTION.json --certificate PROOF.json"
        ' --by "your name" --store DIR'
    )
    yield "```"


def pictured(known: Sequence[BestRecords]) -> BestRecords:
    """The instance whose solution is drawn: the first open one, or the first."""
    return next((k for k in known if k.status == OPEN and k.value), known[0])


def draw_solution(chosen: LibrarySet, path: Path) -> None:
    """Draw one solution of a set."""
    import matplotlib.pyplot as plt

    import optsched
    from optsched.plotting.axes import house_style
    from optsched.problem import resolve

    known = pictured(best_records(chosen.entries))
    if known.value is None:
        return
    problem = PROBLEMS[known.entry.problem]
    document = unpacked(known.value.solution or "", known.entry.name)
    with house_style():
        solution = resolve(problem.solution).from_dict(document, known.entry.name)
        figure = optsched.plot(load_entry(known.entry), solution).figure
        figure.savefig(path, dpi=100)
        plt.close(figure)


def draw_status(path: Path) -> None:
    """A bar a set: proved by certificates, by a word, and open."""
    import matplotlib.pyplot as plt

    from optsched.plotting.axes import COLOURS, FAINT, WIDTH, add_heading, house_style

    names = list(set_names())[::-1]
    counts = [status_counts(best_records(library_set(name).entries)) for name in names]
    certain = [row["proved_by_certificate"] for row in counts]
    words = [row["proved"] - row["proved_by_certificate"] for row in counts]
    left = [row["open"] for row in counts]
    with house_style():
        figure, ax = plt.subplots(figsize=(WIDTH, 0.3 * len(names) + 1.2), layout="constrained")
        begin = [0] * len(names)
        parts = (("proved by a certificate", certain), ("proved by a word", words), ("open", left))
        for (label, values), colour in zip(parts, (*COLOURS[0:8:6], FAINT), strict=True):
            ax.barh(names, values, left=begin, label=label, color=colour)
            begin = [a + b for a, b in zip(begin, values, strict=True)]
        ax.set_xlabel("instances")
        add_heading(ax)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)


if __name__ == "__main__":
    main()
