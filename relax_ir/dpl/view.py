"""Relax as the matcher sees it: through variables, to the values that they are bound to."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast, get_args

from relay2relax.core.matching.matcher import Matcher
from relay2relax.core.matching.patterns import DFPattern
from relay2relax.core.matching.view import ABSENT, Found, matched
from relay2relax.core.walk import post_order
from relay2relax.ops.registry.attributes import attr_fields
from relay2relax.ops.registry.record import OpDef
from relay2relax.relax_ir.analysis.structural_equal import structural_equal
from relay2relax.relax_ir.inference.infer import Inference, spelled
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import (
    Call,
    CallDPSPacked,
    CallTIR,
    Constant,
    Expr,
    ExternFunc,
    Function,
    GlobalVar,
    If,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.ir.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from relay2relax.relax_ir.ir.visit import operands
from relay2relax.tir.extent import Extent, equal
from relay2relax.tir.ir import expr as tir

_EXPRESSIONS = get_args(Expr)


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """What a ``call_tir`` or ``call_dps_packed`` calls, as TVM has it."""

    name: str


class RelaxView:
    """Expressions, and the values of variables; ``values`` may grow while it is matched.

    ``inference`` knows the functions of the module.
    """

    any_pattern_commutes = True

    def __init__(self, values: Mapping[Var, Expr] | None = None, inference: Inference | None = None) -> None:
        self.values: dict[Var, Expr] = {}
        self._inference = inference or Inference()
        self._infos: dict[Expr, StructInfo] = {}
        self._calls: dict[Expr, tuple[Hashable, Sequence[Expr]]] = {}
        for var, value in (values or {}).items():
            self.bind(var, value)

    def bind(self, var: Var, value: Expr) -> None:
        """Let ``var`` stand for ``value``."""
        self.values[var] = value
        # What functions outside of the module return is known of the variable only.
        if not isinstance(value, Var):
            self._infos[value] = var.info

    def value(self, node: Hashable) -> Hashable:
        """Return what a variable is bound to, and of a sequence without bindings the result."""
        while True:
            if isinstance(node, Var) and node in self.values:
                node = self.values[node]
            elif isinstance(node, SeqExpr) and not node.blocks:
                node = node.body
            else:
                return node

    # --- the graph --------------------------------------------------------------------------------

    def inputs(self, node: Hashable) -> Sequence[Hashable]:
        """Return what ``node`` is computed from."""
        return [self.value(one) for one in operands(cast(Expr, node))]

    def order(self) -> Sequence[Hashable]:
        """Return the values that are known, each behind its inputs."""
        return list(post_order(list(map(self.value, self.values)), self.inputs))

    def flows(self) -> Iterator[tuple[Hashable, Hashable]]:
        """Yield every pair of a node and a node that uses it."""
        for node in self.order():
            yield from ((one, node) for one in self.inputs(node))

    # --- what nodes are ---------------------------------------------------------------------------

    def operator(self, node: Hashable) -> str | None:
        """Return the name of an operator, as scripts have it behind ``R.``."""
        match node:
            case OpDef():
                return spelled(node).removeprefix("R.")
            case Intrinsic(name):
                return name
        return None

    def call(self, node: Hashable) -> tuple[Hashable, Sequence[Expr]] | None:
        """Return what a call calls, and its arguments; those of a ``call_tir`` are the function and
        a tuple.
        """
        match node:
            case Call(callee, args):
                return cast(Hashable, callee), args
            case CallTIR() | CallDPSPacked() if node in self._calls:
                return self._calls[node]
            case CallTIR(func, args, _, scalars):
                rest = (ShapeExpr(tuple(cast("Sequence[Extent]", scalars))),) if scalars else ()
                self._calls[node] = Intrinsic("call_tir"), (func, Tuple(args), *rest)
                return self._calls[node]
            case CallDPSPacked(name, args):
                self._calls[node] = Intrinsic("call_dps_packed"), (ExternFunc(name), Tuple(args))
                return self._calls[node]
        return None

    def fields(self, node: Hashable) -> Sequence[Expr] | None:
        """Return the fields of a tuple."""
        return node.fields if isinstance(node, Tuple) else None

    def projection(self, node: Hashable) -> tuple[Expr, int] | None:
        """Return the tuple and the index."""
        return (node.tuple_value, node.index) if isinstance(node, TupleGetItem) else None

    def function(self, node: Hashable) -> tuple[Sequence[Expr], Expr] | None:
        """Return the parameters and the body."""
        return (node.params, node.body) if isinstance(node, Function) else None

    def branches(self, node: Hashable) -> tuple[Expr, Expr, Expr] | None:
        """Return the condition and both branches."""
        return (node.condition, node.true_branch, node.false_branch) if isinstance(node, If) else None

    def binding(self, node: Hashable) -> None:
        """Return None: Relax has no lets."""

    def variable(self, node: Hashable) -> str | None:
        """Return the name of a variable that is bound to nothing known."""
        return node.name if isinstance(node, Var) else None

    def is_dataflow(self, node: Hashable) -> bool:
        """Whether ``node`` is a variable that is seen in its block only."""
        return isinstance(node, Var) and node.dataflow

    def global_name(self, node: Hashable) -> str | None:
        """Return the name of a function of the module."""
        return node.name if isinstance(node, GlobalVar) else None

    def external_name(self, node: Hashable) -> str | None:
        """Return the name of a function outside of the module."""
        return node.name if isinstance(node, ExternFunc) else None

    def shape_value(self, node: Hashable) -> tuple[object, ...] | None:
        """Return the extents of a shape that is a value."""
        return node.values if isinstance(node, ShapeExpr) else None

    def is_constant(self, node: Hashable) -> bool:
        """Whether ``node`` is a constant."""
        return isinstance(node, Constant)

    def attribute(self, node: Hashable, name: str) -> object:
        """Return an attribute of a call, by the name that scripts have, or of a function."""
        match node:
            case Call(OpDef() as op, _, attrs):
                renamed = op.script.rename if op.script is not None else {}
                own = next((field for field, keyword in renamed.items() if keyword == name), name)
                known = any(field.name == own for field in attr_fields(type(attrs)))
                return getattr(attrs, own) if known else ABSENT
            case Function(attrs=attrs):
                return attrs.get(name, ABSENT)
        return ABSENT

    def alike(self, one: object, other: object) -> bool:
        """Whether two expressions, or the extents of two shapes, are the same."""
        if isinstance(one, tuple) and isinstance(other, tuple):
            return len(one) == len(other) and all(map(equal, one, other))
        if isinstance(one, tir.PrimExpr) or isinstance(other, tir.PrimExpr):
            return equal(cast(Extent, one), cast(Extent, other)) is True
        comparable = (*_EXPRESSIONS, StructInfo)
        return isinstance(one, comparable) and isinstance(other, comparable) and structural_equal(one, other)

    # --- struct info ------------------------------------------------------------------------------

    def info(self, node: Hashable) -> StructInfo:
        """Return the struct info of an expression; raises StructInfoError where it has none."""
        expr = cast(Expr, node)
        if expr not in self._infos:
            self._infos[expr] = self._inference.of(expr)
        return self._infos[expr]

    def admits(self, wanted: object, node: Hashable, known: Mapping[Any, Any]) -> Mapping[Any, Any] | None:
        """Return ``known`` and what else dimensions of ``wanted`` are, where ``node`` is of it.

        Every value of the node's struct info has to be one of ``wanted``: a fixed extent does not
        fit one that is not known. Raises StructInfoError where the node has none.
        """
        dimensions = dict(known)
        return dimensions if _fits(cast(StructInfo, wanted), self.info(node), dimensions) else None

    def shape_and_dtype(self, node: Hashable) -> tuple[object, str] | None:
        """Return those of a tensor; its shape is None where it is not known."""
        if not isinstance(node, _EXPRESSIONS) or isinstance(node, (GlobalVar, ExternFunc)):
            return None
        found = self.info(node)
        return (found.shape, found.dtype) if isinstance(found, TensorStructInfo) else None


def _fits(wanted: StructInfo, found: StructInfo, known: dict[tir.Var, Extent]) -> bool:
    match wanted, found:
        case ObjectStructInfo(), _:
            return True
        case TensorStructInfo(shape, dtype, ndim), TensorStructInfo():
            same = dtype in ("", found.dtype) and ndim in (-1, found.ndim)
            return same and (shape is None or _extents_fit(shape, found.shape, known))
        case ShapeStructInfo(row, ndim), ShapeStructInfo():
            return ndim in (-1, found.ndim) and (row is None or _extents_fit(row, found.values, known))
        case PrimStructInfo(dtype, value), PrimStructInfo():
            return dtype == found.dtype and (value is None or _extents_fit((value,), (found.value,), known))
        case TupleStructInfo(fields), TupleStructInfo(others):
            return len(fields) == len(others) and all(
                _fits(one, other, known) for one, other in zip(fields, others, strict=True)
            )
        case FuncStructInfo(), FuncStructInfo():
            return structural_equal(wanted, found)
    return False


def _extents_fit(row: tuple[Any, ...], given: tuple[Any, ...] | None, known: dict[tir.Var, Extent]) -> bool:
    """Whether the extents are proved equal, once variables that stand alone are bound."""
    if given is None or len(row) != len(given) or None in given:
        return False
    for one, other in zip(row, given, strict=True):
        if isinstance(one, tir.Var):
            known.setdefault(one, other)
    return all(equal(symbols.substitute_extent(one, known), other) for one, other in zip(row, given, strict=True))


def _match(expr: Any, pattern: DFPattern, values: Mapping[Any, Any] | None = None) -> Found | None:
    return Matcher(RelaxView(values)).match(pattern, expr)


for _kind in _EXPRESSIONS:
    matched.register(_kind, _match)
