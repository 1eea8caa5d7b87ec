"""The packing problem has no options."""

from dataclasses import dataclass

from optsched.declared import Options


@dataclass(frozen=True)
class PackingOptions(Options):
    """No options."""
