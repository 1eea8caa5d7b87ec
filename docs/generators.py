"""Write docs/generators.md: `python docs/generators.py`.

Each generator that a plan can name, with its parameters, read off the functions and classes
themselves; a test compares the page with what this script would write.
"""

from __future__ import annotations

import inspect
import re
import sys
import typing
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from optsched.generating import RESERVED, data_class, generator, generators, maker

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
`optsched generate rolling --trace`.
"""


class Parameter(typing.NamedTuple):
    """A row of a table."""

    name: str
    default: str
    text: str


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
    rows = "".join(f"| `{p.name}` | {p.default} | {p.text} |\n" for p in parameters(make))
    return (
        f"## {kind}\n\n{told}\n\nFiles: `optsched generate {COMMANDS.get(kind, kind)}`. "
        f'From Python: `optsched.generate("{kind}", ...)`, or '
        f"`{make.__module__}.{make.__name__}`.\n\n"
        f"| parameter | default | |\n|---|---|---|\n{rows}"
    )


def parameters(make: Callable[..., Any]) -> Iterator[Parameter]:
    """What a plan may set, in the order of the signature."""
    told, hints = described(make), typing.get_type_hints(make)
    for name, parameter in inspect.signature(make).parameters.items():
        inner = data_class(hints.get(name))
        if inner is not None:
            yield from attributes(inner)
        elif name not in RESERVED:
            yield Parameter(name, shown(parameter.default), told.get(name, ""))


def attributes(made_of: Any) -> Iterator[Parameter]:
    """The fields of a settings class, and those of the classes in it."""
    told, hints = described(made_of), typing.get_type_hints(made_of)
    made = maker(made_of)()
    for field in fields(made_of):
        inner = data_class(hints[field.name])
        if inner is None:
            yield Parameter(field.name, shown(getattr(made, field.name)), told.get(field.name, ""))
            continue
        values = getattr(made, field.name)
        for parameter in attributes(inner):
            default = shown(getattr(values, parameter.name))
            yield Parameter(parameter.name, default, parameter.text)


def described(thing: Any) -> dict[str, str]:
    """The texts of a numpydoc list of parameters or attributes."""
    lines, found, names = inspect.cleandoc(thing.__doc__ or "").splitlines(), {}, []
    for line in lines:
        head = re.match(r"^(\w+(?:, \w+)*) : \S", line)
        if head:
            names = head[1].split(", ")
            found.update(dict.fromkeys(names, ""))
        elif names and line.startswith("    "):
            for name in names:
                found[name] = f"{found[name]} {line.strip()}".strip().replace("|", "\\|")
        else:
            names = []
    return found


def shown(default: Any) -> str:
    """A default in a table."""
    if default is MISSING or default is inspect.Parameter.empty:
        return ""
    if default is None:
        return "-"
    return f"`{list(default) if isinstance(default, tuple) else default}`"


if __name__ == "__main__":
    main()
