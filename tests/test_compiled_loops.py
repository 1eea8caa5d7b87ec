"""Functions without reference counts: the option exists, and nothing leaks or dangles."""

from __future__ import annotations

import ast
import gc
import os
import pickle
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from oracles.random_online import random_case

from optsched import compiled_loops
from optsched.compiled_loops import njit_borrowing
from optsched.online.simulator.engine import simulate_online


def test_without_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    real = numba.njit

    def older(**options: bool) -> object:
        if "_nrt" in options:
            raise KeyError("_nrt")
        return real(**options)

    monkeypatch.setattr(numba, "njit", older)
    assert "_nrt" not in njit_borrowing(lambda a: a[0]).targetoptions


def test_arrays_of_the_caller_are_released() -> None:
    jobs, predicted = random_case(3)
    for _ in range(3):
        simulate_online(jobs, "a-srpt", predicted)
    gc.collect()
    before = [sys.getrefcount(each) for each in (jobs.submit, jobs.iterations, jobs.gpus)]
    for _ in range(20):
        simulate_online(jobs, "a-srpt-backfill", predicted)
    gc.collect()
    assert before == [sys.getrefcount(each) for each in (jobs.submit, jobs.iterations, jobs.gpus)]


def at_once(call: str) -> str:
    """A script that prints what a module's function returns, compiled or kept."""
    module = call.split(".")[0]
    start = f"import {module}; from optsched.compiled_loops import compiled_at_once"
    return f"{start}\nwith compiled_at_once(): print({call})"


PACKAGE = Path(compiled_loops.__file__).parent
NOWHERE = """
import os, sys, tempfile
sys.path.insert(0, sys.argv[1])
tempfile.tempdir = sys.argv[2]
from optsched import tiny
print(tiny.__file__)
from optsched.compiled_loops import compiled_at_once
with compiled_at_once():
    print(tiny.twice(4))
print(os.environ.get("NUMBA_CACHE_DIR"))
"""
TINY = """
from optsched.compiled_loops import njit

@njit(cache=True)
def twice(number):
    return 2 * number
"""


