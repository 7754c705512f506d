"""Attributes as MSC writes them: every value a string."""

from __future__ import annotations

from typing import Any

from relay2relax.graph.model import (
    CallAttrs,
    ConstantAttrs,
    ConstructorAttrs,
    FunctionAttrs,
    GetItemAttrs,
    GlobalAttrs,
    IfAttrs,
    InputAttrs,
    MatchAttrs,
    Pattern,
)
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
        case FunctionAttrs(graph, itself):
            return {"graph": graph.name, **({"itself": itself} if itself else {})}
        case IfAttrs(then, otherwise):
            return {"then": then.name, "else": otherwise.name}
        case MatchAttrs(patterns, graphs):
            return {
                f"clause{i}": f"{_pattern(p)}->{g.name}" for i, (p, g) in enumerate(zip(patterns, graphs, strict=True))
            }
        case ConstructorAttrs(data_type, constructor):
            return {"constructor": f"{data_type}.{constructor}"}
        case OpaqueAttrs(_, fields):
            return {name: value_text(value) for name, value in fields}
    cls: type = type(attrs)
    # An attribute that is an expression is an operand once more, and shown as that.
    shown = (field.name for field in attr_fields(cls) if field.kind != "Expr")
    return {name: value_text(getattr(attrs, name)) for name in shown}


def _pattern(pattern: Pattern) -> str:
    parts = ",".join(map(_pattern, pattern.parts))
    match pattern.kind:
        case "constructor":
            return f"{pattern.constructor[1]}({parts})" if parts else pattern.constructor[1]
        case "tuple":
            return f"({parts})"
    return "%" if pattern.kind == "variable" else "_"


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
