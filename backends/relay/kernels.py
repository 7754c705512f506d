"""How the Relay executors compute operator calls: the records' numpy kernels, or C generated from
their definitions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from relay2relax.backends.c import CompiledModule, compile_prim_funcs
from relay2relax.backends.numpy.tir import evaluate_prim_func
from relay2relax.backends.relay.code import CallOperator
from relay2relax.backends.relay.repeated import as_type, repeated
from relay2relax.core.arrays import empty
from relay2relax.core.dtype import Array, numpy_dtype, of_array
from relay2relax.core.errors import LimitError, Relay2RelaxError, UnsupportedError
from relay2relax.core.errors.table import operators, running
from relay2relax.core.limits import Budget, active
from relay2relax.ops.common.shapes import any_type
from relay2relax.ops.registry.evaluate import call_text, quiet_kernel_value
from relay2relax.ops.registry.lower import lower_call, lower_extents, unknown_extents, with_extents
from relay2relax.ops.registry.record import OpDef, OpError
from relay2relax.ops.registry.table import relay_op
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.relay_ir.ir.expr import Call, Expr, Op
from relay2relax.tir.arith.simplify import prove
from relay2relax.tir.extent import asked, static

# An operator, its attributes, and the types of its arguments, all extents known.
Signature: TypeAlias = tuple[OpDef, Any, tuple[Type, ...]]
# The same with the result's type, in which extents that data decide are unknown until they are
# computed.
_Sized: TypeAlias = tuple[OpDef, Any, tuple[Type, ...], Type]


class NumpyKernels:
    """Every call is the record's ``numpy``."""

    def __init__(self, types: Mapping[Expr, Type]) -> None:
        """``types`` are what is known of the program's expressions."""
        self._types = types
        # Of calls: whether their arguments' types, which inference has looked at, say all.
        self._told: dict[Expr, bool] = {}

    def run(self, call: CallOperator, args: Sequence[Any]) -> object:
        """Return the value of ``call``, with numpy's warnings as they are set; raises OpError for
        what Relay's inference lets pass and nobody can compute.
        """
        op, budget = call.op, active()
        if budget is not None:
            _allow_open(budget, call, args)
        if op.relay_type is any_type:
            if not hasattr(args[0], "dtype"):
                raise OpError(f"{op.name} takes a tensor", 0)
        elif not op.passes_through and (op.relay_type is not None or not self._is_told(call.expr)):
            args, _ = _settled(call, args)
        return quiet_kernel_value(op, call.attrs, args)

    def _is_told(self, expr: Call) -> bool:
        known = self._told.get(expr)
        if known is None:
            types = (self._types.get(arg) for arg in expr.args)
            known = self._told[expr] = all(ty is not None and is_static(ty) for ty in types)
        return known


def _allow_open(budget: Budget, call: CallOperator, args: Sequence[Any]) -> None:
    """Raise LimitError where the values of a call's arguments ask for a result that is too large.

    What types alone tell is looked at where the operator's kernel runs.
    """
    op = call.op
    if op.extents is None:
        return
    try:
        types = tuple(map(type_of, args))
        result = op.infer(call.attrs, *types)
        if is_static(result):
            return
        extents = np.empty(unknown_extents(result), np.int64)
        func = lower_extents(op, call.attrs, types, result, "extents")
        evaluate_prim_func(func, flatten(args), [extents])
        result = with_extents(result, [int(extent) for extent in extents])
        for one in result.fields if isinstance(result, TupleType) else (result,):
            if isinstance(one, TensorType):
                size = math.prod(static(extent) or 0 for extent in one.shape) * numpy_dtype(one.dtype).itemsize
                budget.allocate(size, lambda: call_text(op, args))
    except LimitError:
        raise
    except Relay2RelaxError:
        return  # What is wrong with the call the kernel says.


@dataclass(frozen=True, slots=True)
class _Compiled:
    module: CompiledModule
    name: str


class CKernels:
    """Every call is a C function for exactly its argument types.

    What was not prepared is compiled when it is met.
    """

    def __init__(self) -> None:
        self._compiled: dict[_Sized, _Compiled] = {}

    def prepare(self, signatures: Iterable[Signature]) -> None:
        """Compile what is new among ``signatures``, in one go.

        Where a result's shape depends on data, that is the computation of its extents. Raises
        UnsupportedError where C cannot express the operator, and CompilerError where the compiler
        is missing or refuses the code.
        """
        self._compile((op, attrs, types, op.infer(attrs, *types)) for op, attrs, types in signatures)

    def _compile(self, calls: Iterable[_Sized]) -> None:
        new = [one for one in dict.fromkeys(calls) if one not in self._compiled]
        funcs = []
        for number, (op, attrs, types, result) in enumerate(new):
            name = f"{re.sub('[^A-Za-z0-9]', '_', op.name)}_{number}"
            lower = lower_call if is_static(result) else lower_extents
            funcs.append(lower(op, attrs, types, result, name))
        if funcs:
            module = compile_prim_funcs(funcs)
            for call, func in zip(new, funcs, strict=True):
                self._compiled[call] = _Compiled(module, func.name)

    def run(self, call: CallOperator, args: Sequence[Any]) -> object:
        """Return the value of ``call``."""
        if call.op.passes_through:
            return args[0]
        args, result = _settled(call, args)
        types = tuple(map(type_of, args))
        if not is_static(result):
            extents = np.empty(unknown_extents(result), np.int64)
            self._call((call.op, call.attrs, types, result), args, [extents])
            if extents.size and extents.min() < 0:
                raise OpError(f"the inputs of {call.op.name} ask for a result that no tensor is: {extents.tolist()}")
            result = with_extents(result, [int(extent) for extent in extents])
        fields = result.fields if isinstance(result, TupleType) else (result,)
        outputs = [_empty(field, call, args) for field in fields]
        self._call((call.op, call.attrs, types, result), args, outputs)
        return tuple(outputs) if isinstance(result, TupleType) else outputs[0]

    def _call(self, call: _Sized, args: Sequence[Any], outputs: Sequence[Array]) -> None:
        if call not in self._compiled:
            self._compile((call,))
        compiled = self._compiled[call]
        compiled.module.call(compiled.name, *flatten(args), *outputs)


