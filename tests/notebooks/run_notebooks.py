"""Executes notebooks the way a reader does: fresh kernel, no folder of their own.

Usage: ``python tests/notebooks/run_notebooks.py [--write] notebooks/*.ipynb``. Fails on any error,
on a notebook that was committed without its outputs, and on a cell that now prints something else
than what is stored, unless it has the tag ``times``. The kernel is this very Python, whatever
kernels are registered; the notebooks are left as they are, unless ``--write`` asks for new outputs.
"""

import copy
import os
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from math import inf
from pathlib import Path
from queue import Empty
from typing import Any

import nbformat
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.channels import AsyncZMQSocketChannel
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from traitlets import Type, default
from traitlets.config import Config

TIMEOUT = 300
"""Seconds for one cell."""
FIGURE = re.compile(r"<Figure size \d+x\d+ with \d+ Axes>")
WIDGET = "application/vnd.jupyter.widget-view+json"
"""A slider: nothing without a kernel, so it is not kept; a picture beside it is."""


class ThisPython(KernelSpecManager):
    """Knows one kernel, whatever its name: ipykernel in the Python that runs this script."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        launch = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=launch, display_name="this Python", language="python")


class PatientChannel(AsyncZMQSocketChannel):
    """Asks again each second: a poll can miss what came while a widget's message was sent."""

    async def get_msg(self, timeout: float | None = None) -> dict[str, Any]:
        """The next message; raises Empty after so many seconds without one."""
        until = time.monotonic() + (inf if timeout is None else timeout)
        while True:
            try:
                return await super().get_msg(timeout=min(1.0, max(0.0, until - time.monotonic())))
            except Empty:
                if time.monotonic() >= until:
                    raise


class PatientClient(AsyncKernelClient):
    """A client with such channels."""

    shell_channel_class = Type(PatientChannel)
    iopub_channel_class = Type(PatientChannel)


class ThisPythonKernel(AsyncKernelManager):
    """Starts that kernel."""

    client_factory = Type(PatientClient)

    @default("kernel_spec_manager")
    def _this_python(self) -> KernelSpecManager:
        return ThisPython()


def _sockets_in(folder: str) -> Config:
    """Files in a folder for sockets: kernels that start at once may be given the same port."""
    if sys.platform == "win32":  # has no such sockets
        return Config()
    return Config(ThisPythonKernel={"transport": "ipc", "ip": str(Path(folder) / "kernel")})


def main(paths: Sequence[str]) -> int:
    """Run each notebook and print a line for it; returns how many failed, at most 1."""
    write = "--write" in paths
    paths = [path for path in paths if path != "--write"]
    if not paths:
        print("no notebooks given", file=sys.stderr)
        return 2
    _make_python_path_absolute()
    faults = 0
    for path in paths:
        began = time.perf_counter()
        fault = renew(Path(path)) if write else check(Path(path))
        faults += fault is not None
        verdict = fault or f"ran in {time.perf_counter() - began:.0f} s"
        print(f"{path}: {verdict}", flush=True)
    return min(faults, 1)


def check(path: Path) -> str | None:
    """What is wrong with a notebook; None if nothing is."""
    try:
        notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
        nbformat.validate(notebook)
    except (OSError, ValueError, nbformat.ValidationError) as error:
        return f"not a notebook: {error}"
    stored = copy.deepcopy(notebook)
    fault = _fault_as_committed(notebook) or _fault_when_run(notebook)
    return fault or _other_words(stored, notebook)


def renew(path: Path) -> str | None:
    """Run a notebook and keep its new outputs; what is wrong with it, None if nothing is."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    fault = _fault_when_run(notebook)
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times of the run
        if cell.cell_type == "code":
            cell.outputs = [one for one in cell.outputs if WIDGET not in one.get("data", {})]
    if fault is None:
        nbformat.write(notebook, path)  # type: ignore[no-untyped-call]
    return fault or _fault_as_committed(notebook)


def _fault_as_committed(notebook: nbformat.NotebookNode) -> str | None:
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    outputs = [output for cell in code for output in cell.outputs]
    if [cell.execution_count for cell in code] != list(range(1, len(code) + 1)):
        return "not committed as one run from its top"
    if not outputs:
        return "committed without outputs"
    if any(output.output_type == "error" for output in outputs):
        return "committed with an error"
    if any(output.get("name") == "stderr" for output in outputs):
        return "committed with warnings"
    return None


def _fault_when_run(notebook: nbformat.NotebookNode) -> str | None:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as sockets:
        client = NotebookClient(
            notebook,
            kernel_manager_class=ThisPythonKernel,
            kernel_name="python3",
            config=_sockets_in(sockets),
            timeout=TIMEOUT,
            shutdown_kernel="immediate",  # a busy kernel does not answer a request to end
            resources={"metadata": {"path": folder}},
        )
        try:
            client.execute()
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            code = [c for c in notebook.cells if c.cell_type == "code" and c.source.strip()]
            number = client.code_cells_executed
            return f"code cell {number} ({code[number - 1].id}) failed\n{error}"
    return None


def _other_words(stored: nbformat.NotebookNode, fresh: nbformat.NotebookNode) -> str | None:
    """The first cell that prints something else than it did; spaces do not count."""
    for was, now in zip(stored.cells, fresh.cells, strict=True):
        if was.cell_type == "code" and "times" not in was.metadata.get("tags", ()):
            said, says = _words(was), _words(now)
            if said != says:
                return f"{was.id} is stored with\n{' '.join(said)}\nand now says\n{' '.join(says)}"
    return None


def _words(cell: nbformat.NotebookNode) -> list[str]:
    texts = [
        each.get("text") or each.get("data", {}).get("text/plain", "")
        for each in cell.outputs
        if WIDGET not in each.get("data", {})
    ]
    return FIGURE.sub("<Figure>", " ".join(texts)).split()  # of whatever size


def _make_python_path_absolute() -> None:
    """Keep a PYTHONPATH such as "." good for a kernel that starts elsewhere."""
    entries = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    if entries:
        os.environ["PYTHONPATH"] = os.pathsep.join(str(Path(entry).resolve()) for entry in entries)


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(status)  # after a failure threads and exit handlers of the client may wait forever
