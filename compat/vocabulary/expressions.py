"""Expressions of Relay under TVM's names: ``name_hint``, ``checked_type``, ``with_attr``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import cast

import numpy as np

from relay2relax.backends.relay.values import AdtValue
from relay2relax.compat.running.ndarray import NDArray
from relay2relax.compat.vocabulary.known_types import inferred, table, tag_of, type_of
from relay2relax.compat.vocabulary.teaching import Lesson, constructor, renamed
from relay2relax.core.dtype import Array
from relay2relax.ops.registry.attributes import NoAttrs
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.ir import expr as ir
from relay2relax.relay_ir.ir.device import VirtualDevice
from relay2relax.relay_ir.ir.module import TypeData
from relay2relax.relay_ir.ir.types import Type


def checked_type(self: ir.Expr) -> Type:
    """Return the type that inference found; raises ValueError where it was not inferred."""
    found = type_of(self)
    if found is None:
        raise ValueError("The type checker has not populated the checked_type for this node")
    return found


def text(
    self: ir.Expr, show_meta_data: bool = True, annotate: Callable[[ir.Expr], str] | None = None, header: bool = True
) -> str:
    """Return the text of an expression, as TVM prints it, with the types that are known."""
    from relay2relax.relay_ir.text.printer import print_expr

    return print_expr(self, show_meta_data, annotate, types=table(), header=header)


def _shown(self: ir.Expr) -> str:
    return text(self, show_meta_data=False, header=False)


def _data(self: ir.Constant) -> Array:
    held: Array = _slot.__get__(self, ir.Constant)
    return held.view(NDArray)


_slot = vars(ir.Constant)["data"]


class _Data:
    """The slot of a constant's data, which is read as an ``NDArray``."""

    def __get__(self, constant: ir.Constant | None, cls: type) -> object:
        return _slot if constant is None else _data(constant)

    def __set__(self, constant: ir.Constant, value: object) -> None:
        _slot.__set__(constant, np.asarray(value))


_type_args = vars(ir.Call)["type_args"]


class _TypeArgs:
    """The slot of a call's type arguments; those of an operator are its arguments' types."""

    def __get__(self, call: ir.Call | None, cls: type) -> object:
        if call is None:
            return _type_args
        held: tuple[Type, ...] = _type_args.__get__(call, ir.Call)
        found = tuple(map(type_of, call.args)) if not held and isinstance(call.op, ir.Op) and inferred(call) else ()
        return found if found and None not in found else held

    def __set__(self, call: ir.Call, value: object) -> None:
        _type_args.__set__(call, value)


def with_attr(self: ir.Function, key: str | Mapping[str, object], value: object = None) -> ir.Function:
    """Return the function with an attribute, or several of them."""
    added = dict(key) if isinstance(key, Mapping) else {key: value}
    return replace(self, attrs={**self.attrs, **added})


def without_attr(self: ir.Function, key: str) -> ir.Function:
    """Return the function without an attribute."""
    return replace(self, attrs={name: value for name, value in self.attrs.items() if name != key})


def _call_init() -> Lesson:
    lesson = constructor(ir.Call)
    made = cast("type", lesson.value)

    def __init__(
        self: ir.Call, op: ir.Expr, args: object, attrs: object = None, *rest: object, **named: object
    ) -> None:
        if isinstance(attrs, Mapping):
            attrs = ir.OpaqueAttrs("DictAttrs", tuple(attrs.items()))
        if attrs is None or attrs == NoAttrs():
            record = relay_op(op.name) if isinstance(op, ir.Op) else None
            attrs = _defaults(record.attrs) if record is not None else None
        made(self, op, tuple(cast("tuple[object, ...]", args)), attrs, *rest, **named)

    return Lesson(ir.Call, "__init__", __init__)


def _defaults(attrs: type) -> object:
    try:
        return attrs()
    except TypeError:  # an attribute that has no default: inference says so
        return NoAttrs()


def _virtual_device(self: ir.Expr) -> object:
    return getattr(self, "virtual_device", None)


def _set_part(cls: type) -> Lesson:
    """Return the lesson that lets a node's device be set, as TVM's may be, and nothing else."""
    original = cast("Callable[[object, str, object], None]", cls.__setattr__)

    def __setattr__(self: object, name: str, value: object) -> None:
        if name == "virtual_device_":
            from relay2relax.compat.relay.annotations import as_virtual

            object.__setattr__(self, "virtual_device", as_virtual(value))
        else:
            original(self, name, value)

    return Lesson(cls, "__setattr__", __setattr__)


def lessons() -> Iterator[Lesson]:
    """Yield what expressions and patterns are taught."""
    yield Lesson(ir.RelayExpr, "checked_type", property(checked_type))
    yield Lesson(ir.RelayExpr, "_checked_type_", property(type_of))
    yield Lesson(ir.RelayExpr, "astext", text)
    yield Lesson(ir.Call, "type_args", _TypeArgs())
    yield Lesson(ir.RelayExpr, "__str__", _shown)
    yield Lesson(ir.RelayExpr, "show", lambda self, **options: print(self))
    yield Lesson(ir.RelayExpr, "same_as", lambda self, other: self == other)
    yield Lesson(ir.RelayExpr, "virtual_device_", property(_virtual_device))
    yield constructor(ir.Var, name_hint="name")
    yield _set_part(ir.Var)
    yield _set_part(ir.Function)
    yield constructor(ir.GlobalVar, name_hint="name", type_annot="span")
    yield constructor(ir.Function)
    yield _call_init()
    yield constructor(ir.Tuple)
    yield constructor(ir.Let, variable="var")
    yield constructor(ir.If, cond="condition")
    yield constructor(ir.Constructor, name_hint="name")
    yield constructor(ir.Match)
    yield constructor(ir.PatternConstructor)
    yield constructor(ir.PatternTuple)
    yield constructor(TypeData)
    yield Lesson(ir.Constant, "data", _Data())
    yield Lesson(ir.Function, "with_attr", with_attr)
    yield Lesson(ir.Function, "with_attrs", with_attr)
    yield Lesson(ir.Function, "without_attr", without_attr)
    for cls in (ir.Var, ir.GlobalVar, ir.Constructor):
        yield from renamed(cls, name_hint="name")
    yield from renamed(VirtualDevice, device_type_int="device_type", virtual_device_id="device_id")
    yield Lesson(ir.Var, "vid", property(lambda self: self))
    yield from renamed(ir.If, cond="condition")
    yield Lesson(AdtValue, "tag", property(lambda self: tag_of(self.constructor)))
