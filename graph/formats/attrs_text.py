"""Attributes as MSC writes them: every value a string."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from relay2relax.graph.kinds import NodeKind, PatternKind
from relay2relax.graph.model import (
    CallAttrs,
    ConstantAttrs,
    ConstructorAttrs,
    FunctionAttrs,
    FusedAttrs,
    GetItemAttrs,
    GlobalAttrs,
    IfAttrs,
    InputAttrs,
    MatchAttrs,
    MSCGraph,
    Pattern,
    RelaxAttrs,
)
from relay2relax.ops.registry.attributes import attr_fields
from relay2relax.ops.registry.record import OpDef
from relay2relax.relax_ir.inference.op_signatures import Argument, ForeignOp
from relay2relax.relax_ir.ir import text as values
from relay2relax.relax_ir.ir.expr import (
    Call,
    CallDPSPacked,
    CallTIR,
    Constant,
    Expr,
    ExternFunc,
    GlobalVar,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.ir.struct_info import StructInfo
from relay2relax.relax_ir.ir.visit import operands
from relay2relax.relay_ir.ir.expr import OpaqueAttrs
from relay2relax.tir.ir.expr import FloatImm, PrimExpr
from relay2relax.tir.script.names import identifier


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
        case FusedAttrs(graph):
            return _parts(graph)
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
        case RelaxAttrs(_, StructInfo() as cast):
            return {"info": values.print_struct_info(cast)}
        case RelaxAttrs(value):
            return _relax(value)
    return _fields(attrs)


def _parts(graph: MSCGraph) -> dict[str, str]:
    """Return the attributes of all parts; the second one of a name is numbered 1, and so on."""
    found: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for node in graph.nodes:
        if node.kind is NodeKind.INPUT:
            continue
        for name, value in attrs_text(node.attrs).items():
            found[f"{name}_{counts[name]}" if counts[name] else name] = value
            counts[name] += 1
    return found


def _fields(attrs: Any) -> dict[str, str]:
    """Return the attributes of an operator."""
    cls: type = type(attrs)
    # An attribute that is an expression is an operand once more, and shown as that.
    shown = (field.name for field in attr_fields(cls) if field.kind != "Expr")
    return {name: value_text(getattr(attrs, name)) for name in shown}


def _relax(value: Expr) -> dict[str, str]:
    """Return what a Relax expression says beside the values that it takes."""
    match value:
        case CallTIR(GlobalVar(name), _, _, tir_args):
            return {"func": name, **({"tir_vars": value_text(tir_args)} if tir_args else {})}
        case CallDPSPacked(name) | Call(GlobalVar(name)) | Call(ExternFunc(name)):
            return {"func": name, **_literals(value, ())}
        case Call(ForeignOp(), _, attrs):
            said = ((name or f"arg{place}", one) for place, (name, one) in enumerate(attrs.layout))
            return {name: value_text(one) for name, one in said if not isinstance(one, Argument)}
        case Call(OpDef(inputs=inputs), _, attrs):
            return {**_literals(value, inputs), **_fields(attrs)}
        case TupleGetItem(_, index):
            return {"index": str(index)}
        case ShapeExpr() | PrimValue() | StringImm() | GlobalVar() | ExternFunc():
            return {"value": value_text(value)}
    return _literals(value, ())


def _literals(value: Expr, names: Sequence[str]) -> dict[str, str]:
    """Return the arguments that are no tensors, by their ``names``."""
    return {
        names[place] if place < len(names) else f"arg{place}": value_text(one)
        for place, one in enumerate(operands(value))
        if not isinstance(one, (Var, Constant, Tuple))
    }


def _pattern(pattern: Pattern) -> str:
    parts = ",".join(map(_pattern, pattern.parts))
    match pattern.kind:
        case PatternKind.CONSTRUCTOR:
            return f"{pattern.constructor[1]}({parts})" if parts else pattern.constructor[1]
        case PatternKind.TUPLE:
            return f"({parts})"
    return "%" if pattern.kind is PatternKind.VARIABLE else "_"


def value_text(value: Any) -> str:
    """Return a value as MSC writes it: lists flattened and joined by commas, one-element lists with
    a comma behind.

    Floats have six decimals as in MSC, but more digits where six would change the value (MSC turned
    1e-7 into 0).
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
    match value:
        case FloatImm(number):
            return value_text(number)
        case PrimExpr():
            return values.extent_text(value, lambda var: identifier(var.name))
        case StructInfo():
            return values.print_struct_info(value)
        case ShapeExpr(extents):
            return value_text(extents)
        case PrimValue(scalar):
            return value_text(scalar)
        case GlobalVar(name) | ExternFunc(name):
            return name
    return str(getattr(value, "value", value))
