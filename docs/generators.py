"""Write docs/generators.md: `python docs/generators.py`.

Each generator that a plan can name, with its parameters, read off the functions and classes
themselves; a test compares the page with what this script would write.
"""

import inspect
import sys
from pathlib import Path
from typing import Any

from optsched.verbs.generating import generator, generators, parameters_of

PAGE = Path(__file__).resolve().parent.parent / "docs" / "generators.md"
COMMANDS = {"online": "workload"}
"""Commands of `optsched generate` that are not called like the generator."""
HEAD = """# Generator families

Written by `python docs/generators.py`; do not edit. A plan's family names a generator and its
`arguments`, the parameters below:

```toml
[[families]]
name = "half loaded"
generator = "rolling"
arguments = { nodes = 6, arrivals = "load", load = 0.5 }
count = 20            # seeds first_seed, first_seed + 1, ...
first_seed = 0
```

`optsched.generate("rolling", seed=3, nodes=6, arrivals="load", load=0.5)` makes one in Python;
`optsched generate KIND --help` names the options that write such instances as files. Equal
parameters and seeds give equal instances.
Jobs of a trace are read by `optsched import` and
`optsched generate rolling` or `selection` with `--trace`.
"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """The page as text."""
    return "\n".join([HEAD, *(section(kind) for kind in generators())])


def section(kind: str) -> str:
    """A generator: what its module says, and its parameters."""
    make = generator(kind, "generators", "")
    told = inspect.cleandoc(sys.modules[make.__module__].__doc__ or "")
    rows = "".join(
        f"| `{p.name}` | {shown(p.default)} | {p.text.replace('|', chr(92) + '|')} |\n"
        for p in parameters_of(make)
    )
    return (
        f"## {kind}\n\n{told}\n\nFiles: `optsched generate {COMMANDS.get(kind, kind)}`. "
        f'From Python: `optsched.generate("{kind}", ...)`, or '
        f"`{make.__module__}.{make.__name__}`.\n\n"
        f"| parameter | default | |\n|---|---|---|\n{rows}"
    )


def shown(default: Any) -> str:
    """A default in a table."""
    if default is inspect.Parameter.empty:
        return ""
    if default is None:
        return "-"
    return f"`{list(default) if isinstance(default, tuple) else default}`"


if __name__ == "__main__":
    main()
