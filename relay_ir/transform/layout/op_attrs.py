"""Functions that users register for operators, by the names that TVM's registry has for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Optional, TypeAlias, cast

from relay2relax.core.errors.extensions import ExtensionError, ask, returned
from relay2relax.core.source import SourceRange, SourceText
from relay2relax.ops.registry.types import Type
from relay2relax.relay_ir.ir.expr import Call, Expr, Op, RelayExpr
from relay2relax.relay_ir.ir.module import IRModule

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


def functions_of(key: str) -> Mapping[str, Function]:
    """Return what is registered under ``key``, by the names of the operators."""
    return dict(_REGISTERED.get(key, {}))


@dataclass(frozen=True, slots=True)
class Registered:
    """What a user registered for an operator, as passes ask it."""

    function: Function
    what: str

    def __call__(self, *given: object, mod: IRModule | None = None, node: Expr | None = None) -> Any:
        """Return what the function makes of ``given`` for ``node`` of ``mod``.

        Raises ExtensionError where it raises.
        """
        where, source = _place(mod, node)
        return ask(self.function, *given, what=self.what, where=where, source=source)

    def replacement(self, *given: object, mod: IRModule | None = None, node: Expr | None = None) -> Expr | None:
        """Return the expression that takes the place of ``node``, None where it stays.

        Raises ExtensionError where the function raises, or returns something else.
        """
        found = self(*given, mod=mod, node=node)
        if found is not None and not isinstance(found, RelayExpr):
            raise self.unexpected("an expression or None", found, mod, node)
        return cast("Expr | None", found)

    def unexpected(
        self, expected: str, found: object, mod: IRModule | None = None, node: Expr | None = None
    ) -> ExtensionError:
        """Return the error for what the function returned."""
        return returned(self.what, expected, found, *_place(mod, node))


def _place(mod: IRModule | None, node: Expr | None) -> tuple[SourceRange | None, SourceText | None]:
    return (None, None) if mod is None or node is None else (mod.locations.get(node), mod.source)


def registered(op_name: str, key: str) -> Registered | None:
    """Return what is registered for an operator under ``key``, as a pass asks it."""
    function = op_attr(op_name, key)
    return None if function is None else Registered(function, f"what is registered for {op_name} as {key}")


def checked(own: Registered, made: Expr | None, call: Call, mod: IRModule) -> Call | None:
    """Return ``made``, which takes the place of ``call`` in another layout.

    Raises ExtensionError where it is not a call of an operator with as many arguments.
    """
    if made is None:
        return None
    if not isinstance(made, Call) or not isinstance(made.op, Op):
        raise own.unexpected("a call of an operator", made, mod, call)
    if len(made.args) != len(call.args):
        raise own.unexpected(f"a call with {len(call.args)} arguments", made.args, mod, call)
    return made


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
