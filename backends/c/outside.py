"""What is said of an index that lies outside its tensor, when a compiled function ended there."""

from __future__ import annotations

import ctypes

from relay2relax.backends.c.codegen.program import Entry
from relay2relax.core.errors import ExecutionError
from relay2relax.core.errors.table import running


def outside(library: ctypes.CDLL, entry: Entry, place: int) -> ExecutionError:
    """Return the error for the number that an entry of ``library`` has returned in this thread."""
    found = (ctypes.c_int64 * 2)()
    library["r2r_wrong"](found)
    site = entry.sites[place - 1]
    if site.dimension is None:
        what = f"element {found[0]} is outside {site.tensor!r}, which has {found[1]}"
    else:
        extent = f"dimension {site.dimension} of {site.tensor!r}, which has extent {found[1]}"
        what = f"index {found[0]} is outside {extent}"
    return ExecutionError(f"{entry.func.name}: {what}", kind=running.INDEX)
