"""Which name of TVM is what here. The reference page ``legacy-api`` is made of these tables."""

from __future__ import annotations

from relay2relax.compat.table import absent, ir, relay, relay_parts, runtime
from relay2relax.compat.table.entry import Module, Table


def all_modules() -> Table:
    """Return the tables of all modules of TVM that are provided."""
    listed = (*runtime.MODULES, *ir.MODULES, *relay.MODULES, *relay_parts.MODULES, *absent.MODULES)
    names = {one.name for one in listed}
    # Packages that have no names of their own.
    parts = [name.split(".") for name in names]
    above = {".".join(one[:end]) for one in parts for end in range(1, len(one))} - names
    return (*listed, *(Module(name) for name in sorted(above)))
