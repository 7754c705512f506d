"""``CallWithFields`` and its kin: a node with some of its fields changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, TypeVar, cast

from relay2relax.relay_ir.ir.expr import Expr

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Node = TypeVar("Node", bound=Expr)


def _with_fields(names: str) -> Callable[..., Expr]:
    """Return a function of a node and its fields in TVM's order, of which those that are None stay,
    and those that nodes do not have here.
    """
    order = names.split()

    def changed(node: Node, *args: object, **given: object) -> Node:
        known = {one.name for one in fields(cast("DataclassInstance", node))}
        told = {**dict(zip(order, args, strict=False)), **given}
        kept = {name: value for name, value in told.items() if value is not None and name in known}
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in kept.items()}
        return cast(Node, replace(cast("DataclassInstance", node), **values))

    return changed


CallWithFields = _with_fields("op args attrs type_args virtual_device span")
VarWithFields = _with_fields("vid type_annotation virtual_device span")
TupleWithFields = _with_fields("fields virtual_device span")
TupleGetItemWithFields = _with_fields("tuple_value index virtual_device span")
ConstantWithFields = _with_fields("data virtual_device span")
IfWithFields = _with_fields("condition true_branch false_branch virtual_device span")
LetWithFields = _with_fields("var value body virtual_device span")
