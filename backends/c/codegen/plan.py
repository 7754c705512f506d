"""Where temporaries live: one arena, places reused once their last reader has run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from relay2relax.core.dtype import bits
from relay2relax.core.errors import UnsupportedError
from relay2relax.core.errors.table import running
from relay2relax.tir.analysis.reshape import size as size_of
from relay2relax.tir.arith.evaluate import integer
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.ir.expr import Binary, Buffer, IntImm, PrimExpr, Var, binary

ALIGNMENT = 64
# So many orders of buffers are tried besides the first, and so many pairs of buffers are looked at.
_MOST_TRIES = 32
_MOST_WORK = 1 << 21
# Bytes of the largest element.
_WIDEST = 8
# More than any address says.
_MOST_BYTES = 1 << 46


def check_bytes(name: str, shape: Sequence[PrimExpr], dtype: str) -> None:
    """Raise UnsupportedError for a tensor that no machine has memory for, whatever its open extents
    are.
    """
    known = math.prod(extent.value for extent in shape if isinstance(extent, IntImm)) * ((bits(dtype) + 7) // 8)
    if known > _MOST_BYTES:
        raise UnsupportedError(
            f"C has no memory for {name!r}: it has at least {known} bytes", kind=running.NOT_ON_BACKEND
        )


@dataclass(frozen=True, slots=True)
class Arena:
    """Byte offset of each temporary, and the size of it all, symbolic where extents are.

    First and last use of each.
    """

    offsets: Mapping[Buffer, PrimExpr]
    size: PrimExpr
    lifetimes: Mapping[Buffer, tuple[int, int]] = field(default_factory=dict)

    def most_alive(self, values: Mapping[Var, int]) -> int:
        """Return the bytes of the temporaries of that stage which needs the most: no plan can do
        with less.
        """
        alive: dict[int, int] = {}
        for buffer, (first, last) in self.lifetimes.items():
            size = integer(byte_size(buffer), values)
            for stage in range(first, last + 1):
                alive[stage] = alive.get(stage, 0) + size
        return max(alive.values(), default=0)


def byte_size(buffer: Buffer) -> PrimExpr:
    """Return the bytes of ``buffer``, rounded up to the alignment."""
    size = binary("*", size_of(buffer), IntImm((bits(buffer.dtype) + 7) // 8))
    return _rounded(size)


def _rounded(size: PrimExpr) -> PrimExpr:
    return simplify(binary("*", binary("//", binary("+", size, ALIGNMENT - 1), ALIGNMENT), ALIGNMENT))


def plan_memory(lifetimes: Mapping[Buffer, tuple[int, int]]) -> Arena:
    """Return places for the buffers, given the first and last stage at which each is used.

    Buffers share memory first-fit, in the best order that is found. Sizes that depend on extents
    are compared by their constant factors: those with the same symbolic factor share memory of
    their own, behind the others.
    """
    parts: dict[PrimExpr, list[tuple[int, Buffer]]] = {IntImm(1): []}
    for buffer in lifetimes:
        unit, count = _factors(buffer)
        parts.setdefault(unit, []).append((count, buffer))
    offsets: dict[Buffer, PrimExpr] = {}
    total: PrimExpr = IntImm(0)
    for unit, buffers in parts.items():
        end, places = _fit(buffers, lifetimes)
        for buffer, place in places.items():
            offsets[buffer] = simplify(binary("+", total, binary("*", unit, IntImm(place))))
        total = _rounded(binary("+", total, binary("*", unit, IntImm(end))))
    return Arena(offsets, total, lifetimes)


def _factors(buffer: Buffer) -> tuple[PrimExpr, int]:
    """Return two factors of a size in bytes, the symbolic and the constant one, so that all places
    suit any element.
    """
    match simplify(binary("*", size_of(buffer), IntImm((bits(buffer.dtype) + 7) // 8))):
        case Binary("*", unit, IntImm(count)):
            step = ALIGNMENT if count >= ALIGNMENT else _WIDEST
            return unit, -(-count // step) * step
    size = byte_size(buffer)
    return (IntImm(1), size.value) if isinstance(size, IntImm) else (size, 1)


def _orders(lifetimes: Mapping[Buffer, tuple[int, int]]) -> list[Callable[[tuple[int, Buffer]], tuple[int, ...]]]:
    """Return ways to sort buffers with their sizes: the largest first, the longest used first, as
    they come.
    """

    def steps(buffer: Buffer) -> int:
        first, last = lifetimes[buffer]
        return last - first + 1

    return [
        lambda entry: (-entry[0], lifetimes[entry[1]][0]),
        lambda entry: (-entry[0] * steps(entry[1]), lifetimes[entry[1]][0]),
        lambda entry: (-steps(entry[1]), -entry[0]),
        lambda entry: (lifetimes[entry[1]][0], -entry[0]),
    ]


def _fit(
    buffers: Sequence[tuple[int, Buffer]], lifetimes: Mapping[Buffer, tuple[int, int]]
) -> tuple[int, dict[Buffer, int]]:
    """Return the size of all, and where each lies, as small as is found."""
    tried = [sorted(buffers, key=order) for order in _orders(lifetimes)]
    found = [_first_fit(order, lifetimes) for order in tried]
    best = min(range(len(tried)), key=lambda number: found[number][0])
    (end, places), order = found[best], tried[best]
    alive: dict[int, int] = {}
    for size, buffer in buffers:
        for stage in range(lifetimes[buffer][0], lifetimes[buffer][1] + 1):
            alive[stage] = alive.get(stage, 0) + size
    least = max(alive.values(), default=0)
    top, last = end, places
    for _ in range(min(_MOST_TRIES, _MOST_WORK // max(len(buffers), 1) ** 2)):
        if end == least:
            break
        # What lies highest is placed first the next time.
        order = sorted(order, key=lambda entry: last[entry[1]] + entry[0] != top)
        top, last = _first_fit(order, lifetimes)
        if top < end:
            end, places = top, last
    return end, places


def _first_fit(
    buffers: Sequence[tuple[int, Buffer]], lifetimes: Mapping[Buffer, tuple[int, int]]
) -> tuple[int, dict[Buffer, int]]:
    """Return the size of all, and where each lies: in the first gap among those alive with it."""
    placed: list[tuple[int, int, Buffer]] = []
    end = 0
    for size, buffer in buffers:
        start = 0
        for low, high in sorted((b, e) for b, e, other in placed if _overlap(lifetimes[buffer], lifetimes[other])):
            if start + size <= low:
                break
            start = max(start, high)
        placed.append((start, start + size, buffer))
        end = max(end, start + size)
    return end, {buffer: start for start, _, buffer in placed}


def _overlap(a: Sequence[int], b: Sequence[int]) -> bool:
    return a[0] <= b[1] and b[0] <= a[1]
