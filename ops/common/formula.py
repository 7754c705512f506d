"""One way to write the formula of an element-wise operator, for numpy arrays, for elements of
tensor programs, and as Relax operators.

    def mish(k: Kit[X], attrs: NoAttrs, x: X) -> X:
        return k.binary("multiply", x, k.unary("tanh", k.unary("log", …)))

``kernel``, ``definition`` and ``expansion`` make the facets of a record from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Protocol

import numpy as np
from typing_extensions import TypeVar

from relay2relax.core.dtype import Array, numpy_dtype, of_array
from relay2relax.ops.common.conversion import convert
from relay2relax.ops.common.narrow_floats import elementary
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.registry.record import A, A_contra, Definition, Emit, Expanded, Kernel, OpDef, V
from relay2relax.ops.registry.table import relay_op
from relay2relax.ops.registry.types import TensorType
from relay2relax.tir import te
from relay2relax.tir.ir.expr import BinaryOp, IntImm, PrimExpr, Select, binary, cast, const, maximum, minimum
from relay2relax.tir.ir.intrinsics import call

X = TypeVar("X")


class Kit(Protocol[X]):
    """What the formulas need of a kind of value; operands have one dtype."""

    def dtype_of(self, x: X) -> str:
        """Return the dtype of ``x``."""

    def const(self, value: float | int, dtype: str) -> X:
        """Return a constant."""

    def cast(self, x: X, dtype: str) -> X:
        """Return ``x`` as ``dtype``; floats truncate, integers wrap."""

    def unary(self, name: str, x: X) -> X:
        """Return the Relay operator ``name`` of ``x``."""

    def binary(self, name: str, a: X, b: X) -> X:
        """Return the Relay operator ``name`` of ``a`` and ``b``."""

    def where(self, condition: X, a: X, b: X) -> X:
        """Return ``a`` where the condition holds, else ``b``."""

    def is_all(self, x: X, value: int) -> bool:
        """Whether ``x`` is known to be ``value`` everywhere, so that a step can be left out."""


def number(k: Kit[X], value: float | int, like: X) -> X:
    """Return a constant of the dtype of ``like``."""
    return k.const(value, k.dtype_of(like))


# The kinds of values


def _record(name: str) -> OpDef:
    record = relay_op(name)
    assert record is not None, name
    return record


class Arrays:
    """Formulas on numpy arrays, by the values of Relay's operators."""

    def dtype_of(self, x: Array) -> str:
        return of_array(x)

    def const(self, value: float | int, dtype: str) -> Array:
        return np.asarray(value, numpy_dtype(dtype))

    def cast(self, x: Array, dtype: str) -> Array:
        return convert(x, dtype)

    def unary(self, name: str, x: Array) -> Array:
        record = _record(name)
        return np.asarray(record.numpy(record.attrs(), x))

    def binary(self, name: str, a: Array, b: Array) -> Array:
        record = _record(name)
        with np.errstate(all="ignore"):
            return np.asarray(record.numpy(record.attrs(), a, b))

    def where(self, condition: Array, a: Array, b: Array) -> Array:
        return np.asarray(np.where(condition, a, b))

    def is_all(self, x: Array, value: int) -> bool:
        return bool(np.all(x == value))


_OPERATORS: Mapping[str, BinaryOp] = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "less": "<",
    "greater": ">",
    "greater_equal": ">=",
    "equal": "==",
    "right_shift": ">>",
}


class Elements:
    """Formulas on single elements of tensor programs."""

    def dtype_of(self, x: PrimExpr) -> str:
        return x.dtype

    def const(self, value: float | int, dtype: str) -> PrimExpr:
        return const(value, dtype)

    def cast(self, x: PrimExpr, dtype: str) -> PrimExpr:
        return cast(dtype, x)

    def unary(self, name: str, x: PrimExpr) -> PrimExpr:
        return call("fabs", x) if name == "abs" else elementary(name)(x)

    def binary(self, name: str, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        match name:
            case "minimum":
                return minimum(a, b)
            case "maximum":
                return maximum(a, b)
            case "add" if a.dtype == "bool":
                return binary("or", a, b)
            case "multiply" if a.dtype == "bool":
                return binary("and", a, b)
        return binary(_OPERATORS[name], a, b)

    def where(self, condition: PrimExpr, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        return Select(condition, a, b)

    def is_all(self, x: PrimExpr, value: int) -> bool:
        return isinstance(x, IntImm) and x.value == value


class RelaxValues(Generic[V]):
    """Formulas as Relax operators that ``emit`` emits."""

    def __init__(self, emit: Emit[V]) -> None:
        self.emit = emit

    def dtype_of(self, x: V) -> str:
        return tensor(self.emit.type_of(x)).dtype

    def const(self, value: float | int, dtype: str) -> V:
        return self.emit.const(value, dtype)

    def cast(self, x: V, dtype: str) -> V:
        if self.dtype_of(x) == dtype:
            return x
        known = self.emit.constant_of(x)
        return self.emit.call("astype", x, dtype=dtype) if known is None else self.emit.const(known, dtype)

    def unary(self, name: str, x: V) -> V:
        return self.emit.call(name, x)

    def binary(self, name: str, a: V, b: V) -> V:
        return self.emit.call(name, a, b)

    def where(self, condition: V, a: V, b: V) -> V:
        return self.emit.call("where", condition, a, b)

    def is_all(self, x: V, value: int) -> bool:
        known = self.emit.constant_of(x)
        return known is not None and bool(np.all(known == value))


ARRAYS = Arrays()
ELEMENTS = Elements()


# The facets of a record


class Formula(Protocol[A_contra]):
    """``formula(k, attrs, *values)`` in one way for all kinds of values."""

    def __call__(self, k: Kit[X], attrs: A_contra, /, *values: Any, **kwargs: Any) -> X: ...


def kernel(formula: Formula[A]) -> Kernel[A]:
    """Return the numpy kernel of a formula whose result has the dtype of the first input."""

    def numpy(attrs: A, *arrays: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(formula(ARRAYS, attrs, *arrays), arrays[0].dtype)

    return numpy


def definition(formula: Formula[A], name: str) -> Definition[A]:
    """Return the tensor definition of a formula of tensors that have one shape."""

    def compute(attrs: A, out: TensorType, *tensors: te.Tensor) -> te.Tensor:
        return te.compute(out.shape, lambda *at: formula(ELEMENTS, attrs, *(one[at] for one in tensors)), name)

    return compute


def expansion(formula: Formula[A]) -> Expanded[A]:
    """Return the form of a formula as Relax operators."""

    def expand(e: Emit[V], attrs: A, *values: V) -> V:
        """One Relax operator for each step of the formula."""
        return formula(RelaxValues(e), attrs, *values)

    return Expanded(expand)