class SignatureKernels:
    """Runs a program on types instead of values, and lists what it calls."""

    def __init__(self) -> None:
        self.signatures: list[Signature] = []

    def run(self, call: CallOperator, args: Sequence[Any]) -> object:
        """Return the type of ``call``, tuples as Python tuples.

        Raises UnsupportedError where it depends on data.
        """
        if call.op.passes_through:
            return args[0]
        types = tuple(map(type_of, args))
        self.signatures.append((call.op, call.attrs, types))
        result = call.op.infer(call.attrs, *types)
        if not is_static(result):
            raise UnsupportedError(f"the shape of {call.op.name}'s result depends on data", kind=running.NOT_ON_BACKEND)
        return _parts(result)


def static_signatures(types: Mapping[Expr, Type]) -> list[Signature]:
    """Return the signatures of all operator calls in a module whose argument and result types are
    static.
    """
    found: list[Signature] = []
    for expr, result in types.items():
        match expr:
            case Call(Op(name), args, attrs):
                op = relay_op(name)
                given = tuple(types[arg] for arg in args)
                if op is not None and not op.passes_through and is_static(result) and all(map(is_static, given)):
                    found.append((op, attrs, given))
    return found


def _settled(call: CallOperator, args: Sequence[Any]) -> tuple[Sequence[Any], Type]:
    """Return the arguments as the operator takes them, and the type of the result.

    Raises OpError where their shapes do not fit.
    """
    if call.op.passes_through:
        return args, type_of(args[0])
    types = tuple(map(type_of, args))
    try:
        with asked() as conditions:
            result = call.op.infer(call.attrs, *types)
        if any(prove(one) is False for one in conditions):
            raise OpError(f"{call.op.name} takes no arguments of these shapes together", kind=operators.SHAPE)
    except OpError as problem:
        types = repeated(call.op, call.attrs, types, problem)
        result = call.op.infer(call.attrs, *types)
        args = tuple(as_type(arg, ty) for arg, ty in zip(args, types, strict=True))
    if any(extent < 0 for part in _tensors(result) for extent in map(static, part.shape) if extent is not None):
        raise OpError(f"{call.op.name} of these shapes has a result of negative extents")
    return args, result


def _tensors(ty: Type) -> list[TensorType]:
    parts = ty.fields if isinstance(ty, TupleType) else (ty,)
    return [part for part in parts if isinstance(part, TensorType)]


def is_static(ty: Type) -> bool:
    """Whether ``ty`` is a tensor of static shape, or a tuple of such."""
    match ty:
        case TensorType(shape):
            return all(static(extent) is not None for extent in shape)
        case TupleType(fields):
            return all(map(is_static, fields))
    return False


def type_of(value: object) -> Type:
    """Return the type of an array or a tuple of arrays; types stand for values of theirs."""
    match value:
        case np.ndarray() | np.generic():
            return TensorType(value.shape, of_array(np.asarray(value)))
        case tuple():
            return TupleType(tuple(map(type_of, value)))
        case Type():
            return value
    raise UnsupportedError(f"an operator cannot take {value!r}", kind=running.NOT_ON_BACKEND)


def typed(value: object) -> object:
    """Return ``value`` with arrays replaced by their types, tuples kept: what ``SignatureKernels``
    runs on.
    """
    return tuple(map(typed, value)) if isinstance(value, tuple) else type_of(value)


def flatten(values: Iterable[Any]) -> list[Array]:
    """Return the arrays among ``values``, those in tuples included, in order."""
    found: list[Array] = []
    stack = list(values)[::-1]
    while stack:
        value = stack.pop()
        if isinstance(value, tuple):
            stack.extend(reversed(value))
        else:
            found.append(value)
    return found


def _parts(ty: Type) -> object:
    return tuple(map(_parts, ty.fields)) if isinstance(ty, TupleType) else ty


def _empty(ty: Type, call: CallOperator, args: Sequence[Any]) -> Array:
    assert isinstance(ty, TensorType)
    shape = [static(extent) or 0 for extent in ty.shape]
    return empty(shape, numpy_dtype(ty.dtype), lambda: call_text(call.op, args))
