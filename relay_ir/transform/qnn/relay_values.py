"""The formulas of quantised operators carried out with Relay's operators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.ops.common.conversion import convert
from relay2relax.ops.quantized.arithmetic import Factor, channel_axis, fixed_point, ratio_of, spread
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Op
from relay2relax.relay_ir.ir.types import TensorType
from relay2relax.relay_ir.transform.parts import scalar


class UnknownScalesError(Exception):
    """A fixed-point multiplier follows from scales that only the running program knows."""


@dataclass(frozen=True, slots=True)
class RelayValues:
    """A kit of formulas (``ops/common/formula.py``) whose values are Relay's expressions."""

    types: TypeTable

    def type_of(self, x: Expr) -> TensorType:
        """Return the type of ``x``, which is a tensor."""
        found = self.types.tensor(x)
        assert found is not None
        return found

    def dtype_of(self, x: Expr) -> str:
        """Return the dtype of ``x``."""
        return self.type_of(x).dtype

    def const(self, value: float | int, dtype: str) -> Expr:
        """Return a constant of rank 0."""
        return scalar(value, dtype)

    def cast(self, x: Expr, dtype: str) -> Expr:
        """Return ``x`` as ``dtype``, itself where it is; constants are converted."""
        if self.dtype_of(x) == dtype:
            return x
        made: Expr = Constant(convert(x.data, dtype)) if isinstance(x, Constant) else op.cast(x, dtype)
        return made

    def unary(self, name: str, x: Expr) -> Expr:
        """Return the operator ``name`` of ``x``."""
        return self._call(name, x)

    def binary(self, name: str, a: Expr, b: Expr) -> Expr:
        """Return the operator ``name`` of ``a`` and ``b``."""
        return self._call(name, a, b)

    def where(self, condition: Expr, a: Expr, b: Expr) -> Expr:
        """Return ``a`` where the condition holds, else ``b``."""
        return self._call("where", condition, a, b)

    def is_all(self, x: Expr, value: int) -> bool:
        """Whether ``x`` is a constant of which every element is ``value``."""
        return isinstance(x, Constant) and bool(np.all(x.data == value))

    def _call(self, name: str, *args: Expr) -> Expr:
        record = relay_op(name)
        assert record is not None, name
        return Call(Op(name), args, record.attrs())

    def spread(self, parameter: Expr, rank: int, axis: int) -> Expr:
        """Return a parameter in a shape that broadcasts along ``axis`` of a tensor of ``rank``."""
        if isinstance(parameter, Constant):
            return Constant(spread(parameter.data, rank, axis))
        if not self.type_of(parameter).shape:
            return parameter
        trailing = rank - 1 - channel_axis(axis, rank)
        made: Expr = op.reshape(parameter, newshape=(-1, *(1,) * trailing) if rank else ())
        return made

    def factor(self, scale: Expr, out_scale: Expr, rank: int = 0, axis: int = -1) -> Factor[Expr]:
        """Return the quotient of two scales in fixed point.

        Raises UnknownScalesError where they are not constants.
        """
        return self.fixed(self.ratio(scale, out_scale, rank, axis))

    def fixed(self, ratio: Array) -> Factor[Expr]:
        """Return a quotient of float64 in fixed point."""
        found = fixed_point(ratio)
        return Factor(Constant(found.scale), Constant(found.half), Constant(found.total))

    def ratio(self, scale: Expr, out_scale: Expr, rank: int, axis: int) -> Array:
        """Return the quotient of two scales in float64.

        Raises UnknownScalesError where they are not constants.
        """
        if not isinstance(scale, Constant) or not isinstance(out_scale, Constant):
            raise UnknownScalesError
        return ratio_of(spread(scale.data, rank, axis), spread(out_scale.data, 0, 0))
