"""What integers stand for, ``real = (integer - zero_point) * scale``, and how rules are told it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, Union

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.core.errors import Relay2RelaxError, mistake
from relay2relax.core.errors.table import types as kinds
from relay2relax.relay_ir.ir.equality import structural_equal
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr
from relay2relax.relay_ir.ir.types import TensorType, Type
from relay2relax.relay_ir.transform.fold_constant import fold_expression
from relay2relax.tir.extent import Shape


class FakeQuantizationError(Relay2RelaxError):
    """A fake-quantised operator has no integer form that is known."""

    kind = kinds.FAKE_QUANTIZED

    def __init__(self, reason: str) -> None:
        super().__init__(mistake(kinds.FAKE_QUANTIZED, reason=reason))


@dataclass(frozen=True, slots=True, eq=False)
class TensorAffineType:
    """Integers of ``dtype`` that stand for reals by ``scale`` and ``zero_point``.

    Both are scalars, or vectors along ``axis``.
    """

    scale: Expr
    zero_point: Expr
    dtype: str
    axis: int = -1

    def same_as(self, other: TensorAffineType) -> bool:
        """Whether both are structurally equal."""
        same = structural_equal(self.scale, other.scale) and structural_equal(self.zero_point, other.zero_point)
        return same and (self.dtype, self.axis) == (other.dtype, other.axis)

    def close_to(self, other: TensorAffineType) -> bool:
        """Whether both stand for the same reals, as far as TVM looks: to five digits."""
        return close(self.scale, other.scale) and close(self.zero_point, other.zero_point) and self.dtype == other.dtype


@dataclass(frozen=True, slots=True, eq=False)
class TupleAffineType:
    """What the fields of a tuple stand for."""

    types: tuple[TensorAffineType, ...]


AffineType: TypeAlias = Union[TensorAffineType, TupleAffineType]


class AffineTypes(dict[Expr, AffineType]):
    """What is known of the expressions of a region.

    ``quantize`` is the call of ``qnn.quantize`` that ends it, None where none does. Asking for an
    expression that is not quantised raises FakeQuantizationError.
    """

    def __init__(self, tensors: Mapping[Expr, Type], quantize: Call | None) -> None:
        super().__init__()
        self.tensors = tensors
        self.quantize = quantize

    def __missing__(self, expr: Expr) -> AffineType:
        raise FakeQuantizationError("an operand has no scale and zero point")

    def tensor(self, expr: Expr) -> TensorAffineType:
        """Return what ``expr``, which is not a tuple, stands for."""
        found = self[expr]
        if isinstance(found, TupleAffineType):
            raise FakeQuantizationError("a tensor is expected, this is a tuple")
        return found

    def shape(self, expr: Expr) -> Shape:
        """Return the shape of ``expr``."""
        found = expr.tensor_type if isinstance(expr, Constant) else self.tensors.get(expr)
        if not isinstance(found, TensorType):
            raise FakeQuantizationError("the shape of an operand is not known")
        return found.shape


# (the call with integer operands, what is known) -> (the integer expression, what it stands for)
Rule: TypeAlias = Callable[[Call, AffineTypes], "tuple[Expr, AffineType]"]


def array(expr: Expr) -> Array | None:
    """Return the value of ``expr`` where it is constant."""
    folded = fold_expression(expr)
    return folded.data if isinstance(folded, Constant) else None


def close(left: Expr, right: Expr) -> bool:
    """Whether two scales or zero points are equal to five digits, or the same expression."""
    a, b = array(left), array(right)
    if a is None or b is None:
        return structural_equal(left, right)
    return bool(np.allclose(a, b))
