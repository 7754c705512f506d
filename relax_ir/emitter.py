"""Operator calls on their way into a Relax function: as Relax operators, or as ``call_tir`` of a PrimFunc.

Both translators and ``LegalizeOps`` emit through this class, so a call is lowered in one way only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from relay2relax.core.dtype import Array, numpy_dtype
from relay2relax.core.errors import UnsupportedError
from relay2relax.core.source import Span
from relay2relax.ops.attributes import attr_fields
from relay2relax.ops.lower import lower_call
from relay2relax.ops.record import Expanded, OpDef, SameOp
from relay2relax.ops.shape_values import constant_numbers, numbers_of, settled
from relay2relax.ops.symbolic import Symbols, attributes_in_terms_of
from relay2relax.ops.types import TensorType, TupleType, Type
from relay2relax.relax_ir.builder import BlockBuilder, call_op
from relay2relax.relax_ir.expr import Call, CallTIR, Constant, Expr, GlobalVar, ShapeExpr, Tuple, TupleGetItem
from relay2relax.relax_ir.infer import argument_type
from relay2relax.relax_ir.struct_info import TensorStructInfo, to_type
from relay2relax.tir.expr import Var as PrimVar
from relay2relax.tir.extent import Extent, Shape, is_any

_Call: TypeAlias = tuple[OpDef, Any, Sequence[Expr]]
# The attribute of a PrimFunc that says why Relax's operators do not express the call that it computes.
NO_RELAX_FORM = "no_relax_form"


class OpEmitter:
    """Emits into ``builder``; the methods of :class:`relay2relax.ops.record.Emit` are what expansions use.

    ``symbols`` says what stands for variables that attributes of the calls may name.
    """

    def __init__(self, builder: BlockBuilder, symbols: Symbols | None = None) -> None:
        self.builder = builder
        self.symbols = symbols or {}
        self.span: Span | None = None
        self._functions: dict[Any, tuple[GlobalVar, tuple[PrimVar, ...]]] = {}
        # What values of integers hold, where that is told before the program runs.
        self._numbers: dict[Expr, Any] = {}

    # What an expansion may do.

    def call(self, name: str, *args: Expr, **attrs: Any) -> Expr:
        """Emit ``R.<name>``."""
        return self.builder.emit(call_op(name, *args, span=self.span, **attrs))

    def type_of(self, value: Expr) -> Type:
        """Return the type of ``value``."""
        return to_type(self.builder.struct_info(value))

    def const(self, value: int | float | bool | Array, dtype: str) -> Expr:
        """Return a constant."""
        return Constant(np.asarray(value, numpy_dtype(dtype)))

    def shape(self, extents: Sequence[Extent]) -> Expr:
        """Return a shape value."""
        return ShapeExpr(tuple(extents))

    def tuple(self, values: Sequence[Expr]) -> Expr:
        """Return a tuple."""
        return Tuple(tuple(values))

    def item(self, value: Expr, index: int) -> Expr:
        """Return field ``index`` of a tuple."""
        if isinstance(value, Tuple):
            return value.fields[index]
        return self.builder.emit(TupleGetItem(value, index))

    def constant_of(self, value: Expr) -> Array | None:
        """Return the data of a constant, None for any other value."""
        return value.data if isinstance(value, Constant) else None

    # What the translators do.

    def as_relax(self, op: OpDef, attrs: Any, args: Sequence[Expr], span: Span | None = None) -> Expr:
        """Emit a call of ``op`` as Relax operators, or as ``call_tir`` where Relax has none for it."""
        self.span = span
        op, attrs, args = self._settled(op, attrs, args)
        return self._noted(self._as_relax(op, attrs, args), op, attrs, args)

    def _as_relax(self, op: OpDef, attrs: Any, args: Sequence[Expr]) -> Expr:
        match op.relax:
            case SameOp():
                assert op.script is not None
                if op.script.omit:
                    defaults = {f.name: f.default for f in attr_fields(op.attrs)}
                    kept = {n: getattr(attrs, n) for n in defaults if n not in op.script.omit}
                    attrs = op.attrs(**kept)
                return self.builder.emit(Call(op, tuple(args), attrs, self.span))
            case Expanded(expand):
                result: Expr = expand(self, attrs, *args)
                return result
        return self.as_tir(op, attrs, args, f"Relax has no operator for {op.name}")

    def as_tir(
        self, op: OpDef, attrs: Any, args: Sequence[Expr], why: str = "", span: Span | None = None
    ) -> Expr:
        """Emit a call of ``op`` as ``call_tir``; what cannot be is said at :meth:`tir_call`.

        ``why`` is what keeps it from being Relax operators; the PrimFunc says so as ``no_relax_form``.
        """
        if op.passes_through:
            return args[0]
        op, attrs, args = self._settled(op, attrs, args)
        value = self.tir_call(op, attrs, args, span or self.span, why)
        if isinstance(value, Tuple):
            return Tuple((self.builder.emit(value.fields[0]),))
        return self._noted(self.builder.emit(value), op, attrs, args)

    def _settled(self, op: OpDef, attrs: Any, args: Sequence[Expr]) -> _Call:
        """Return the call, or the one that it is where the shapes among its inputs are told beforehand."""
        attrs = attributes_in_terms_of(attrs, self.symbols)
        if op.settle is None:
            return op, attrs, args
        found = settled(op, attrs, [self._numbers_in(arg) for arg in args])
        if found is None:
            return op, attrs, args
        return found[0], found[1], tuple(args[index] for index in found[2])

    def _noted(self, result: Expr, op: OpDef, attrs: Any, args: Sequence[Expr]) -> Expr:
        """Return ``result``; what it holds is remembered where it is told beforehand."""
        numbers = numbers_of(op, attrs, [self._numbers_in(arg) for arg in args], lambda i: self.type_of(args[i]))
        if numbers is not None:
            self._numbers[result] = numbers
        return result

    def _numbers_in(self, value: Expr) -> Any:
        """Return the extents that a value holds, a tuple of them for a tuple, None where they are unknown."""
        if isinstance(value, Constant):
            return constant_numbers(value.data)
        if isinstance(value, Tuple):
            return tuple(self._numbers_in(field) for field in value.fields)
        return self._numbers.get(value)

    def tir_call(
        self, op: OpDef, attrs: Any, args: Sequence[Expr], span: Span | None = None, why: str = ""
    ) -> CallTIR | Tuple:
        """Return a call of ``op`` as ``call_tir``, not bound yet; equal calls share one PrimFunc.

        An operator whose result is a tuple of one gives a tuple of the call.
        Raises UnsupportedError where the shape of an argument or result is not known before the program runs.
        """
        types = tuple(self._argument(op, arg) for arg in args)
        out: Type = op.infer(attrs, *types)
        results = _tensors(out)
        for shape in (*(s for one in types for s in _shapes(one)), *(one.shape for one in results)):
            if any(is_any(extent) for extent in shape):
                raise UnsupportedError(f"{op.name}: a shape depends on data; TensorIR needs it beforehand")
        key = (op, attrs, types, out, why)
        if key not in self._functions:
            hint = op.name.rsplit(".", 1)[-1]
            func = lower_call(op, attrs, types, out, hint)
            if why:
                func = replace(func, attrs={**func.attrs, NO_RELAX_FORM: why})
            # Dimensions that no buffer's shape determines are passed as scalars.
            scalars = tuple(param for param in func.params if param not in func.buffer_map)
            self._functions[key] = self.builder.add_func(func, hint), scalars
        callee, scalars = self._functions[key]
        tensors = [arg for arg, type_ in zip(args, types, strict=True) if not isinstance(type_, tuple)]
        flat = tuple(field for arg in tensors for field in self._fields(arg))
        infos = tuple(TensorStructInfo(one.shape, one.dtype) for one in results)
        call = CallTIR(callee, flat, infos, scalars, span)
        return Tuple((call,)) if isinstance(out, TupleType) and len(results) == 1 else call

    def _argument(self, op: OpDef, arg: Expr) -> Type | Shape:
        info = self.builder.struct_info(arg)
        try:
            return argument_type(info)
        except TypeError as error:
            raise UnsupportedError(f"{op.name}: {error}") from error

    def _fields(self, arg: Expr) -> Sequence[Expr]:
        """Return the tensors of an argument; a tuple's fields are projected one by one."""
        type_ = self.type_of(arg)
        if not isinstance(type_, TupleType):
            return (arg,)
        return tuple(field for i in range(len(type_.fields)) for field in self._fields(self.item(arg, i)))


def _shapes(arg: Type | Shape) -> list[Shape]:
    return [arg] if isinstance(arg, tuple) else [tensor.shape for tensor in _tensors(arg)]


def _tensors(out: Type) -> list[TensorType]:
    match out:
        case TensorType():
            return [out]
        case TupleType(fields):
            return [tensor for field in fields for tensor in _tensors(field)]
    raise UnsupportedError(f"an operator's result cannot have type {out!r}")
