"""What the tests of models/PROBLEM share: other programs solve its files."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent


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
