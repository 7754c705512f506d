"""Functions that users register for operators, by the names that TVM's registry has for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Optional, TypeAlias

from relay2relax.ops.registry.types import Type
from relay2relax.relay_ir.ir.expr import Expr

# (attributes, arguments, types of the arguments …) -> the call that takes the place, or None;
# other keys have functions of other kinds.
Function: TypeAlias = Callable[..., Any]
# (attributes, arguments, types of the arguments, layouts asked for) -> the call
Convert: TypeAlias = Callable[[Any, Sequence[Expr], Sequence[Type], Sequence[str]], Optional[Expr]]

ALTER, CONVERT, LEGALIZE = "FTVMAlterOpLayout", "FTVMConvertOpLayout", "FTVMLegalize"

_REGISTERED: dict[str, dict[str, Function]] = {}


def op_attr(op_name: str, key: str) -> Function | None:
    """Return what is registered for an operator under ``key``, None where nothing is."""
    return _REGISTERED.get(key, {}).get(op_name)


def register_op_attr(op_name: str, key: str, value: Function | None = None) -> Any:
    """Register ``value`` for the operator under ``key``, or decorate with it."""

    def register(function: Function) -> Function:
        _REGISTERED.setdefault(key, {})[op_name] = function
        return function

    return register if value is None else register(value)


def forget_op_attr(op_name: str, key: str) -> None:
    """Take back what is registered for the operator under ``key``."""
    _REGISTERED.get(key, {}).pop(op_name, None)


def register_alter_op_layout(op_name: str, alter_layout: Function | None = None) -> Any:
    """Register ``alter_layout(attrs, args, arg_types, out_type)`` for ``AlterOpLayout``.

    It returns the call that takes the place of the operator's, or None where that stays.
    """
    return register_op_attr(op_name, ALTER, alter_layout)


def register_convert_op_layout(op_name: str, convert_layout: Convert | None = None) -> Any:
    """Register ``convert_layout(attrs, args, types, desired_layouts)`` for ``ConvertLayout``."""
    return register_op_attr(op_name, CONVERT, convert_layout)


def register_legalize(op_name: str, legal_op: Function | None = None) -> Any:
    """Register ``legal_op(attrs, args, types)`` for ``Legalize``; the last type is the result's."""
    return register_op_attr(op_name, LEGALIZE, legal_op)


class TempOpAttr:
    """Registers a function while a ``with`` block runs."""

    def __init__(self, op_name: str, attr_key: str, attr_value: Function) -> None:
        self.op_name, self.attr_key, self.attr_value = op_name, attr_key, attr_value
        self._before: Function | None = None

    def __enter__(self) -> None:
        self._before = op_attr(self.op_name, self.attr_key)
        register_op_attr(self.op_name, self.attr_key, self.attr_value)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is None:
            del _REGISTERED[self.attr_key][self.op_name]
        else:
            _REGISTERED[self.attr_key][self.op_name] = self._before
