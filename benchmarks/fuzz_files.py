"""Fuzz the reading of files: `python benchmarks/fuzz_files.py [--seconds 30 | --count 100000]`.

Broken and hostile files of every kind that the package reads (`fuzz_kinds`) go through what reads
them, some through the command line's own entry. Each must be taken, or refused in one line (exit
code 2), within 10 seconds and 1 GB: a child process does the reading under these limits, and the
one after it goes on where it died. What fails is kept, named by its seed, in the folder printed at
the end. File number N of a seed is always the same.
"""

import argparse
import contextlib
import gzip
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent)]

from fuzz_kinds import Kind, kinds  # noqa: E402

from optsched.cli import _code  # noqa: E402
from optsched.errors import InputError, MissingExtraError, NotApplicableError  # noqa: E402

SLOWEST_ALLOWED = 10
"""Seconds of processor time, so that a busy machine finds no more than an idle one."""
HUNG = 120
MOST_MEMORY = 2**30
LONGEST_LINE = 2000
BY_COMMAND = 50
"""One file in so many goes through the command line."""
LARGE = 400
"""One file in so many is as large as may be."""
UNREADY = 77


def main() -> int:
    """Break files as asked and print what happened; 1 if one broke the contract."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=None, help="by default 30, or no limit")
    parser.add_argument("--count", type=int, default=None, help="at most so many files")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="optsched-fuzz-"))
    seconds = arguments.seconds
    if seconds is None:
        seconds = 30.0 if arguments.count is None else 1e9
    faults = fuzz(folder, seconds, arguments.count or 10**9, arguments.seed)
    if not faults:
        shutil.rmtree(folder)
    return 1 if faults else 0


def fuzz(folder: Path, seconds: float, count: int, seed: int) -> list[str]:
    """Break files in a folder; prints a report and returns what broke the contract."""
    folder.mkdir(parents=True, exist_ok=True)
    made = list(kinds(folder))
    tally = Tally()
    ends, number = time.monotonic() + seconds, 0
    while number < count and time.monotonic() < ends:
        number = _watched(folder, made, seed, number, count, ends, tally)
    tally.report()
    return tally.faults


@dataclass
class Tally:
    """What the files gave."""

    files: Counter[str] = field(default_factory=Counter)
    codes: dict[str, Counter[int]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "none")

    def add(self, kind: str, label: str, code: int, seconds: float, fault: str | None) -> None:
        """Count a file."""
        self.files[kind] += 1
        self.codes.setdefault(kind, Counter())[code] += 1
        self.slowest = max(self.slowest, (seconds, label))
        if fault is not None:
            self.faults.append(f"{label}: {fault}")
            print(f"FAULT {label}: {fault}", flush=True)

    def report(self) -> None:
        """Print counts by kind, the slowest file and the faults."""
        print(f"{'file':24} {'count':>7}  exit codes")
        for kind, number in sorted(self.files.items()):
            codes = ", ".join(f"{c}: {n}" for c, n in sorted(self.codes[kind].items()))
            print(f"{kind:24} {number:7}  {codes}")
        seconds, label = self.slowest
        print(f"{sum(self.files.values())} files; slowest {seconds:.3f} s: {label}")
        print(f"{len(self.faults)} faults")


def _watched(
    folder: Path, made: list[Kind], seed: int, first: int, count: int, ends: float, tally: Tally
) -> int:
    """Let a child go through files from `first` on; the number of the next one when it ends."""
    get, put = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(get)
        _run(folder, made, seed, first, count, ends, put)
    os.close(put)
    number = first
    with os.fdopen(get, encoding="utf-8") as stream:
        for line in stream:
            number, *rest = json.loads(line)
            tally.add(*rest)
            number += 1
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) == UNREADY:
        raise RuntimeError("a valid file is refused: see above")
    if status != 0:
        kind, label, raw = _file(made, seed, number)
        kept = _keep(folder, seed, number, kind, raw)
        how = f"the process ended with status {status} (27: over {SLOWEST_ALLOWED} s, 14: hung)"
        tally.add(kind.name, f"{label}: {kept}", 4, 0.0, how)
        number += 1
    return number


def _run(
    folder: Path, made: list[Kind], seed: int, first: int, count: int, ends: float, put: int
) -> None:
    """In the child: try files under the limits, and tell the parent of each."""
    status = 1
    try:
        with os.fdopen(put, "w", encoding="utf-8") as stream:
            status = UNREADY
            _warm_up(folder, made)
            status = 1
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            limit = pages * resource.getpagesize() + MOST_MEMORY
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            for number in range(first, count):
                if time.monotonic() > ends:
                    break
                stream.write(json.dumps([number, *_tried(folder, made, seed, number)]) + "\n")
                stream.flush()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _warm_up(folder: Path, made: list[Kind]) -> None:
    """Read the valid files, so that imports and compiled code are not timed."""
    for kind in made:
        path = folder / f"valid.{kind.ending}"
        raw = kind.valid
        if kind.ending.endswith(".gz"):
            raw = gzip.compress(raw)
        path.write_bytes(raw)
        kind.read(str(path))


def _file(made: list[Kind], seed: int, number: int) -> tuple[Kind, str, bytes]:
    """File `number` of a seed: its kind, what it is, and its bytes."""
    rng = random.Random(f"{seed}/{number}")
    kind = made[number % len(made)]
    makers = kind.large if kind.large and rng.randrange(LARGE) == 0 else kind.makers
    maker = rng.choice(makers)
    return (
        kind,
        f"{kind.name}, {maker.__name__}, seed {seed}, file {number}",
        maker(rng, kind.valid),
    )


def _tried(
    folder: Path, made: list[Kind], seed: int, number: int
) -> tuple[str, str, int, float, str | None]:
    kind, label, raw = _file(made, seed, number)
    path = folder / f"tried.{kind.ending}"
    path.write_bytes(raw)
    signal.setitimer(signal.ITIMER_PROF, SLOWEST_ALLOWED)
    signal.alarm(HUNG)
    began = time.process_time()
    code, error = _by_command(kind, path) if number % BY_COMMAND == 0 else _by_reader(kind, path)
    seconds = time.process_time() - began
    signal.alarm(0)
    signal.setitimer(signal.ITIMER_PROF, 0)
    fault = next(_faults(code, error, seconds), None)
    if fault is not None:
        fault = f"{fault}: kept as {_keep(folder, seed, number, kind, raw)}: {error[-600:]}"
    return kind.name, label, code, seconds, fault


def _by_reader(kind: Kind, path: Path) -> tuple[int, str]:
    """Code and line that the command line would give, without its parsing."""
    try:
        kind.read(str(path))
    except (InputError, MissingExtraError) as error:
        return 2, f"optsched: {error}\n"
    except NotApplicableError as error:
        return 2, f"optsched: {error}\n"
    except BaseException:
        return 4, traceback.format_exc()
    return 0, ""


def _by_command(kind: Kind, path: Path) -> tuple[int, str]:
    if kind.name.startswith("trace "):
        made = str(path.parent / "imported" / "made.csv")
        argv = ["import", kind.name.split()[1], str(path), "-o", made]
    elif kind.name == "store":
        argv = ["table", str(path)]
    elif kind.name in ("placement", "makespan", "selection", "speed-profile", "packing"):
        argv = ["explain", str(path), "--method", "exact"]
        argv = ["compare", str(path), "--methods", "exact", "--time-limit", "1", "--json"]
    else:
        return _by_reader(kind, path)
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        code: int = _code(argv)
    return code, error.getvalue()


def _faults(code: int, error: str, seconds: float) -> Iterator[str]:
    if code not in (0, 1, 2):
        yield f"exit code {code}"
    lines = error.splitlines()
    if code == 2 and (len(lines) != 1 or not error.startswith("optsched: ")):
        yield f"{len(lines)} lines on standard error"
    if code == 2 and len(error) > LONGEST_LINE:
        yield f"a line of {len(error)} characters"
    if seconds > SLOWEST_ALLOWED:
        yield f"{seconds:.1f} s"


def _keep(folder: Path, seed: int, number: int, kind: Kind, raw: bytes) -> Path:
    kept = folder / f"fault-{seed}-{number}.{kind.ending}"
    kept.write_bytes(raw)
    return kept


if __name__ == "__main__":
    sys.exit(main())
