"""Rows of an artefact in the making: kept when it is stopped, and taken up by the same code."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import optsched
from optsched.errors import InputError
from optsched.experiments.papers.gathering import gather, making

SLOW = """
import os, signal, sys, time
from dataclasses import dataclass
from pathlib import Path
from optsched.experiments.papers.gathering import gather, making

@dataclass(frozen=True)
class Row:
    item: int
    square: float

def run(item):
    (Path(sys.argv[1]) / f"{os.getpid()}.pid").touch()
    time.sleep(0.1 if item < 2 else float(sys.argv[2]))
    return [Row(item, 1.0 * item * item)]

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the caller ignores
    with making(Path(sys.argv[1]), "slow", "small", None):
        print([row.square for row in gather(range(4), run, Row, parallel=True)])
"""


def digest(size: str) -> str:
    return hashlib.sha256(size.encode()).hexdigest()[:8]


TOO_LONG = 300
"""Seconds after which a test says that something does not end; also on a crowded machine."""
JOURNAL = f"a.{digest('s')}.unfinished.jsonl"


@dataclass(frozen=True)
class Row:
    """A row of these tests."""

    item: int
    value: float | None
    text: str


def made(
    folder: Path, size: str, run: Callable[[int], list[Row]], told: list[tuple[int, int]]
) -> list[Row]:
    with making(folder, "a", size, lambda done, total: told.append((done, total))):
        return gather([3, 1, 2], run, Row) + gather([3], run, Row)


def two(item: int) -> list[Row]:
    return [Row(item, item / 3, "a"), Row(item, None, "b\n")]


class Counting:
    """Runs items, remembers which, and stops at one."""

    def __init__(self, stop: int | None = None) -> None:
        self.stop, self.ran = stop, list[int]()

    def __call__(self, item: int) -> list[Row]:
        if item == self.stop:
            raise KeyboardInterrupt
        self.ran.append(item)
        return two(item)


def test_rows_come_in_the_order_of_items_and_are_told(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    rows = made(tmp_path, "s", two, told)
    assert [row.item for row in rows] == [3, 3, 1, 1, 2, 2, 3, 3]
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3), (0, 1), (1, 1)]
    assert list(tmp_path.iterdir()) == []


def test_what_is_finished_is_taken_up(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        made(tmp_path, "s", Counting(stop=2), [])
    again, told = Counting(), list[tuple[int, int]]()
    assert made(tmp_path, "s", again, told) == made(tmp_path / "fresh", "s", two, [])
    assert again.ran == [2, 3]  # of the first call only 2; the second was not reached
    assert told[0] == (2, 3)


def test_other_code_starts_anew(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        made(tmp_path, "s", Counting(stop=2), [])
    journal = tmp_path / JOURNAL
    head, *lines = journal.read_text(encoding="utf-8").splitlines()
    head = json.dumps({**json.loads(head), "code": "other"})
    journal.write_text("\n".join([head, *lines]), encoding="utf-8")
    again = Counting()
    made(tmp_path, "s", again, [])
    assert again.ran == [3, 1, 2, 3]


def test_another_size_leaves_what_is_kept(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        made(tmp_path, "s", Counting(stop=2), [])
    other = Counting()
    made(tmp_path, "larger", other, [])
    assert other.ran == [3, 1, 2, 3]
    again = Counting()
    made(tmp_path, "s", again, [])
    assert again.ran == [2, 3]


@pytest.mark.parametrize("cut", [1, 20, 100])
def test_a_line_cut_off_is_run_again(tmp_path: Path, cut: int) -> None:
    with pytest.raises(KeyboardInterrupt):
        made(tmp_path, "s", Counting(stop=2), [])
    journal = tmp_path / JOURNAL
    journal.write_bytes(journal.read_bytes()[:-cut])
    once = Counting(stop=2)
    with pytest.raises(KeyboardInterrupt):
        made(tmp_path, "s", once, [])
    assert once.ran in ([], [1])
    again = Counting()  # what ran after the cut is kept like the rest
    assert made(tmp_path, "s", again, []) == made(tmp_path / "fresh", "s", two, [])
    assert again.ran == [2, 3]


@pytest.mark.parametrize("text", ["", "[]", "{}\n3\n", "\x00\x01", '{"item": 1}\n' * 3])
def test_garbage_is_not_taken(tmp_path: Path, text: str) -> None:
    (tmp_path / JOURNAL).write_text(text, encoding="utf-8")
    again = Counting()
    made(tmp_path, "s", again, [])
    assert again.ran == [3, 1, 2, 3]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=r"unfinished\.jsonl"):
        made(tmp_path / "file", "s", two, [])


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize("how", ["SIGINT", "SIGKILL"])
def test_stopped_in_parallel(tmp_path: Path, how: str) -> None:
    """Stopped from outside: the rest of the work does not run on, and finished rows are kept."""
    (tmp_path / "slow.py").write_text(SLOW, encoding="utf-8")
    process = start(tmp_path, 2.0 * TOO_LONG)
    journal = tmp_path / f"slow.{digest('small')}.unfinished.jsonl"
    try:
        until(lambda: journal.is_file() and len(journal.read_text().splitlines()) == 3)
        process.send_signal(getattr(signal, how))
        assert process.wait(TOO_LONG) != 0
    finally:
        process.kill()
    for path in tmp_path.glob("*.pid"):
        until(lambda pid=int(path.stem): not alive(pid))  # type: ignore[misc]
    again = start(tmp_path, 0.0)
    assert again.communicate(timeout=TOO_LONG)[0].split() == b"[0.0, 1.0, 4.0, 9.0]".split()
    assert not journal.exists()


def start(folder: Path, seconds: float) -> subprocess.Popen[bytes]:
    command = [sys.executable, "slow.py", str(folder), str(seconds)]
    root = str(Path(optsched.__file__).resolve().parents[1])
    return subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": root},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + TOO_LONG
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was not yet collected does not."""
    try:
        os.kill(pid, 0)
        stat = Path(f"/proc/{pid}/stat")
        return not (stat.is_file() and stat.read_text().rsplit(")", 1)[1].split()[0] == "Z")
    except OSError:
        return False
