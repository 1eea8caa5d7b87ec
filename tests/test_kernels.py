"""Compiled kernels: Python for small work, code on disk, damaged or outdated code made anew."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.extending import register_jitable
from processes import ROOT, python

from optsched import kernels
from optsched.kernels import SMALL_WORK, always_compile, kernel, python_runs
from optsched.progress import compile_listener

LIMIT = 3


@register_jitable
def _doubled_above(value: float) -> float:
    return 2.0 * value if value > LIMIT else 0.0


@kernel
def total(values: np.ndarray) -> float:
    """Twice the sum of the values above a limit."""
    result = 0.0
    for value in values:
        result += _doubled_above(value)
    return result


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder for compiled code."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kept"))
    for cached in (kernels.cache_root, kernels.cache_folder):
        cached.cache_clear()
    yield tmp_path / "kept"
    for cached in (kernels.cache_root, kernels.cache_folder):
        cached.cache_clear()


def test_python_and_compiled_code_agree() -> None:
    values = np.arange(10.0)
    assert total.py_func(values) == total(values) == 78.0
    assert total(np.arange(5)) == 8.0  # another type


INTERRUPTED = """
import signal, threading
from typing import NamedTuple
import numpy as np
from optsched.kernels import kernel

class Sums(NamedTuple):
    values: np.ndarray

@kernel
def sums(n):
    x = 0.0
    for i in range(n):
        x += np.sin(x + i)
    return Sums(np.full(3, x))

sums(1)
main = threading.main_thread().ident
for _ in range(3):
    timer = threading.Timer(0.05, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    try:
        sums(20_000_000)
    except KeyboardInterrupt:
        print("interrupted")
    timer.join()
"""


@pytest.mark.skipif(os.name == "nt", reason="signals to a thread: POSIX only")
def test_an_interrupt_of_compiled_code_is_raised_after_it(tmp_path: Path) -> None:
    """Raised while numba makes the result, it would end the process with a fault."""
    (tmp_path / "program.py").write_text(INTERRUPTED)
    assert python(tmp_path / "program.py").stdout.split() == ["interrupted"] * 3


def test_size_decides_who_runs(place: Path) -> None:
    ours, values, before = kernel(total.py_func), np.arange(10.0), python_runs()
    assert ours.for_size(SMALL_WORK / 2)(values) == 78.0
    assert python_runs() == before + 1
    assert ours.for_size(SMALL_WORK)(values) == 78.0  # with the call before: too much
    assert ours.for_size(1)(values) == 78.0  # compiled by now
    assert python_runs() == before + 1
    assert kernel(total.py_func).for_size(1)(values) == 78.0  # by an earlier process
    assert python_runs() == before + 1
    with always_compile():
        assert kernel(total.py_func).for_size(1)(values) == 78.0
    assert python_runs() == before + 1


def test_without_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert kernel(total.py_func)(np.arange(10.0)) == 78.0


HELPER = "from numba.extending import register_jitable\nFACTOR = 2.0\n" + (
    "@register_jitable\ndef scaled(x):\n    return FACTOR * x\n"
)
ENTRY = (
    "from optsched.kernels import kernel\nfrom helper import scaled\nfrom constants import ADDED\n"
    "@kernel\ndef value(x):\n    return scaled(x) + ADDED\n"
)


@pytest.fixture
def run(tmp_path: Path) -> Callable[[], tuple[str, bool]]:
    """Run a kernel in a process of its own: what it returns, and whether it was compiled."""
    code = tmp_path / "code"
    code.mkdir()
    (code / "helper.py").write_text(HELPER)
    (code / "entry.py").write_text(ENTRY)
    (code / "constants.py").write_text("ADDED = 1.0\n")
    script = (
        "import entry\nfrom optsched.progress import compile_listener\n"
        "names = []\nwith compile_listener(names.append):\n    print(entry.value(3.0))\n"
        "print(names)\n"
    )

    def once() -> tuple[str, bool]:
        paths = os.pathsep.join([str(code), str(ROOT)])
        variables = {"PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
        done = python("-B", "-c", script, variables=variables)
        value, compiled = done.stdout.splitlines()
        return value, compiled != "[]"

    return once


def test_edits_of_helpers_and_constants_elsewhere_reach_the_code(
    run: Callable[[], tuple[str, bool]], tmp_path: Path
) -> None:
    assert [run(), run()] == [("7.0", True), ("7.0", False)]
    (tmp_path / "code" / "helper.py").write_text(HELPER.replace("FACTOR *", "10 * FACTOR *"))
    assert run() == ("61.0", True)
    (tmp_path / "code" / "constants.py").write_text("ADDED = 5.0\n")
    assert run() == ("65.0", True)


def _cut(size: float) -> Callable[[Path], None]:
    return lambda path: os.truncate(path, int(size * path.stat().st_size))


DAMAGES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "empty index": ("*.nbi", _cut(0)),
    "half an index": ("*.nbi", _cut(0.5)),
    "empty code": ("*.nbc", _cut(0)),
    "half the code": ("*.nbc", _cut(0.5)),
    "zeros for code": ("*.nbc", lambda path: path.write_bytes(bytes(path.stat().st_size))),
    "no code": ("*.nbc", Path.unlink),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_code_is_compiled_again(damage: str, place: Path) -> None:
    assert compiles() is True
    pattern, harm = DAMAGES[damage]
    files = list(place.rglob(pattern))
    assert files
    for file in files:
        harm(file)
    assert [compiles(), compiles()] == [True, False]


def compiles() -> bool:
    """Whether a kernel of a new process, as it were, is compiled when it is called."""
    compiled: list[str | None] = []
    with compile_listener(compiled.append):
        assert kernel(total.py_func)(np.arange(10.0)) == 78.0
    return bool(compiled)


def test_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    assert kernels.cache_root() is None
    assert [compiles(), compiles()] == [True, True]
