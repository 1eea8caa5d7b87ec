"""What is imported when: a light start, an independent checker, one home of the solvers."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from processes import ROOT, python

import optsched
from optsched import online

PACKAGE = ROOT / "optsched"
HEAVY = {"pandas", "pyomo", "numba", "scipy", "networkx", "highspy", "matplotlib"}
CHECKERS = [p for p in sorted(PACKAGE.glob("*/check.py")) if not (p.parent / "audit.py").exists()]
DATA = ("instance", "solution", "options")
VERIFY = "optsched.library.verify"
"""The verifier of certificates, which needs numpy alone: see below."""
SOLVER_INTERFACES = (
    *("highspy", "pyscipopt", "pyomo.contrib.solver", "pyomo.contrib.appsi"),
    *("pyomo.solvers", "pyomo.opt"),
)


HELP = "from optsched.cli import _code\nassert _code({!r}) == 0"


@pytest.mark.parametrize(
    ("code", "needed", "without"),
    [
        ("import optsched", "optsched", {*HEAVY, "numpy", "pydantic", "typer", "rich"}),
        ("import optsched.placement.check", "pydantic", {*HEAVY, "numpy"}),
        ("import optsched.plotting", "optsched", {"matplotlib"}),
        *((HELP.format([*of, "--help"]), "typer", HEAVY) for of in ([], ["solve"], ["generate"])),
    ],
)
def test_nothing_heavy_is_loaded(code: str, needed: str, without: set[str]) -> None:
    script = f"import sys, json\n{code}\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    names = json.loads(python("-c", script).stderr.splitlines()[-1])
    loaded = {name.partition(".")[0] for name in names}
    assert needed in loaded
    assert not loaded & without


# --- by reading the source


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, wherever in it, except for type checkers only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level and path.parent.name == "verify":  # a copy of that folder runs alone
                yield f"optsched.library.verify.{node.module}".removesuffix(".None")
                continue
            assert node.level == 0, f"{path}: imports are absolute here"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and "import" in ast.unparse(node.func):
            yield from (
                argument.value
                for argument in node.args
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
            )


def module_file(name: str) -> Path | None:
    path = ROOT.joinpath(*name.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if name.partition(".")[0] == "optsched" and candidate.is_file():
            return candidate
    return None


def reached(path: Path) -> set[str]:
    """Every module that a file imports, directly or through the package's own modules."""
    found: set[str] = set()
    waiting = [path]
    while waiting:
        for name in imports(waiting.pop()):
            if name not in found:
                found.add(name)
                home = module_file(name)
                if home is not None:
                    waiting.append(home)
    return found


def assert_reaches(path: Path, allowed: set[str], but: str = " ") -> None:
    """Assert that a file reaches these modules of the package only, and packages for data.

    Modules that begin with `but` are left out; pandas is for `to_frame` of instances.
    """
    names = {name for name in reached(path) if not name.startswith(but)}
    tops = {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names)
    assert tops <= {"optsched", "pydantic", "pydantic_core", "numpy", "pandas"}, path
    assert {name for name in names if module_file(name) is not None} <= allowed, path


@pytest.mark.parametrize("name", [path.parent.name for path in CHECKERS])
def test_a_checker_reaches_no_method(name: str) -> None:
    of_slice = {name, *(f"{name}.{part}" for part in DATA)}
    allowed = {f"optsched.{part}" for part in {*_SHARED, *of_slice}}
    assert_reaches(PACKAGE / name / "check.py", allowed, but=VERIFY)


def test_there_are_checkers() -> None:
    assert PACKAGE / "placement" / "check.py" in CHECKERS


def test_the_verifier_of_certificates_needs_numpy_alone() -> None:
    for path in (PACKAGE / "library" / "verify").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                tops = {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                tops = {str(node.module).partition(".")[0]}
            else:
                continue
            assert tops <= {"numpy", *sys.stdlib_module_names}, path.name


_SHARED = (
    *("arrays", "checking", "display", "errors", "files", "io", "io.numerals"),
    *("declared", "schema", "uncertainty", "uncertainty.distribution", "uncertainty.epochs"),
)
OF_SELECTION = {"selection", "selection.instance"}
AUDITS = {
    "online": (
        PACKAGE / "online" / "audit.py",
        *sorted((PACKAGE / "online" / "audit_rules").glob("*.py")),
        {"records", "policies", "policies.by_name"},
        {"placement", *(f"placement.{name}" for name in ("check", "instance", *DATA))},
    ),
    "rolling": (PACKAGE / "rolling/audit.py", {"records", "instance"}, OF_SELECTION),
}
"""By slice its audit's files, the data of the slice it may reach, and what of another slice."""


@pytest.mark.parametrize("name", AUDITS)
def test_an_audit_reaches_data_and_checkers_only(name: str) -> None:
    *files, own, others = AUDITS[name]
    shared = {*_SHARED, name}
    itself = {".".join(path.relative_to(PACKAGE).with_suffix("").parts) for path in files}
    itself = {module.removesuffix(".__init__") for module in itself}
    allowed = {f"optsched.{part}" for part in (*shared, *itself, *others)}
    allowed |= {"optsched", *(f"optsched.{name}.{part}" for part in own)}
    for path in files:
        assert_reaches(path, allowed)


def test_only_backends_knows_the_solvers() -> None:
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.parent == PACKAGE / "backends":
            continue
        assert not [name for name in imports(path) if name.startswith(SOLVER_INTERFACES)], path
        lines = path.read_text(encoding="utf-8").splitlines()
        examples = [line for line in lines if line.lstrip().startswith(">>>")]
        assert not any("SolverFactory" in line for line in lines if line not in examples), path
    models = set(imports(PACKAGE / "backends" / "models.py"))
    assert any(name.startswith("pyomo.contrib.solver") for name in models)


def test_no_module_needs_itself_to_be_imported() -> None:
    """No circle among what modules import where they begin; `CycleError` names one that is."""
    graph = {
        path: {module_file(name) for name in imports_at_the_top(path)} - {path, None}
        for path in PACKAGE.rglob("*.py")
    }
    assert len(list(TopologicalSorter(graph).static_order())) == len(graph)


def imports_at_the_top(path: Path) -> set[str]:
    """What a file imports before any of its functions is called; submodules by their own names."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            modules = {name for name in inside if module_file(name) is not None}
            found |= modules | ({str(node.module)} if inside != modules else set())
    return found


def test_the_reading_of_imports_can_fail() -> None:
    assert "pyomo.environ" in reached(PACKAGE / "placement" / "models" / "formulation.py")
    with pytest.raises(CycleError):
        TopologicalSorter({"a": {"b"}, "b": {"a"}}).prepare()


def test_every_public_name_is_there() -> None:
    for name in optsched.__all__:
        assert getattr(optsched, name) is not None
    assert set(optsched.__all__) <= set(dir(optsched))
    with pytest.raises(AttributeError, match="no attribute 'optimise'"):
        _ = optsched.optimise


def test_no_public_name_is_that_of_a_submodule() -> None:
    """Importing a submodule would set its name on the package, over a name found lazily."""
    for package in (optsched, online):
        folder = Path(package.__file__).parent
        inside = {path.stem for path in folder.glob("*.py")}
        inside |= {path.parent.name for path in folder.glob("*/__init__.py")}
        assert not inside & set(package.__all__), package
