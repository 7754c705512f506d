"""Programs in the cache: kept under the digests of the files they were made of.

A name is a hash of the files' digests, of how they were translated, of the compiler and of this
package's sources. So a file that changed, be it by a byte, is another program.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from relay2relax.backends.c.toolchain import content_key, find_compiler
from relay2relax.backends.cache import HEAD_BYTES, open_store, size_limit, sources_digest
from relay2relax.backends.cache.digests import Buffer, file_digest
from relay2relax.backends.ready.document import FORMAT, VERSION, Document, Tensor
from relay2relax.backends.ready.program import ALIGNMENT, Kernel, Ready
from relay2relax.backends.threads import thread_count
from relay2relax.core.errors import CompilerError, ParseError
from relay2relax.core.limits import active
from relay2relax.core.passes import PassContext
from relay2relax.core.schema import read_packed, write_packed

if TYPE_CHECKING:
    from relay2relax.backends.ready.described import Described
    from relay2relax.backends.vm.executable import Executable

# What a program goes through from its file on.
_PACKAGES = ("core", "tir", "ops", "relay_ir", "relax_ir", "graph", "backends", "translator")
# One program's weights take at most this share of the cache.
_SHARE = 4


@dataclass(frozen=True, slots=True)
class Place:
    """Where a program is kept."""

    name: str

    def load(self) -> Ready | None:
        """Return the program that was kept, None where there is none."""
        store = open_store()
        content = store.read(f"{self.name}.program")
        if content is None:
            return None
        try:
            document = read_packed(content, Document, "the program")
        except ParseError:
            return None
        code = store.read(document.library)
        weights = store.map(document.weights) if document.weights else None
        if code is None or (document.weights and weights is None):
            return None
        try:
            return Ready(document, Kernel(document, code, weights, thread_count()))
        except CompilerError:
            return None

    def keep(self, executable: Executable, weights: Collection[str] = (), shifts: Collection[str] = ()) -> None:
        """Keep ``main`` of an executable of target c where it is one kernel whose extents are all
        known; inputs that are called so are drawn as ``weights`` and ``shifts`` are.
        """
        from relay2relax.backends.ready.described import described

        found = described(executable)
        if found is None or sum(one.nbytes for one in found.arrays) > size_limit() // _SHARE:
            return
        store = open_store()
        parts, constants = _laid_out(found)
        named = f"{self.name}.weights" if parts else ""
        if parts:
            store.write(named, *parts)
        inputs = tuple(Tensor(n, s, d, n in weights, n in shifts) for n, s, d in found.inputs)
        results = tuple(Tensor("", shape, dtype) for shape, dtype in found.results)
        document = Document(
            FORMAT, VERSION, found.library, found.symbol, found.asks, named, constants, found.arena, inputs, results,
            found.order,
        )  # fmt: skip
        store.write(f"{self.name}.program", write_packed(document))


def place_of(files: Sequence[Path], options: str) -> Place | None:
    """Return where the program is kept that is made of ``files``, in this order, with ``options``.

    None where programs are not kept: within limits, within a ``PassContext``, and while the sources
    of this package are not those that Python has loaded. Raises OSError for a file that cannot be
    read, CompilerError where there is no C compiler.
    """
    if active() is not None or PassContext.entered():
        return None
    # The compiler is asked what it is while files are read.
    with ThreadPoolExecutor(1) as beside:
        compiler = beside.submit(find_compiler)
        digests = [file_digest(path).hex() for path in files]
        sources = sources_digest(_PACKAGES)
    return None if sources is None else Place(content_key(compiler.result(), sources, options, *digests))


def _laid_out(found: Described) -> tuple[list[Buffer], tuple[int, ...]]:
    """Return what is written of the arrays, and where each begins behind the head of an entry."""
    parts: list[Buffer] = []
    places: list[int] = []
    end = 0
    for array in found.arrays:
        filled = -(HEAD_BYTES + end) % ALIGNMENT
        parts += [bytes(filled), np.ascontiguousarray(array).reshape(-1).view(np.uint8).data]
        places.append(end + filled)
        end += filled + array.nbytes
    return parts, tuple(places)
