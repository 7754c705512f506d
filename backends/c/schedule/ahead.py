"""What asks ahead for panels, so that they are near when a tile reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relay2relax.backends.c.access import PREFETCH
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.stages import Axis, points
from relay2relax.core.dtype import bits
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Buffer, BufferLoad, IntImm, PrimExpr, binary
from relay2relax.tir.ir.intrinsics import call
from relay2relax.tir.ir.stmt import Evaluate, Stmt


def asked_ahead(
    packed: Buffer, first: PrimExpr, reduced: Sequence[Axis], size: int, tiles: Sequence[Axis] | None, machine: Machine
) -> Iterator[Stmt]:
    """Yield what asks ahead for panels in a step of the axes ``reduced``, which reads ``size``
    elements of a panel that begins at ``first``.

    Panels follow each other in memory, and each of ``tiles`` reads the whole one. Where these are
    few, and all panels do not stay in the second cache, every step asks for its share of the next
    panel; else, and where nobody knows how many tiles there are, for what is read a little later.
    """
    element = bits(packed.dtype) // 8
    line, step, depth = machine.line_bytes // element, _number(reduced), static(points(reduced)) or 0
    count = None if tiles is None else static(points(tiles))
    stays = (static(packed.shape[0]) or 0) * element <= machine.cache_bytes // 2
    if stays or tiles is None or count is None or not 1 < count <= size or not depth:
        place, share = binary("*", step, IntImm(size)), size
        place = binary("+", place, IntImm(machine.ahead_bytes // element))
    else:
        share = -(-size // count)
        done = binary("+", binary("*", _number(tiles), IntImm(depth)), step)
        place = binary("+", IntImm(depth * size), binary("*", done, IntImm(share)))
    for begin in range(0, share, line):
        load = BufferLoad(packed, (simplify(binary("+", binary("+", first, place), IntImm(begin))),))
        yield Evaluate(call(PREFETCH, load, dtype="int32"))


def _number(axes: Sequence[Axis]) -> PrimExpr:
    """Return which round of loops over ``axes`` it is."""
    number: PrimExpr = IntImm(0)
    for axis in axes:
        number = binary("+", binary("*", number, axis.extent), axis.var)
    return number
