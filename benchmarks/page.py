"""Write docs/benchmarks.md: `python benchmarks/page.py [--only sweep,import_time]`.

Runs the benchmark scripts and puts what they print on the page, dated, with the command and the
machine. With --only, the other sections stay as they are.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
SCRIPTS = {
    "import_time": ([], "Time of `import optsched` and of the command line's help"),
    "sweep": (["--units", "10000"], "Overhead of a sweep on 10,000 trivial units"),
    "placement": (["--summary"], "Placement: seconds and excess of every method"),
    "makespan": (
        ["--part", "sjf-bco", "--seeds", "5", "--runs", "3"],
        "Makespan: seconds and certified excess of SJF-BCO",
    ),
    "selection": (
        ["--part", "sts,hull"],
        "Selection: one decision of STS, and speed profiles",
    ),
    "online": (
        ["--only", "paper", "--policies", "a-srpt,spjf", "--runs", "5"],
        "Online: 150,000 jobs on 250 servers",
    ),
    "rolling": (
        ["--jobs", "100"],
        "Rolling: seconds of a run and of a decision",
    ),
    "installed_size": ([], "Installed size, and what each extra adds"),
    "fuzz_files": (["--seconds", "20"], "Broken and hostile files: no traceback, and soon"),
}
"""Scripts of this folder, their arguments, and the headings of their sections."""

HEAD = """# Benchmarks

Written by `python benchmarks/page.py`; do not edit. Each section is what the named script printed
on the day and machine it names; machines that do other work at the time are slower.
"""


def main() -> None:
    """Run the scripts and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(SCRIPTS))
    chosen = parser.parse_args().only.split(",")
    kept = sections(PAGE.read_text(encoding="utf-8")) if PAGE.is_file() else {}
    for name in chosen:
        kept[name] = section(name)
    text = HEAD + "".join(f"\n{kept[name]}\n" for name in SCRIPTS if name in kept)
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text, encoding="utf-8")


def sections(text: str) -> dict[str, str]:
    """The page's sections by their scripts."""
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]
    found = {}
    for part in parts:
        match = re.search(r"`python benchmarks/(\w+)\.py", part)
        if match:
            found[match[1]] = part.strip()
    return found


def section(name: str) -> str:
    """Run a script; its section."""
    arguments, heading = SCRIPTS[name]
    command = shlex.join([f"benchmarks/{name}.py", *arguments])
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
    done = subprocess.run(
        [sys.executable, *shlex.split(command)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    day = datetime.now(UTC).date().isoformat()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return (
        f"## {heading}\n\n`python {command}`, {day}, {machine}\n\n"
        f"```text\n{done.stdout.strip()}\n```"
    )


if __name__ == "__main__":
    main()
