"""Write docs/benchmarks.md and docs/benchmarks/: `python benchmarks/page.py [--only sweep]`.

Runs the benchmark scripts and puts what they print on one page a problem, in docs/benchmarks/,
dated, with the command and the machine: hours, on a quiet machine. docs/benchmarks.md shows a
sentence and a few rows of each printout, which `headlines.toml` selects; `--summary` writes only
this page. With --only, the other sections stay as they are; `--only NAME --printed FILE` takes
what that section's command printed into a file the same day.
"""

import argparse
import os
import platform
import re
import shlex
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
PRINTOUTS = ROOT / "docs" / "benchmarks"
HEADLINES = ROOT / "benchmarks" / "headlines.toml"
PROBLEMS = {
    "placement": "Placement",
    "makespan": "Makespan",
    "selection": "Selection",
    "rolling": "Rolling",
    "online": "Online",
    "packing": "Packing",
    "package": "The package",
}
"""Headings of the summary; a section belongs to the problem that its name starts with."""
SECTIONS = {
    "import_time": ("Time of `import optsched` and of the command line's help", "import_time.py"),
    "cold_start": ("The first command on a machine, nothing compiled", "cold_start.py"),
    "installed_size": ("Installed size, and what each extra adds", "installed_size.py"),
    "library": ("The library: to make, to verify, to install", "library.py"),
    "sweep": ("Overhead of a sweep on 10,000 trivial units", "sweep.py --units 10000"),
    "placement": ("Placement: seconds and excess of every method", "placement.py --summary"),
    "placement-ring": (
        "Placement: random ring jobs of 128 to 1,024 GPUs",
        "placement.py --part ring",
    ),
    "makespan-sjf-bco": ("Makespan: SJF-BCO", "makespan.py --part sjf-bco"),
    "makespan-local-search": ("Makespan: local search", "makespan.py --part local-search"),
    "makespan-nested": ("Makespan: nested annealing", "makespan.py --part nested"),
    "makespan-large": ("Makespan: 1,600 jobs on 200 servers", "makespan.py --part large"),
    "makespan-huge": (
        "Makespan: 5,000 jobs on 500 servers",
        "makespan.py --part huge --seconds 60",
    ),
    "makespan-spanning": (
        "Makespan: jobs larger than every server",
        "makespan.py --part spanning",
    ),
    "makespan-ilp": ("Makespan: what the ILP proves", "makespan.py --part ilp"),
    "makespan-model": (
        "Makespan: the full model alone, from the area bound",
        "makespan.py --part model",
    ),
    "makespan-models": (
        "Makespan: the pipeline's models alone, from the area bound",
        "makespan.py --part models",
    ),
    "selection-proofs": (
        "Selection: proofs by patterns and columns",
        "selection.py --part patterns,six,columns",
    ),
    "selection-eight": (
        "Selection: eight and sixteen GPUs per node, left to columns",
        "selection.py --part eight",
    ),
    "selection-large": (
        "Selection: 1,000 distinct nodes x 4,000 jobs",
        "selection.py --part large",
    ),
    "selection-huge": (
        "Selection: 10,000 distinct nodes x 40,000 jobs",
        "selection.py --part huge",
    ),
    "selection-rivals": (
        "Selection: how far milp and minlp come",
        "selection.py --part rivals",
    ),
    "selection-times": (
        "Selection: one decision of STS",
        "selection.py --part sts --runs 5",
    ),
    "packing": ("Packing: bound, offline packing and policies on 6,212 GPUs", "packing.py"),
    "online": (
        "Online: the simulator, every policy",
        "online.py --runs 5 --only compile,command,paper,servers,python,predictors",
    ),
    "online-million": (
        "Online: a million jobs",
        "online.py --only million,memory",
    ),
    "online-bound": (
        "Online: how far the bound is from the best policy, and why",
        "online.py --only bound,flow",
    ),
    "rolling": ("Rolling: seconds of a run and of a decision", "rolling.py --profile"),
    "rolling-price": (
        "Rolling: saturated runs of price beside STS",
        "rolling.py --arrivals poisson-high --sharing off",
    ),
    "rolling-gap": (
        "Rolling: the gap to the clairvoyant bound, split in three",
        "rolling_gap.py",
    ),
    "online-page": ("Online: from a file of jobs to its page", "trace_to_page.py"),
    "limits": ("Time limits: how long a method goes on after its own", "limits.py"),
    "fuzz_files": (
        "Broken and hostile files: no traceback, and soon",
        "fuzz_files.py --seconds 20",
    ),
}
"""Sections by name: heading, and the script of this folder with its arguments."""
WITHOUT_SECTION = {
    "cp_sat.py": "a rival that the package does not have",
    "errata.py": "has a page of its own, docs/errata.md",
    "errata_results.py": "a part of errata",
    "fuzz_kinds.py": "a part of fuzz_files",
    "fuzz_mutations.py": "a part of fuzz_files",
    "machine.py": "what the others name",
    "measured.py": "writes docs/measured.md",
    "measured_model.py": "a part of measured",
    "measure_library.py": "finds the records of the library",
    "mutate_checkers.py": "asks the tests, measures nothing",
    "page.py": "this script",
    "printed_selection.py": "a part of errata",
    "solvers.py": "has a page of its own, docs/solvers.md",
    "selection_trees.py": "finds trees of prices for the library",
    "slices.py": "has a page of its own, docs/slices.md",
    "real_traces.py": "has a page of its own, docs/real-traces.md",
    "worlds.py": "says what ships, measures nothing",
}
"""The other scripts of this folder, and why they have none."""

