"""What the tests of models/PROBLEM share: its files, its symbols, and other programs' optima."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parent.parent
NO_LABEL = "–"


def stored(problem: str) -> tuple[Path, str, dict[str, dict[str, Any]]]:
    """A room's folder, its README and its optima."""
    room = TOP / "models" / problem
    optima = json.loads((room / "optimum.json").read_text("utf-8"))
    return room, (room / "README.md").read_text("utf-8"), optima


def symbols_in(readme: str, method: str) -> list[tuple[str, str, str]]:
    """Name, kind and meaning of each component, as a README's table of a model has them."""
    text = readme.split(f"### Symbols: `{method}`", 1)[1].split("\n#", 1)[0]
    return re.findall(r"^\| `(\w+)` \| (\w+) \| (.*) \|$", text, flags=re.M)


def labelled(model: Any, label: re.Pattern[str]) -> dict[str, tuple[str, str]]:
    """Kind of each component of a model, and the equation that its documentation begins with."""
    rows = {}
    for component in model.component_objects():
        kind = component.ctype.__name__.replace("RangeSet", "Set")
        equation = label.match(component.doc)
        rows[component.name] = (kind, equation.group() if equation else NO_LABEL)
    return rows


def optimum_in(path: Path, *, relaxed: bool = False) -> float:
    """What HiGHS alone finds in a file of a model, or in its relaxation."""
    import highspy

    highspy.Highs.resetGlobalScheduler(True)  # a test before may have run it with more threads
    highs = highspy.Highs()
    highs.silent()
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("mip_feasibility_tolerance", 1e-8)
    highs.setOptionValue("solve_relaxation", relaxed)
    highs.readModel(str(path))
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return highs.getInfo().objective_function_value


def pyomo_solve(readme: str, line: int, folder: Path) -> float:
    """The optimum that a ``pyomo solve`` line of a README prints, run word for word."""
    command = re.findall(r"^pyomo solve .*$", readme, flags=re.MULTILINE)[line].split()
    beside_python = shutil.which("pyomo", path=str(Path(sys.executable).parent))
    saved = folder / "results.json"
    command = [word for word in command[1:] if not word.startswith("--save-results")]
    done = subprocess.run(
        [beside_python or str(shutil.which("pyomo")), *command, f"--save-results={saved}"],
        cwd=TOP,
        env=os.environ | {"PYTHONPATH": str(TOP)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads(saved.read_text(encoding="utf-8"))
    assert results["Solver"][0]["Termination condition"] == "optimal"
    return results["Problem"][0]["Upper bound"]
