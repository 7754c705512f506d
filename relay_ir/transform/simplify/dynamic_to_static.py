"""Operators that take shapes as inputs, as the operators that have them as attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeGuard

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.core.passes import Pass
from relay2relax.ops.common.shape_values import settled
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.inference.errors import TypeInferenceError
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Function, Op
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, rewrite
from relay2relax.relay_ir.transform.fold_constant import folded
from relay2relax.relay_ir.transform.infrastructure import declared, map_functions
from relay2relax.tir.ir.expr import FloatImm


@dataclass(frozen=True, slots=True)
class DynamicToStatic(Pass[IRModule]):
    """Turn ``dyn.*`` calls whose shapes are constant into calls with attributes.

    Constants are folded on the way, and what a call tells of shapes behind it serves there. What
    functions return is declared anew by inference.
    """

    opt_level: ClassVar[int] = 2

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with those operators static that can be.

        Types are inferred where ``mod`` has none and they can be: what inference lacks may be a
        shape that is found here.
        """
        try:
            mod = declared(mod)
            types = TypeTable.inferred(mod)
        except TypeInferenceError:
            types = TypeTable(mod)

        def first_type(node: Call, made: Call) -> Any:
            return types.of(made.args[0])

        def change(function: Function) -> Function:
            if not any(isinstance(node, Op) and node.name.startswith("dyn.") for node in nodes(function)):
                return folded(function, first_type)
            found = rewrite(folded(function, first_type, _static), _undeclared)
            assert isinstance(found, Function)
            return found

        return map_functions(mod, change)


def _undeclared(node: Expr) -> Expr:
    return replace(node, ret_type=None) if isinstance(node, Function) else node


def _static(call: Call, known: Mapping[Expr, object]) -> Expr:
    """Return ``call`` with the inputs that are known as attributes; itself where too few are."""
    assert isinstance(call.op, Op)
    name = call.op.name
    record = relay_op(name)
    # TVM leaves dyn.expand_dims as it is.
    if record is None or not name.startswith("dyn.") or name == "dyn.expand_dims":
        return call
    values = [known.get(arg) for arg in call.args]
    if name in _SCALED:
        numbers = [value for value in values[1:] if isinstance(value, np.ndarray)]
        attrs = _SCALED[name](call.attrs, numbers) if len(numbers) == len(values) - 1 else None
        return call if attrs is None else replace(call, op=Op(name[4:]), args=call.args[:1], attrs=attrs)
    found = settled(record, call.attrs, [one.astype(object) if _integers(one) else None for one in values])
    if found is None:
        return call
    static, attrs, kept = found
    args = tuple(call.args[place] for place in kept)
    if name == "dyn.nn.pad" and not isinstance(args[1], Constant):
        return call
    return replace(call, op=Op(static.name), args=args, attrs=attrs)


def _integers(value: object) -> TypeGuard[Array]:
    return isinstance(value, np.ndarray) and value.dtype.kind in "iu"


def _resized(attrs: Any, numbers: list[Array]) -> Any:
    size, roi = ([one.item() for one in array.reshape(-1)] for array in numbers)
    return replace(attrs, size=tuple(map(int, size)), roi=tuple(FloatImm(one, "float32") for one in roi))


def _upsampled(attrs: Any, numbers: list[Array]) -> Any:
    names = ("scale_d", "scale_h", "scale_w")[-len(numbers) :]
    return replace(attrs, **{name: one.item() for name, one in zip(names, numbers, strict=True)})


# Operators whose inputs are not shapes alone: the attributes that they have of the values.
_SCALED: Mapping[str, Callable[[Any, list[Array]], Any]] = {
    "dyn.image.resize2d": _resized,
    "dyn.nn.upsampling": _upsampled,
    "dyn.nn.upsampling3d": _upsampled,
}
