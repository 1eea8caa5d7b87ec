"""Scripts of benchmarks/ and docs/, which are no part of the package, as modules."""

import sys
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]


@cache
def script(name: str, folder: str = "benchmarks") -> ModuleType:
    spec = spec_from_file_location(name, ROOT / folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module  # data classes look it up
    spec.loader.exec_module(module)
    return module