GENERATED = "<!-- generated by `python benchmarks/page.py`; do not edit -->\n"
HEAD = f"""{GENERATED}# Benchmarks

Each table shows a few rows of what a script printed; the link below it leads to all rows, with
the command, the day and the machine. Times are seconds on one core of a machine with 2 cores
unless a table says otherwise; machines that do other work at the time are slower.
"""


def main() -> None:
    """Run the scripts and write the pages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="names of sections, separated by commas")
    parser.add_argument("--summary", action="store_true", help="run nothing; write the summary")
    parser.add_argument(
        "--printed", metavar="FILE", help="what the one section's command printed, if it ran before"
    )
    given = parser.parse_args()
    chosen = given.only.split(",") if given.only else list(SECTIONS)
    if given.printed and len(chosen) > 1:
        parser.error("--printed goes with one section")
    for name in [] if given.summary else chosen:
        printed = Path(given.printed).read_text(encoding="utf-8") if given.printed else run(name)
        PRINTOUTS.mkdir(exist_ok=True)
        kept = {**stored(), name: section(name, printed)}
        of = problem(name)  # its page after each run: hours of runs are not lost at the end
        (PRINTOUTS / f"{of}.md").write_text(printouts(of, kept), encoding="utf-8")
    PAGE.write_text(summary(stored()), encoding="utf-8")


def problem(name: str) -> str:
    """The key in `PROBLEMS` of a section."""
    first = name.partition("-")[0]
    return first if first in PROBLEMS else "package"


def stored() -> dict[str, str]:
    """The sections of all pages of printouts by name."""
    return sections("".join(p.read_text(encoding="utf-8") for p in sorted(PRINTOUTS.glob("*.md"))))


def sections(text: str) -> dict[str, str]:
    """The sections in a text by name."""
    parts = re.split(r"^(?=## |<!-- generated)", text, flags=re.MULTILINE)
    by_heading = {part.splitlines()[0].removeprefix("## "): part.strip() for part in parts if part}
    return {
        name: by_heading[heading]
        for name, (heading, _) in SECTIONS.items()
        if heading in by_heading
    }


def printouts(of: str, kept: dict[str, str]) -> str:
    """The page of one problem's printouts."""
    names = [name for name in SECTIONS if problem(name) == of and name in kept]
    head = f"{GENERATED}# Benchmarks: {PROBLEMS[of].lower()}\n\nThe [summary](../benchmarks.md) "
    return head + "shows a few rows of each.\n" + "".join(f"\n{kept[name]}\n" for name in names)


def summary(kept: dict[str, str]) -> str:
    """The text of docs/benchmarks.md: per section a sentence, a small table and a link."""
    entries = tomllib.loads(HEADLINES.read_text(encoding="utf-8"))
    text = HEAD
    for of, title in PROBLEMS.items():
        text += f"\n## {title}\n"
        for name in (n for n in SECTIONS if problem(n) == of and n in kept):
            heading = SECTIONS[name][0]
            anchor = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
            short = heading.removeprefix(f"{title}: ")
            entry = {**entries.get(entries[name].get("like"), {}), **entries[name]}
            text += f"\n### {short[0].upper()}{short[1:]}\n\n{entry['sentence']}\n\n"
            text += table(entry, kept[name]) + f"\n[All rows](benchmarks/{of}.md#{anchor})\n"
    pages = "".join(f"benchmarks/{of}\n" for of in PROBLEMS)
    return f"{text}\n```{{toctree}}\n:hidden:\n\n{pages}```\n"


def table(entry: dict[str, str], printout: str) -> str:
    """A Markdown table: a row for each match of a section's pattern, a cell for each group."""
    rows = re.findall(entry["rows"], printout, re.MULTILINE)
    columns = entry["columns"].split(" | ")
    alignment = ["---" if re.search("[a-z]", cell) else "---:" for cell in rows[0]]
    lines = [columns, alignment, *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def run(name: str) -> str:
    """What a section's script prints."""
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
    script, *arguments = shlex.split(SECTIONS[name][1])
    return subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / script), *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


def section(name: str, printed: str) -> str:
    """A section: heading, command, day, machine, and what was printed."""
    heading, command = SECTIONS[name]
    day = datetime.now(UTC).date().isoformat()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return (
        f"## {heading}\n\n`python benchmarks/{command}`, {day}, {machine}\n\n"
        f"```text\n{printed.strip()}\n```"
    )


if __name__ == "__main__":
    main()
