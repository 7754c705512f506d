"""Where a sum is the integer that it says, and where it may have wrapped around.

Loops, extents and what is computed of them are positions: they fit into memory, and so into their
dtype. What a program loads or is given may be any number of its dtype. A sum in which that has a
part is an integer only where its limits say so; else it is known but for multiples of ``2**bits``.
Under the bounds ``Machine`` this holds of all sums: whoever writes a program may let positions wrap
around as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from relay2relax.core.dtype import bits, is_int, is_unsigned
from relay2relax.tir.arith.interval import ANYTHING, End, Interval
from relay2relax.tir.arith.sums import Sum
from relay2relax.tir.ir.expr import (
    Binary,
    BufferLoad,
    Call,
    FunctionCall,
    Given,
    IntImm,
    PrimExpr,
    Select,
    Var,
    children,
)

if TYPE_CHECKING:
    from relay2relax.tir.arith.algebra import Bounds, Limit


# Proofs that hold whatever a program computes take an open extent for at most this: what an int32
# can be. Whoever calls what was proved refuses larger ones.
MOST_EXTENT = (1 << 31) - 1


class Wraps(Exception):
    """A number of the integers that no expression of its dtype has."""


def range_of(dtype: str) -> Interval:
    """Return the smallest and the largest number of an integer dtype; of others nothing is
    known.
    """
    if dtype == "bool":
        return (0, 1)
    if not is_int(dtype):
        return (None, None)
    width = bits(dtype)
    return (0, (1 << width) - 1) if is_unsigned(dtype) else (-(1 << (width - 1)), (1 << (width - 1)) - 1)


class DataElse(Mapping[Var, "tuple[Limit, Limit]"]):
    """The limits of variables that are positions; all others may be anything that their dtype
    has.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds

    def __getitem__(self, key: Var) -> tuple[Limit, Limit]:
        return self.bounds[key] if key in self.bounds else range_of(key.dtype)

    def __iter__(self) -> Iterator[Var]:
        return iter(self.bounds)

    def __len__(self) -> int:
        return len(self.bounds)


class Machine(DataElse):
    """``DataElse`` for proofs that hold whatever a program computes: positions may wrap around."""


class Usual(Mapping[Var, "tuple[Limit, Limit]"]):
    """The limits of variables, of which those without any are extents such that three of them
    fit into their dtype.

    For ``Machine`` such an extent is any number that an int32 can be.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.wide = type(bounds) is Machine

    def __getitem__(self, key: Var) -> tuple[Limit, Limit]:
        low, high = range_of(key.dtype) if isinstance(key, Given) else self.bounds.get(key, ANYTHING)
        far = MOST_EXTENT if self.wide else 1 << (bits(key.dtype) - 2) // 3
        return (-far if low is None else low, far if high is None else high)

    def __iter__(self) -> Iterator[Var]:
        return iter(self.bounds)

    def __len__(self) -> int:
        return len(self.bounds)


class Overflow:
    """What data decide of expressions, under the bounds of one algebra."""

    def __init__(self, bounds: Bounds) -> None:
        self.known: dict[int, tuple[PrimExpr, bool]] = {}
        while type(bounds) is Usual:
            bounds = bounds.bounds
        self.positions = bounds.bounds if isinstance(bounds, DataElse) else None
        # Whether positions are looked at like data.
        self.every = type(bounds) is Machine

    def is_data(self, expr: PrimExpr) -> bool:
        """Whether what a program loads, or is given, has a part in ``expr``."""
        kind = type(expr)
        if kind is IntImm:
            return False
        if kind is Var:
            return self.positions is not None and expr not in self.positions
        found = self.known.get(id(expr))
        if found is None:
            found = self.known[id(expr)] = (expr, self.new_is_data(expr))
        return found[1]

    def new_is_data(self, expr: PrimExpr) -> bool:
        match expr:
            case Binary(_, a, b):
                return self.is_data(a) or self.is_data(b)
            case BufferLoad() | FunctionCall() | Given():
                return True
            case Call("index_within"):
                return False
            case Call("if_then_else", (_, a, b)) | Select(_, a, b):
                return self.is_data(a) or self.is_data(b)
            case Call():
                return True
        return any(map(self.is_data, children(expr)))

    def has_data(self, terms: Sum) -> bool:
        """Whether data have a part in one of ``terms``."""
        for term in terms:
            for atom in term:
                # Most are variables, of which most algebras know that they are positions.
                if (self.positions is not None or type(atom) is not Var) and self.is_data(atom):
                    return True
        return False

    def may_wrap(self, terms: Sum) -> bool:
        """Whether the sum of ``terms`` may be beyond its dtype, as far as their kind says."""
        return any(terms) if self.every else self.has_data(terms)

    def within(self, dtype: str, side: int, end: End) -> bool:
        """Whether a number, the lower (side 0) or the upper (side 1) end, is one of ``dtype``."""
        last = range_of(dtype)[side]
        return end is not None and last is not None and (end >= last if side == 0 else end <= last)

    def clipped(self, atom: PrimExpr, found: Interval) -> Interval:
        """Return the limits of ``atom``, which are ``found`` if nothing wraps around in it."""
        if atom.dtype not in ("int32", "int64") or not (self.every or self.is_data(atom)):
            return found
        if all(end is None or self.within(atom.dtype, side, end) for side, end in enumerate(found)):
            low, high = found
            least, most = range_of(atom.dtype)
            return (least if low is None else low, most if high is None else high)
        return range_of(atom.dtype)
