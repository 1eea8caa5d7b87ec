"""Python in a process of its own, with this package."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def python(
    *arguments: object,
    code: int | None = 0,
    variables: dict[str, str] | None = None,
    **settings: Any,
) -> subprocess.CompletedProcess[str]:
    """Run Python and expect an exit code; `variables` of the environment besides ours."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=environment(variables),
        text=True,
        timeout=600,
        check=False,
        **({"capture_output": True} | settings),
    )
    assert code in (None, done.returncode), done.stderr
    return done


def started(*arguments: object, **settings: Any) -> subprocess.Popen[str]:
    """Python at work; its output is dropped and its errors are kept, unless said otherwise."""
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE} | settings
    command = [sys.executable, *map(str, arguments)]
    return subprocess.Popen(command, env=environment(), text=True, **streams)


def environment(variables: dict[str, str] | None = None) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **(variables or {})}
