"""What expressions look like: in a picture of data flow, and in a tree of the program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from relay2relax.ops.registry.attributes import attr_fields
from relay2relax.ops.registry.types import TensorType
from relay2relax.relay_ir.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Op,
    OpaqueAttrs,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relay_ir.visualize.interface import VizEdge, VizNode, VizParser

Found = tuple["VizNode | None", "list[VizEdge]"]


class DefaultVizParser(VizParser):
    """Data flow: operators are the names of calls, functions of the module are not nodes."""

    def get_node_edges(
        self, node: Expr, relay_param: Mapping[str, object], node_to_id: Mapping[Expr, str]
    ) -> tuple[VizNode | None, list[VizEdge]]:
        """Return the node of an expression, and the edges from its operands."""
        match node:
            case Function(attrs=attrs, body=body):
                return _made(node, f"Func {attrs.get('Composite', '')}", _lines(attrs), (body,), node_to_id)
            case Call(args=args):
                return _made(node, *_called(node), args, node_to_id)
            case Var():
                kind = "Var(Param)" if node.name in relay_param else "Var(Input)"
                return _made(node, kind, _variable(node), (), node_to_id)
            case Tuple(fields):
                return _made(node, "Tuple", "", fields, node_to_id)
            case TupleGetItem(value, index):
                return _made(node, "TupleGetItem", f"idx: {index}", (value,), node_to_id)
            case Constant(data):
                return _made(node, "Const", f"shape: {data.shape}, dtype: {data.dtype}", (), node_to_id)
            case GlobalVar() | Op():
                return None, []
        return _made(node, "unknown", f"don't know how to parse {type(node).__name__}", (), node_to_id)


class TermVizParser(VizParser):
    """The program as it is built: what is called, lets and branches are nodes, too."""

    def __init__(self) -> None:
        self._others = DefaultVizParser()

    def get_node_edges(
        self, node: Expr, relay_param: Mapping[str, object], node_to_id: Mapping[Expr, str]
    ) -> tuple[VizNode | None, list[VizEdge]]:
        """Return the node of an expression, and the edges from its parts."""
        match node:
            case Call(callee, args):
                return _made(node, "Call", "", (callee, *args), node_to_id)
            case Let(var, value, body):
                return _made(node, "Let", "(var, val, body)", (var, value, body), node_to_id)
            case If(condition, then, otherwise):
                return _made(node, "If", "(cond, true, false)", (condition, then, otherwise), node_to_id)
            case GlobalVar(name):
                return _made(node, "GlobalVar", name, (), node_to_id)
            case Op(name):
                return _made(node, name, "", (), node_to_id)
            case Function(params, body):
                names = ", ".join(f"Var({param.name})" for param in params)
                return _made(node, "Func", f"[{names}]", (body,), node_to_id)
        return self._others.get_node_edges(node, relay_param, node_to_id)


DotVizParser = DefaultVizParser


def _made(node: Expr, kind: str, detail: str, parts: Iterable[Expr], ids: Mapping[Expr, str]) -> Found:
    return VizNode(ids[node], kind, detail), [VizEdge(ids[part], ids[node]) for part in parts]


def _lines(attrs: Mapping[str, object]) -> str:
    return "\n".join(f"{name}: {_value(value)}" for name, value in attrs.items())


def _value(value: object) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)


def _called(call: Call) -> tuple[str, str]:
    match call.op:
        case Op(name):
            return f"Call {name}", _lines(_attributes(call.attrs))
        case Function(attrs=attrs):
            return f"Call {attrs.get('Composite', 'Anonymous Func')}", _lines(attrs)
        case GlobalVar(name):
            return "Call GlobalVar", f"GlobalVar.name_hint: {name}"
    return f"Call {type(call.op).__name__}", ""


def _attributes(attrs: object) -> Mapping[str, object]:
    if isinstance(attrs, OpaqueAttrs):
        return dict(attrs.fields)
    return {field.name: getattr(attrs, field.name) for field in attr_fields(type(attrs))}


def _variable(var: Var) -> str:
    said = [f"name_hint: {var.name}"]
    match var.type_annotation:
        case None:
            pass
        case TensorType(shape, dtype):
            said += [f"shape: ({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})", f"dtype: {dtype}"]
        case other:
            said.append(f"type_annotation: {other}")
    return "\n".join(said)
