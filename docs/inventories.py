"""Where the names of other packages are explained, for links that a build without a network makes.

Sphinx would fetch each project's inventory; these few lines are those of the names in signatures
and docstrings here, in the same format.
"""

import zlib
from pathlib import Path

PYTHON, NUMPY = "https://docs.python.org/3/", "https://numpy.org/doc/stable/"
PANDAS, PYOMO = "https://pandas.pydata.org/docs/", "https://pyomo.readthedocs.io/en/stable/"
MATPLOTLIB = "https://matplotlib.org/stable/"
NAMES = {
    PYTHON: {
        "bool": ("py:class", "library/functions.html#bool"),
        "float": ("py:class", "library/functions.html#float"),
        "int": ("py:class", "library/functions.html#int"),
        "dict": ("py:class", "library/stdtypes.html#dict"),
        "list": ("py:class", "library/stdtypes.html#list"),
        "str": ("py:class", "library/stdtypes.html#str"),
        "tuple": ("py:class", "library/stdtypes.html#tuple"),
        "KeyboardInterrupt": ("py:exception", "library/exceptions.html#KeyboardInterrupt"),
        "ValueError": ("py:exception", "library/exceptions.html#ValueError"),
        "fractions.Fraction": ("py:class", "library/fractions.html#fractions.Fraction"),
        "bltin-boolean-values": ("std:label", "library/stdtypes.html#boolean-type-bool"),
        "iterable": ("std:term", "glossary.html#term-iterable"),
        "sequence": ("std:term", "glossary.html#term-sequence"),
        "pathlib.Path": ("py:class", "library/pathlib.html#pathlib.Path"),
    },
    NUMPY: {
        "numpy.ndarray": ("py:class", "reference/generated/numpy.ndarray.html"),
        "numpy.random.Generator": ("py:class", "reference/random/generator.html"),
    },
    PANDAS: {
        "pandas.DataFrame": ("py:class", "reference/api/pandas.DataFrame.html"),
    },
    PYOMO: {
        "pyomo.environ.ConcreteModel": ("py:class", "api/pyomo.environ.ConcreteModel.html"),
    },
    MATPLOTLIB: {
        "matplotlib.axes.Axes": ("py:class", "api/_as_gen/matplotlib.axes.Axes.html"),
        "matplotlib.figure.Figure": ("py:class", "api/_as_gen/matplotlib.figure.Figure.html"),
    },
}
ALIASES = {
    "Axes": "matplotlib.axes.Axes",
    "DataFrame": "pandas.DataFrame",
    "Path": "pathlib.Path",
    "Fraction": "fractions.Fraction",
}


def write_inventories(folder: Path) -> dict[str, tuple[str, str]]:
    """Write an inventory a project; what `intersphinx_mapping` is."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {}
    for address, names in NAMES.items():
        project = address.split("/")[2].split(".")[-2 if "readthedocs" not in address else 0]
        lines = [
            f"{name} {kind} {-1 if kind.startswith('std') else 1} {page} {name}\n"
            for name, (kind, page) in names.items()
        ]
        head = (
            f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n"
            "# The remainder of this file is compressed using zlib.\n"
        )
        file = folder / f"{project}.inv"
        file.write_bytes(head.encode() + zlib.compress("".join(lines).encode()))
        made[project] = (address, str(file))
    return made
