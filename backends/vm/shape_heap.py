"""The shape heap of a function: a slot for every symbolic extent and for every extent computed from
some.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from relay2relax.backends.runtime.attribute_extents import attribute_extents, attribute_variables
from relay2relax.core.dtype import is_int
from relay2relax.core.errors import UnsupportedError
from relay2relax.core.errors.table import running
from relay2relax.relax_ir.inference.op_signatures import ForeignOp
from relay2relax.relax_ir.inference.runtime_calls import is_unproved
from relay2relax.relax_ir.ir import expr as rx
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.visit import all_sequences, bindings, operands
from relay2relax.tir.extent import Extent, as_prim
from relay2relax.tir.ir.expr import AnyExtent, IntImm, PrimExpr, Var
from relay2relax.tir.ir.visit import variables

# Codes of match_shape and make_shape.
EQUAL, STORE, IGNORE, EQUAL_SLOT = 0, 1, 2, 3
VALUE, LOAD = 0, 1


class ShapeHeap:
    """Numbers the slots, and knows which are filled as the function is compiled from top to
    bottom.
    """

    def __init__(self) -> None:
        self._slots: dict[PrimExpr, int] = {}
        self._filled: set[PrimExpr] = set()
        self._known_from: dict[int, list[PrimExpr]] = {}

    @property
    def size(self) -> int:
        """The number of slots."""
        return len(self._slots)

    @property
    def slots(self) -> Mapping[Var, int]:
        """Where the variables are."""
        return {expr: slot for expr, slot in self._slots.items() if isinstance(expr, Var)}

    def collect(self, func: rx.Function, params: Sequence[rx.Var]) -> None:
        """Give slots to all extents of ``func``.

        Raises UnsupportedError for an extent whose value nothing in the function tells.
        """
        # The places where variables get their values, in order, and which of them it is for each
        # variable.
        points: list[object] = [func]
        known: dict[Var, int] = {}
        waiting: list[PrimExpr] = []

        def meet(extent: Extent) -> None:
            expr = as_prim(extent)
            if isinstance(expr, (IntImm, AnyExtent)) or expr in self._slots:
                return
            self._slots[expr] = len(self._slots)
            if not isinstance(expr, Var):
                settle(expr)

        def settle(expr: PrimExpr) -> None:
            # As early as its variables are known: what comes later may be a branch that is not
            # taken.
            if _defined(expr, known):
                point = max((known[var] for var in variables(expr)), default=0)
                self._known_from.setdefault(id(points[point]), []).append(expr)
            else:
                waiting.append(expr)

        infos = [param.info for param in params]
        known.update((var, 0) for var in symbols.defined(infos))
        for info in infos:
            for extent in symbols.extents(info):
                meet(extent)
        for seq in all_sequences([func.body]):
            for binding in bindings(seq):
                if isinstance(binding, rx.MatchCast):
                    points.append(binding)
                    for var in symbols.defined([binding.info]):
                        known.setdefault(var, len(points) - 1)
                    open_, waiting[:] = list(waiting), []
                    for expr in open_:
                        settle(expr)
                    for extent in symbols.extents(binding.info):
                        meet(extent)
                elif is_unproved(binding):
                    for extent in symbols.extents(binding.var.info):
                        meet(extent)
                for extent in _extents(binding.value):
                    meet(extent)
            for extent in _extents(seq.body):
                meet(extent)
        for extent in symbols.extents(func.ret):
            if _defined(as_prim(extent), known):
                meet(extent)
        free = [var.name for expr in self._slots for var in variables(expr) if var not in known]
        if free:
            raise UnsupportedError(
                f"nothing in the function tells the value of the symbolic extent {free[0]!r}",
                kind=running.NOT_ON_BACKEND,
            )

    def results(self, where: object) -> tuple[tuple[int, PrimExpr], ...]:
        """Return the computed extents, with their slots, that are known from ``where`` on.

        They count as filled.
        """
        found = self._known_from.pop(id(where), [])
        self._filled.update(found)
        return tuple((self._slots[expr], expr) for expr in found)

    def match_code(self, extent: PrimExpr) -> tuple[int, int]:
        """Return code and operand that compare an extent, or store it where it is met for the first
        time.
        """
        if isinstance(extent, IntImm):
            return EQUAL, extent.value
        if extent in self._filled:
            return EQUAL_SLOT, self._slots[extent]
        if isinstance(extent, Var) and extent in self._slots:
            self._filled.add(extent)
            return STORE, self._slots[extent]
        return IGNORE, 0

    def load_code(self, extent: PrimExpr) -> tuple[int, int]:
        """Return code and operand that bring an extent's value."""
        if isinstance(extent, IntImm):
            return VALUE, extent.value
        if extent not in self._slots:
            raise UnsupportedError(
                f"scalars of {extent.dtype} are not computed by the machine; pass a tensor", kind=running.NOT_ON_BACKEND
            )
        return LOAD, self._slots[extent]

    def knows(self, shape: Sequence[Extent]) -> bool:
        """Whether the variables of ``shape`` have values."""
        return all(var in self._filled for extent in shape for var in variables(as_prim(extent)))


def _defined(expr: PrimExpr, known: Collection[Var]) -> bool:
    return all(var in known for var in variables(expr))


def _extents(value: rx.Expr) -> Iterator[Extent]:
    """Yield the extents that running ``value`` asks for."""
    stack: list[rx.Expr] = [value]
    while stack:
        one = stack.pop()
        match one:
            case rx.CallTIR(_, _, out, tir_args):
                for info in out:
                    yield from symbols.extents(info)
                yield from tir_args
            case rx.CallDPSPacked(_, _, out):
                for info in out:
                    yield from symbols.extents(info)
            case rx.ShapeExpr(values):
                yield from (value for value in values if not isinstance(value, int))
            case rx.PrimValue(prim) if is_int(prim.dtype) or prim.dtype == "bool":
                yield prim
            case rx.Call(ForeignOp(), _, attrs):
                # What a packed function is given is computed as it is written.
                yield from attribute_extents(attrs)
            case rx.Call(_, _, attrs):
                yield from attribute_variables(attrs)
        stack += reversed(operands(one))