def nowhere(copy: Path, temporary: str) -> tuple[list[str], str]:
    """Lines and errors of a run where neither the package nor the home can be written."""
    gone = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "PYTHONPATH")
    kept = {name: value for name, value in os.environ.items() if name not in gone}
    done = subprocess.run(
        [sys.executable, "-c", NOWHERE, str(copy), temporary],
        env={**kept, "HOME": os.devnull},
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines(), done.stderr


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package into which not even root can write compiled code."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "copy" / "optsched", ignore=ignored)
    (tmp_path / "copy" / "optsched" / "tiny.py").write_text(TINY)
    for folder in {path.parent for path in (tmp_path / "copy").rglob("*.py")}:
        (folder / "__pycache__").write_text("in the way")
    return tmp_path / "copy"


@pytest.mark.skipif(os.name == "nt", reason="users and their rights: POSIX only")
def test_where_nothing_can_be_written(copy: Path, tmp_path: Path) -> None:
    (file, eight, place), error = nowhere(copy, str(tmp_path))
    assert file.startswith(str(copy))
    assert eight == "8"
    said = "optsched: neither its folder nor a home can be written: code is"
    assert error == f"{said} kept in {place}\n"
    kept = {path: path.stat().st_mtime_ns for path in Path(place).rglob("*.nbc")}
    assert kept
    assert Path(place).parent == tmp_path
    assert stat.S_IMODE(Path(place).stat().st_mode) == 0o700
    assert nowhere(copy, str(tmp_path))[0] == [file, eight, place]
    assert kept == {path: path.stat().st_mtime_ns for path in Path(place).rglob("*.nbc")}

    Path(place).chmod(0o777)  # anybody may have written into it: it is not read again
    other = nowhere(copy, str(tmp_path))[0][2]
    assert other != place
    assert stat.S_IMODE(Path(other).stat().st_mode) == 0o700

    (_, same, place), error = nowhere(copy, os.devnull)
    assert (same, place) == (eight, "None")
    assert error == f"{said} made anew by each process\n"


def test_every_compiled_function_is_ours() -> None:
    """numba's own decorator gives up where nothing can be written."""
    for path in PACKAGE.rglob("*.py"):
        if path != Path(compiled_loops.__file__):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
                names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
                assert "numba" not in names, path


def _names_outside_compiled(tree: ast.AST) -> set[str]:
    """Names that are read where Python runs, decorators left out."""
    found, nodes = set(), [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.FunctionDef):
            if not any("njit" in ast.unparse(each) for each in node.decorator_list):
                nodes += node.body
        else:
            nodes += ast.iter_child_nodes(node)
        if isinstance(node, ast.Name):
            found.add(node.id)
    return found


def test_python_calls_no_compiled_function_that_has_no_way_in() -> None:
    """A private name has none (`compiled_loops`): Python would run it itself, 80 times as slow."""
    for file in PACKAGE.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        private = {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and node.name.startswith("_")
            if any("njit" in ast.unparse(each) for each in node.decorator_list)
        }
        assert not private & _names_outside_compiled(tree), file


def test_what_is_compiled_first_decides_nothing(tmp_path: Path) -> None:
    """Compiled for a caller that is inlined, or that looks for no 0, a function is neither."""
    (tmp_path / "first.py").write_text(
        "from optsched.compiled_loops import *\n\n"
        "@njit_borrowing\ndef ratio(x, y):\n    return x / y\n\n"
        "@njit_dividing\ndef divides(x, y):\n    return ratio(x, y)\n\n"
        "@njit_borrowing\ndef more(x):\n    return x + 1.0\n\n"
        "@njit_inlined\ndef inlined(x):\n    return more(x)\n\n"
        "@njit_borrowing\ndef calls(x):\n    return inlined(x)\n"
    )
    code = (
        "import first\nfrom optsched.compiled_loops import compiled_at_once\n"
        "with compiled_at_once():\n"
        "    print(first.divides(3.0, 2.0), first.calls(1.0))\n"
        "    for each in first.more, first.inlined:\n"
        "        print('alwaysinline' in next(iter(each.inspect_llvm().values())))\n"
        "    try:\n        print(first.divides(1.0, 0.0))\n"
        "    except ZeroDivisionError:\n        print('refused')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(PACKAGE.parent)])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["1.5", "2.0", "False", "True", "refused"]


def test_kept_code_is_as_new_as_what_it_calls(tmp_path: Path) -> None:
    """An edit of another file's compiled function reaches its callers, kept on disk or not."""
    (tmp_path / "caller.py").write_text(
        "from optsched.compiled_loops import njit\nfrom callee import value\n\n"
        "@njit(cache=True)\ndef public():\n    return _private()\n\n"
        "@njit(cache=True)\ndef _private():\n    return value()\n"
    )
    told = []
    for number in (1, 22):
        (tmp_path / "callee.py").write_text(
            "from optsched.compiled_loops import njit\n\n"
            f"@njit(cache=True)\ndef value():\n    return {number}\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", at_once("caller.public()")],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(PACKAGE.parent)])},
            capture_output=True,
            text=True,
            check=True,
        )
        told.append(int(done.stdout))
    assert told == [1, 22]


def test_kept_code_of_an_older_version_is_made_anew(tmp_path: Path) -> None:
    """What was kept may name a class that has since moved: that is no error, only nothing kept."""
    (tmp_path / "one.py").write_text(
        "from optsched.compiled_loops import njit\n\n"
        "@njit(cache=True)\ndef value():\n    return 7\n"
    )
    code = at_once("one.value()")
    where = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(PACKAGE.parent)])}
    ask = [sys.executable, "-c", code]
    assert (
        subprocess.run(ask, env=where, capture_output=True, text=True, check=True).stdout == "7\n"
    )
    (index,) = tmp_path.glob("__pycache__/*.nbi")
    with index.open("rb") as file:
        version = pickle.load(file)
    index.write_bytes(pickle.dumps(version) + b"cno_such_module\nKind\n.")
    done = subprocess.run(ask, env=where, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "7\n"), done.stderr
