"""Operator calls on their way into a Relax function: as Relax operators, or as ``call_tir`` of a
PrimFunc.

Both translators and ``LegalizeOps`` emit through this class, so a call is lowered in one way only.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from relay2relax.core.dtype import Array, numpy_dtype
from relay2relax.core.errors import UnsupportedError
from relay2relax.core.source import Span
from relay2relax.ops.common.shape_values import constant_numbers, numbers_of, settled
from relay2relax.ops.registry.attributes import attr_fields
from relay2relax.ops.registry.handlers import relax_handler, tensorir_handler
from relay2relax.ops.registry.lower import lower_call, lower_extents, unknown_extents, with_extents
from relay2relax.ops.registry.record import Expanded, FieldOf, OpDef, Otherwise, SameOp
from relay2relax.ops.registry.symbolic import Symbols, attributes_in_terms_of
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.relax_ir.build.builder import BlockBuilder, call_op
from relay2relax.relax_ir.inference.infer import argument_type
from relay2relax.relax_ir.inference.tvm_limits import limit_of
from relay2relax.relax_ir.ir.expr import (
    Call,
    CallTIR,
    Constant,
    Expr,
    GlobalVar,
    PrimValue,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.ir.struct_info import (
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
    to_type,
)
from relay2relax.tir.extent import ANY, Extent, Shape, is_any, static
from relay2relax.tir.ir.expr import FloatImm, IntImm, PrimExpr
from relay2relax.tir.ir.expr import Var as PrimVar
from relay2relax.tir.ir.stmt import PrimFunc
from relay2relax.tir.ir.visit import variables
from relay2relax.tir.te.inline import with_scalars

_Call: TypeAlias = tuple[OpDef, Any, Sequence[Expr]]
_Types: TypeAlias = tuple["Type | Shape", ...]
# The attribute of a PrimFunc that says why Relax's operators do not express the call that it
# computes.
NO_RELAX_FORM = "no_relax_form"


class OpEmitter:
    """Emits into ``builder``; the methods of :class:`relay2relax.ops.registry.record.Emit` are what
    expansions use.

    ``symbols`` says what stands for variables that attributes of the calls may name. ``qdq`` asks
    for R.quantize.
    """

    def __init__(self, builder: BlockBuilder, symbols: Symbols | None = None, qdq: bool = False) -> None:
        self.builder = builder
        self.symbols = symbols or {}
        self.qdq = qdq
        self.span: Span | None = None
        self._functions: dict[Any, tuple[GlobalVar, tuple[PrimVar, ...]]] = {}
        # What values of integers hold, where that is told before the program runs.
        self._numbers: dict[Expr, Any] = {}

    # What an expansion may do.

    def call(self, name: str, *args: Expr, **attrs: object) -> Expr:
        """Emit ``R.<name>``, or ``call_tir`` of it where apache-tvm could not build the
        operator.
        """
        made = call_op(name, *args, span=self.span, **attrs)
        assert isinstance(made.op, OpDef)
        return self._operator(made.op, made.attrs, args)

    def type_of(self, value: Expr) -> Type:
        """Return the type of ``value``, that of a tensor of one number for a scalar."""
        info = self.builder.struct_info(value)
        return TensorType((), info.dtype) if isinstance(info, PrimStructInfo) else to_type(info)

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

    def field_of(self, value: Expr) -> FieldOf[Expr] | None:
        """Return of what ``value`` is a field; None for other values."""
        found = self.builder.lookup_binding(value) if isinstance(value, Var) else value
        if not isinstance(found, TupleGetItem) or not isinstance(found.tuple_value, Var):
            return None
        made = self.builder.lookup_binding(found.tuple_value)
        if not isinstance(made, Call) or not isinstance(made.op, OpDef):
            return None
        return FieldOf(made.op.relax_name, made.attrs, found.tuple_value, found.index)

    def extents_of(self, op: OpDef, attrs: object, args: Sequence[Expr]) -> Shape:
        """Emit the computation of the extents that data decide, and return the variables that stand
        for them.
        """
        types = tuple(self._argument(op, arg) for arg in args)
        return self._extents(op, attrs, args, types, op.infer(attrs, *types), self.span)

    def known(self, value: Expr, hint: Type | None = None) -> Expr:
        """Return ``value`` with its extents named where they are unknown.

        ``hint`` says what is known of them.
        """
        match self.builder.struct_info(value):
            case TensorStructInfo(None, dtype, ndim) if ndim >= 0:
                shape = hint.shape if isinstance(hint, TensorType) and hint.rank == ndim else (ANY,) * ndim
                named = tuple(PrimVar("m", "int64") if is_any(extent) else extent for extent in shape)
                return self.builder.match_cast(value, TensorStructInfo(named, dtype))
            case TupleStructInfo(fields) if any(map(_is_open, fields)):
                hints = hint.fields if isinstance(hint, TupleType) else (None,) * len(fields)
                return Tuple(tuple(self.known(self.item(value, i), hints[i]) for i in range(len(fields))))
        return value

    # What the translators do.

    def integers_of(self, value: Expr) -> Array | None:
        """Return the integers that ``value`` holds, in its own dtype, where that is told before the
        program runs; truth values are integers too. None where it is not.
        """
        info = self.builder.struct_info(value)
        numbers = self._numbers_in(value)
        if not isinstance(info, TensorStructInfo) or not isinstance(numbers, np.ndarray):
            return None
        found = [static(one) for one in numbers.reshape(-1)]
        return None if None in found else np.array(found, numpy_dtype(info.dtype)).reshape(numbers.shape)

    def as_relax(self, op: OpDef, attrs: object, args: Sequence[Expr], span: Span | None = None) -> Expr:
        """Emit a call of ``op`` as Relax operators, or as ``call_tir`` where Relax has none for
        it.
        """
        self.span = span
        args = [self.known(arg) for arg in args]
        op, attrs, args = self._settled(op, attrs, args)
        return self._noted(self._as_relax(op, attrs, args), op, attrs, args)

    def _as_relax(self, op: OpDef, attrs: object, args: Sequence[Expr]) -> Expr:
        match relax_handler(op.name) or op.relax:
            case SameOp():
                assert op.script is not None
                if op.script.omit:
                    defaults = {f.name: f.default for f in attr_fields(op.attrs)}
                    kept = {n: getattr(attrs, n) for n in defaults if n not in op.script.omit}
                    attrs = op.attrs(**kept)
                return self._operator(op, attrs, args)
            case Expanded(expand):
                result: Expr = expand(self, attrs, *args)
                return result
            case Otherwise(why):
                return self.as_tir(op, attrs, args, why)
        return self.as_tir(op, attrs, args, f"Relax has no operator for {op.name}")

    def _operator(self, op: OpDef, attrs: object, args: Sequence[Expr]) -> Expr:
        why = limit_of(op, attrs, lambda: tuple(self._argument(op, arg) for arg in args))
        return self.as_tir(op, attrs, args, why) if why else self.builder.emit(Call(op, tuple(args), attrs, self.span))

    def as_tir(self, op: OpDef, attrs: object, args: Sequence[Expr], why: str = "", span: Span | None = None) -> Expr:
        """Emit a call of ``op`` as ``call_tir``; what cannot be is said at :meth:`tir_call`.

        ``why`` is what keeps it from being Relax operators; the PrimFunc says so as
        ``no_relax_form``.
        """
        if op.passes_through:
            return args[0]
        args = [self.known(arg) for arg in args]
        op, attrs, args = self._settled(op, attrs, args)
        value = self.tir_call(op, attrs, args, span or self.span, why)
        if isinstance(value, Tuple):
            return Tuple((self.builder.emit(value.fields[0]),))
        return self._noted(self.builder.emit(value), op, attrs, args)

    def _settled(self, op: OpDef, attrs: object, args: Sequence[Expr]) -> _Call:
        """Return the call, or the one that it is where the shapes among its inputs are told
        beforehand.
        """
        attrs = attributes_in_terms_of(attrs, self.symbols)
        _refuse_foreign(op, attrs)
        if op.settle is None:
            return op, attrs, args
        found = settled(op, attrs, [self._told(arg) for arg in args])
        if found is None:
            return op, attrs, args
        return found[0], found[1], tuple(args[index] for index in found[2])

    def _noted(self, result: Expr, op: OpDef, attrs: object, args: Sequence[Expr]) -> Expr:
        """Return ``result``; what it holds is remembered where it is told beforehand."""
        numbers = numbers_of(op, attrs, [self._numbers_in(arg) for arg in args], lambda i: self.type_of(args[i]))
        if numbers is not None:
            self._numbers[result] = numbers
        return result

    def _told(self, value: Expr) -> Any:
        """Return the numbers that a value holds as far as they choose an operator: extents and
        places, and a float.
        """
        if isinstance(value, Constant) and not value.data.ndim and value.data.dtype.kind == "f":
            return value.data.astype(object)
        return self._numbers_in(value)

    def _numbers_in(self, value: Expr) -> Any:
        """Return the extents that a value holds, a tuple of them for a tuple, None where they are
        unknown.
        """
        if isinstance(value, Constant):
            return constant_numbers(value.data)
        if isinstance(value, Tuple):
            return tuple(self._numbers_in(field) for field in value.fields)
        return self._numbers.get(value)

    def tir_call(
        self, op: OpDef, attrs: object, args: Sequence[Expr], span: Span | None = None, why: str = ""
    ) -> CallTIR | Tuple:
        """Return a call of ``op`` as ``call_tir``, not bound yet; equal calls share one PrimFunc.

        An operator whose result is a tuple of one gives a tuple of the call. Extents that data
        decide are computed before, and bound to variables. Raises UnsupportedError where nothing
        tells an extent.
        """
        args = [_as_constant(self.known(arg)) for arg in args]
        types = tuple(self._argument(op, arg) for arg in args)
        out: Type = op.infer(attrs, *types)
        hint = op.name.rsplit(".", 1)[-1]
        if unknown_extents(out):
            out = with_extents(out, self._extents(op, attrs, args, types, out, span))

        def make() -> PrimFunc:
            func = lower_call(op, attrs, types, out, hint, tensorir_handler(op.name))
            return replace(func, attrs={**func.attrs, NO_RELAX_FORM: why}) if why else func

        call = self._call((op, attrs, types, out, why), make, args, out, span)
        return Tuple((call,)) if isinstance(out, TupleType) and len(call.out) == 1 else call

    def _extents(
        self, op: OpDef, attrs: object, args: Sequence[Expr], types: _Types, out: Type, span: Span | None
    ) -> Shape:
        """Emit the extents that ``out`` leaves unknown as a tensor, then as a shape, and name
        them.
        """
        count = unknown_extents(out)
        vector = TensorType((count,), "int64")
        hint = f"{op.name.rsplit('.', 1)[-1]}_extents"
        call = self._call(
            (op, attrs, types, "extents"), lambda: lower_extents(op, attrs, types, out, hint), args, vector, span
        )
        shape = self.builder.emit(call_op("tensor_to_shape", self.builder.emit(call), span=span))
        names = tuple(PrimVar("m", "int64") for _ in range(count))
        self.builder.match_cast(shape, ShapeStructInfo(names))
        return names

    def _call(
        self, key: Hashable, make: Callable[[], PrimFunc], args: Sequence[Expr], out: Type, span: Span | None
    ) -> CallTIR:
        """Return the call of a PrimFunc with the tensors among ``args``; it is made once for each
        ``key``.
        """
        tensors = [arg for arg in args if not isinstance(self.builder.struct_info(arg), ShapeStructInfo)]
        flat = tuple(field for arg in tensors for field in self._fields(arg))
        places = tuple(i for i, arg in enumerate(flat) if isinstance(self.builder.struct_info(arg), PrimStructInfo))
        if (key, places) not in self._functions:
            func = make()
            # Dimensions that no buffer's shape determines are passed as scalars.
            scalars = tuple(param for param in func.params if param not in func.buffer_map)
            func = with_scalars(func, places) if places else func
            self._functions[key, places] = self.builder.add_func(func), scalars
        callee, scalars = self._functions[key, places]
        infos = tuple(TensorStructInfo(one.shape, one.dtype) for one in _tensors(out))
        return CallTIR(callee, flat, infos, scalars, span)

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


def _refuse_foreign(op: OpDef, attrs: object) -> None:
    """Raise UnsupportedError where ``attrs`` name extents that no input of the program has.

    Those of inputs are int64 here; what is narrower stands in an attribute alone.
    """
    values = [getattr(attrs, field.name) for field in attr_fields(type(attrs))]
    if not values:
        return
    parts = [part for value in values for part in (value if isinstance(value, tuple) else (value,))]
    extents = [part for part in parts if isinstance(part, PrimExpr) and not is_any(part)]
    foreign = {var.name for extent in extents for var in variables(extent) if var.dtype != "int64"}
    if foreign:
        named = ", ".join(sorted(foreign))
        raise UnsupportedError(f"{op.name}: its attributes name {named}, which no input has; write numbers there")


def _is_open(info: StructInfo) -> bool:
    """Whether ``info`` has a tensor of known rank and unknown extents."""
    match info:
        case TensorStructInfo(None, _, ndim):
            return ndim >= 0
        case TupleStructInfo(fields):
            return any(map(_is_open, fields))
    return False


def _as_constant(value: Expr) -> Expr:
    """Return a scalar that is a number as a constant."""
    if isinstance(value, PrimValue) and isinstance(value.value, (IntImm, FloatImm)):
        return Constant(np.asarray(value.value.value, numpy_dtype(value.value.dtype)))
    return value


def _tensors(out: Type) -> list[TensorType]:
    match out:
        case TensorType():
            return [out]
        case TupleType(fields):
            return [tensor for field in fields for tensor in _tensors(field)]
    raise UnsupportedError(f"an operator's result cannot have type {out!r}")
