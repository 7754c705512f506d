"""Attributes as MSC writes them: every value a string."""

from __future__ import annotations

from typing import Any

from relay2relax.graph.model import CallAttrs, ConstantAttrs, FunctionAttrs, GetItemAttrs, GlobalAttrs, InputAttrs
from relay2relax.ops.attributes import attr_fields
from relay2relax.relay_ir.expr import OpaqueAttrs


def attrs_text(attrs: Any) -> dict[str, str]:
    """Return the attributes of a node as strings, in the order of their declaration."""
    match attrs:
        case ConstantAttrs(None) | InputAttrs() | CallAttrs():
            return {}
        case ConstantAttrs(scalar):
            return {"scalar": value_text(scalar)}
        case GetItemAttrs(index):
            return {"index": str(index)}
        case GlobalAttrs(name):
            return {"global": name}
        case FunctionAttrs(graph):
            return {"graph": graph.name}
        case OpaqueAttrs(_, fields):
            return {name: value_text(value) for name, value in fields}
    cls: type = type(attrs)
    # An attribute that is an expression is an operand once more, and shown as that.
    shown = (field.name for field in attr_fields(cls) if field.kind != "Expr")
    return {name: value_text(getattr(attrs, name)) for name in shown}


def value_text(value: Any) -> str:
    """Return a value as MSC writes it: lists flattened and joined by commas, one-element lists with a comma
    behind.

    Floats have six decimals as in MSC, but more digits where six would change the value (MSC turned 1e-7 into
    0).
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        text = f"{value:.6f}"
        return text if float(text) == value else repr(value)
    if isinstance(value, (tuple, list)):
        items = [value_text(item) for item in value]
        return f"{items[0]}," if len(items) == 1 else ",".join(items)
    text = getattr(value, "value", value)
    return str(text)
