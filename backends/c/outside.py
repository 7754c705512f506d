"""What is said where a compiled function ended early: an index lies outside its tensor, memory is
lacking, or the call was to end.
"""

from __future__ import annotations

import ctypes

from relay2relax.backends.c.asking import raise_answer
from relay2relax.backends.c.codegen.program import Entry
from relay2relax.backends.c.codegen.threads import STOPPED
from relay2relax.core.errors import ExecutionError, Relay2RelaxError, mistake
from relay2relax.core.errors.table import running
from relay2relax.core.limits import no_memory


def outside(library: ctypes.CDLL, entry: Entry, place: int) -> Relay2RelaxError:
    """Return the error for the number that an entry of ``library`` has returned in this thread.

    Raises what the call ended with, where it was to end: a limit, or what a handler of a signal
    raised.
    """
    if place == STOPPED:
        raise_answer()
    found = (ctypes.c_int64 * 2)()
    library["r2r_wrong"](found)
    site = entry.sites[abs(place) - 1]
    function = site.function or entry.func.name
    if site.memory:
        return no_memory(found[0], f"the buffer {site.tensor!r} of {function}")
    index, where = f"element {found[0]}", f"{site.tensor!r}, which has {found[1]}"
    if site.dimension is not None:
        index = f"index {found[0]}"
        where = f"dimension {site.dimension} of {site.tensor!r}, which has extent {found[1]}"
    return ExecutionError(mistake(running.INDEX, index=f"{function}: {index}", place=where))
