"""Where temporaries live: one arena, places reused once their last reader has run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from relay2relax.core.dtype import bits
from relay2relax.tir.arith import simplify
from relay2relax.tir.expr import Buffer, IntImm, PrimExpr, Var, binary
from relay2relax.tir.integers import integer

ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Arena:
    """Byte offset of each temporary, and the size of it all, symbolic where extents are; first and last stage of each."""

    offsets: Mapping[Buffer, PrimExpr]
    size: PrimExpr
    lifetimes: Mapping[Buffer, tuple[int, int]] = field(default_factory=dict)

    def most_alive(self, values: Mapping[Var, int]) -> int:
        """Return the bytes of the temporaries of that stage which needs the most: no plan can do with less."""
        alive: dict[int, int] = {}
        for buffer, (first, last) in self.lifetimes.items():
            size = integer(byte_size(buffer), values)
            for stage in range(first, last + 1):
                alive[stage] = alive.get(stage, 0) + size
        return max(alive.values(), default=0)


def byte_size(buffer: Buffer) -> PrimExpr:
    """Return the bytes of ``buffer``, rounded up to the alignment."""
    size: PrimExpr = IntImm((bits(buffer.dtype) + 7) // 8)
    for extent in buffer.shape:
        size = binary("*", size, extent)
    return simplify(binary("*", binary("//", binary("+", size, ALIGNMENT - 1), ALIGNMENT), ALIGNMENT))


def plan_memory(lifetimes: Mapping[Buffer, tuple[int, int]]) -> Arena:
    """Return places for the buffers, given the first and last stage at which each is used.

    Buffers of static size share memory first-fit, in the best of a few orders; buffers of one and the same symbolic
    size take each other's places behind them.
    """
    static: list[tuple[int, Buffer]] = []
    symbolic: list[tuple[PrimExpr, Buffer]] = []
    for buffer in lifetimes:
        wanted = byte_size(buffer)
        if isinstance(wanted, IntImm):
            static.append((wanted.value, buffer))
        else:
            symbolic.append((wanted, buffer))
    tried = [_first_fit(sorted(static, key=order), lifetimes) for order in _orders(lifetimes)]
    end, places = min(tried, key=lambda one: one[0])
    offsets: dict[Buffer, PrimExpr] = {buffer: IntImm(place) for buffer, place in places.items()}
    total: PrimExpr = IntImm(end)
    slots: dict[PrimExpr, list[tuple[PrimExpr, int]]] = {}
    for extent, buffer in sorted(symbolic, key=lambda entry: lifetimes[entry[1]][0]):
        first, last = lifetimes[buffer]
        free = slots.setdefault(extent, [])
        for number, (offset, until) in enumerate(free):
            if until < first:
                offsets[buffer] = offset
                free[number] = (offset, last)
                break
        else:
            offsets[buffer] = total
            free.append((total, last))
            total = simplify(binary("+", total, extent))
    return Arena(offsets, total, lifetimes)


def _orders(lifetimes: Mapping[Buffer, tuple[int, int]]) -> list[Callable[[tuple[int, Buffer]], tuple[int, ...]]]:
    """Return ways to sort buffers with their sizes: the largest first, the longest used first, as they come."""

    def steps(buffer: Buffer) -> int:
        first, last = lifetimes[buffer]
        return last - first + 1

    return [
        lambda entry: (-entry[0], lifetimes[entry[1]][0]),
        lambda entry: (-entry[0] * steps(entry[1]), lifetimes[entry[1]][0]),
        lambda entry: (-steps(entry[1]), -entry[0]),
        lambda entry: (lifetimes[entry[1]][0], -entry[0]),
    ]


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
