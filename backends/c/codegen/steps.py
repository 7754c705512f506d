"""How many steps the loops of a statement take: what a call comes to is known before it is made,
and long loops are cut so that somebody may end them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from relay2relax.core.dtype import bits
from relay2relax.tir.analysis.reshape import size
from relay2relax.tir.arith.evaluate import is_computed
from relay2relax.tir.ir.expr import Binary, Buffer, Cast, IntImm, PrimExpr, Var, binary, cast
from relay2relax.tir.ir.stmt import Allocate, For, If, Let, Seq, Stmt, While

# Temporaries up to this size live on the stack.
_STACK_BYTES = 1 << 17
_ONE = IntImm(1, "int64")


@dataclass(frozen=True, slots=True)
class Steps:
    """How many steps of innermost loops are known of, and whether there are no others.

    A loop of which only data, or loops around, say how often it runs counts as one round.
    """

    count: PrimExpr
    known: bool = True

    def reach(self, most: int) -> bool:
        """Whether there may be as many steps as ``most``."""
        return not self.known or not isinstance(self.count, IntImm) or self.count.value >= most


def on_stack(buffer: Buffer) -> bool:
    """Whether memory of a kernel's own lies on the stack, as long as there is room."""
    count = size(buffer)
    small = isinstance(count, IntImm) and count.value * ((bits(buffer.dtype) + 7) // 8) <= _STACK_BYTES
    return buffer.scope == "register" or small


class StepCounter:
    """Counts steps in terms of the variables ``fixed``, which a call gives values."""

    def __init__(self, fixed: Collection[Var]) -> None:
        self._fixed = fixed
        self._found: dict[int, tuple[Stmt, Steps]] = {}

    def of(self, stmt: Stmt) -> Steps:
        """Return the steps of ``stmt``."""
        if id(stmt) not in self._found:
            self._found[id(stmt)] = stmt, self._of(stmt)
        return self._found[id(stmt)][1]

    def _of(self, stmt: Stmt) -> Steps:
        match stmt:
            case For(_, extent, body):
                inner, most = self.of(body), self.most(extent)
                if most is None:
                    return Steps(inner.count, False)
                times = cast("int64", most)
                if not isinstance(most, (IntImm, Var)):
                    times = binary("max", times, IntImm(0, "int64"))
                return Steps(binary("*", times, inner.count), inner.known)
            case While(_, body):
                return Steps(self.of(body).count, False)
            case Seq(stmts) if stmts:
                parts = [self.of(part) for part in stmts]
                count = parts[0].count
                for part in parts[1:]:
                    count = binary("+", count, part.count)
                return Steps(count, all(part.known for part in parts))
            case If(_, then, otherwise):
                first = self.of(then)
                other = first if otherwise is None else self.of(otherwise)
                return Steps(binary("max", first.count, other.count), first.known and other.known)
            case Allocate(buffer, body) if not on_stack(buffer):
                # Its memory is asked for and filled with zeros.
                inner, cleared = self.of(body), self.most(size(buffer))
                if cleared is None:
                    return Steps(inner.count, False)
                cleared = binary("max", cast("int64", cleared), _ONE)
                return Steps(binary("+", cleared, inner.count), inner.known)
            case Let(_, _, body) | Allocate(_, body):
                return self.of(body)
        return Steps(_ONE)

    def most(self, extent: PrimExpr) -> PrimExpr | None:
        """Return what ``extent`` is at most in terms of the variables ``fixed``, None where nobody
        knows.
        """
        if is_computed(extent, self._fixed):
            return extent
        match extent:
            case Binary("min", a, b):
                first, second = self.most(a), self.most(b)
                if first is None or second is None:
                    return second if first is None else first
                return binary("min", first, second)
            case Cast("int32" | "int64" as dtype, value) if value.dtype in ("int32", "int64"):
                inner = self.most(value)
                return None if inner is None else cast(dtype, inner)
        return None
