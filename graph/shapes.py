"""Types of nodes with symbolic extents: where Relay only knows ``?``, the records' shape rules know
more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from relay2relax.core.walk import post_order
from relay2relax.graph.model import MSCPrim, MSCTensor
from relay2relax.ops.registry.record import OpError
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.ir.expr import Call, Expr, Op, Tuple, TupleGetItem, Var
from relay2relax.relay_ir.ir.types import TensorType, TupleType, Type
from relay2relax.tir.extent import Extent, is_any
from relay2relax.tir.ir.expr import Binary, IntImm, PrimExpr, children
from relay2relax.tir.ir.expr import Call as PrimCall
from relay2relax.tir.ir.expr import Var as PrimVar

_OPTYPES = {
    "+": "Add", "-": "Sub", "*": "Mul", "/": "Div", "truncdiv": "Div", "truncmod": "Mod", "//": "FloorDiv",
    "%": "FloorMod", "max": "Max", "min": "Min", "==": "EQ", "!=": "NE", "<": "LT", "<=": "LE", ">": "GT", ">=": "GE",
}  # fmt: skip


def has_any(type_: Type | None) -> bool:
    """Whether a type has an extent about which nothing is known."""
    return any(is_any(extent) for leaf in leaves(type_) for extent in leaf.shape)


def leaves(type_: Type | None) -> Iterator[TensorType]:
    """Yield the tensors of a type, tuples taken apart; other types have none."""
    stack = [type_]
    while stack:
        match stack.pop():
            case TensorType() as tensor:
                yield tensor
            case TupleType(fields):
                stack += reversed(fields)


def symbolic_type(expr: Expr, known: Type, type_of: Callable[[Expr], Type]) -> Type:
    """Return the type of ``expr`` as its operands' symbolic types determine it.

    ``known`` is what Relay's inference found; where it has no ``?``, or no rule says more, it is
    returned.
    """
    if not has_any(known):
        return known
    match expr:
        case Call(Op(name), args, attrs) if (record := relay_op(name)) is not None:
            try:
                found = record.infer(attrs, *(type_of(arg) for arg in args))
            except OpError:
                # Relay proved the call legal without knowing the extents; what the rule cannot
                # prove stays open.
                return known
            return _refined(known, found)
        case Tuple(fields):
            return TupleType(tuple(type_of(item) for item in fields))
        case TupleGetItem(value, index):
            whole = type_of(value)
            return whole.fields[index] if isinstance(whole, TupleType) else known
        case Var():
            return known
    return known


def _refined(known: Type, found: Type) -> Type:
    """Return ``known`` with the extents of ``found`` in place of its ``?``."""
    match known, found:
        case TensorType(shape, dtype), TensorType(other, _) if len(shape) == len(other):
            return TensorType(tuple(o if is_any(e) else e for e, o in zip(shape, other, strict=True)), dtype)
        case TupleType(fields), TupleType(others) if len(fields) == len(others):
            return TupleType(tuple(_refined(a, b) for a, b in zip(fields, others, strict=True)))
    return known


class PrimTable:
    """The prims of a graph: each symbolic extent is one prim, however often it occurs.

    ``prims`` are there already; ``known`` are names of them, by their extents.
    """

    def __init__(self, prims: Sequence[MSCPrim] = (), known: Mapping[PrimExpr, str] = MappingProxyType({})) -> None:
        self._names: dict[PrimExpr, str] = dict(known)
        self._taken: set[str] = {prim.name for prim in prims}
        self._counters: dict[str, int] = {}
        self.prims: list[MSCPrim] = list(prims)

    def needed(self, names: Iterable[str]) -> tuple[MSCPrim, ...]:
        """Return the prims of ``names``, and those that these are computed of."""
        by_name = {prim.name: prim for prim in self.prims}
        found = set(post_order([name for name in names if name in by_name], lambda name: by_name[name].parents))
        return tuple(prim for prim in self.prims if prim.name in found)

    def tensor(self, name: str, type_: TensorType, node: str, output: int, alias: str = "") -> MSCTensor:
        """Return the tensor ``name``, output number ``output`` of ``node``, adding the prims of its
        extents.
        """
        if all(isinstance(extent, int) for extent in type_.shape):
            shape = tuple(extent for extent in type_.shape if isinstance(extent, int))
            return MSCTensor(name, type_.dtype, shape, alias=alias)
        extents: list[int] = []
        prims: list[str] = []
        for dim, extent in enumerate(type_.shape):
            static = extent if isinstance(extent, int) else extent.value if isinstance(extent, IntImm) else -1
            extents.append(static)
            prims.append(str(static) if static >= 0 else self._extent(extent, node, output, dim))
        return MSCTensor(name, type_.dtype, tuple(extents), prims=tuple(prims), alias=alias)

    def _extent(self, extent: Extent, node: str, output: int, dim: int) -> str:
        place = {"producer": node, "out_idx": str(output), "dim": str(dim)}
        if isinstance(extent, int):
            return str(extent)
        if is_any(extent):
            # Two unknown extents are not known to be equal: each is a prim of its own.
            return self._add(None, f"{node}_d{dim}", "shape", (), place)
        if isinstance(extent, PrimVar) and extent not in self._names:
            return self._add(extent, extent.name, "shape", (), place)
        return self._expression(extent)

    def _expression(self, expr: PrimExpr) -> str:
        if expr in self._names:
            return self._names[expr]
        if isinstance(expr, IntImm):
            return self._add(expr, f"int_{expr.value}", "Int", (), {"value": str(expr.value)})
        if isinstance(expr, PrimVar):
            return self._add(expr, expr.name, "Var", (), {})
        parents = tuple(self._expression(part) for part in children(expr))
        match expr:
            case Binary(op):
                optype = _OPTYPES.get(op, op)
            case PrimCall(name):
                optype = name
            case _:
                optype = type(expr).__name__
        return self._add(expr, optype.lower(), optype, parents, {})

    def _add(
        self, expr: PrimExpr | None, hint: str, optype: str, parents: tuple[str, ...], attrs: dict[str, str]
    ) -> str:
        name = hint
        while name in self._taken:
            self._counters[hint] = self._counters.get(hint, 0) + 1
            name = f"{hint}_{self._counters[hint]}"
        self._taken.add(name)
        if expr is not None:
            self._names[expr] = name
        self.prims.append(MSCPrim(name, optype, parents, attrs))
        return name
