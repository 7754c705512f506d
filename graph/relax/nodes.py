"""Values of nodes that hold no graph to be evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay2relax.core.errors import Diagnostic, UnsupportedError
from relay2relax.core.errors.table import translating
from relay2relax.graph.errors import ill_formed
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import (
    ConstructorAttrs,
    FunctionAttrs,
    FusedAttrs,
    GetItemAttrs,
    GlobalAttrs,
    GraphError,
    MSCGraph,
    MSCJoint,
)
from relay2relax.graph.patterns.forms import emitted, relax_form
from relay2relax.graph.patterns.pattern import Emit
from relay2relax.graph.relax.frames import Frame
from relay2relax.graph.relax.fusion import composite, parameters
from relay2relax.graph.relax.signatures import hint_of
from relay2relax.graph.relax.translation import Translation
from relay2relax.graph.relax.values import Cell, Closure, Fields, Maker, Value, is_known
from relay2relax.ops import relay_op
from relay2relax.relax_ir import Call, Constant, Tuple
from relay2relax.relax_ir import Expr as RelaxExpr
from relay2relax.relax_ir.build.builder import call_op


def value_of(export: Translation, frame: Frame, node: MSCJoint) -> Value:
    """Return the value of a node that holds no graph to be evaluated."""
    if node.kind is NodeKind.CONSTANT:
        return export.weight(frame.graph, node.weights["const"])
    held = {tensor.name: tensor for tensor in node.weights.values()}
    args = [
        export.weight(frame.graph, held[name]) if name in held else export.operand(frame, node, name)
        for name in node.operands
    ]
    match node.kind, node.attrs:
        case NodeKind.OPERATOR, _:
            return called_operator(export, frame, node, args)
        case NodeKind.TUPLE, _:
            if any(map(is_known, args)):
                return Fields(tuple(args))
            return Tuple(tuple(export.as_relax(node, arg) for arg in args))
        case NodeKind.GET_ITEM, GetItemAttrs(index):
            return export.project(args[0], index)
        case NodeKind.FUSED, FusedAttrs(parts):
            return fused_value(export, frame, node, parts, args)
        case NodeKind.FUNCTION, FunctionAttrs(body, itself):
            name = hint_of(body.find_node(itself)) if itself else node.name
            return Closure(body, tuple(args), name, itself, recursive=bool(itself))
        case NodeKind.GLOBAL, GlobalAttrs(name):
            return export.function_of_module(node, name)
        case NodeKind.CONSTRUCTOR, ConstructorAttrs(data_type, constructor):
            return Maker(data_type, constructor)
        case NodeKind.BIND, _:
            return args[0]
        case NodeKind.LET, _:
            return args[1]
        case NodeKind.REF, _:
            return Cell(args[0], frame.region)
        case NodeKind.REF_READ | NodeKind.REF_WRITE, _:
            return reference(export, frame, node, args)
        case NodeKind.INPUT, _:
            raise GraphError(f"nothing is given for the input {node.name!r} of {frame.graph.name!r}")
    raise ill_formed(node)


def called_operator(export: Translation, frame: Frame, node: MSCJoint, args: Sequence[Value]) -> Value:
    """Return what the operator of a node makes of ``args``."""
    op = relay_op(node.op)
    if op is None:
        where = f" (span {node.span})" if node.span is not None else ""
        raise UnsupportedError(Diagnostic(f"node {node.name!r}{where}: operator {node.op} has no record"))
    given = [export.as_relax(node, arg) for arg in args]
    if export.lowered:
        result = export.emitter.as_tir(op, node.attrs, given, span=node.span)
    else:
        result = export.emitter.as_relax(op, node.attrs, given, node.span)
    if frame.unrolled:
        export.compute(op, node.attrs, given, result)
    return result


def fused_value(export: Translation, frame: Frame, node: MSCJoint, parts: MSCGraph, args: Sequence[Value]) -> Value:
    """Return what a fused node becomes: what its pattern says or what its parts become, in place or
    as the call of a function.
    """
    if not export.composites or any(map(is_known, args)):
        return _in_place(export, frame, node, parts, args)
    builder = export.builder
    given = {name: export.as_relax(node, arg) for name, arg in zip(parts.params, args, strict=True)}
    outer = {name: value for name, value in given.items() if not isinstance(value, Constant)}
    params = parameters({name: builder.struct_info(value) for name, value in outer.items()})
    inner: dict[str, Value] = {**given, **dict(zip(outer, params, strict=True))}
    builder.begin_sequence()
    if not export.branches:
        builder.begin_dataflow()
    made = _in_place(export, frame, node, parts, [inner[name] for name in parts.params])
    result = export.as_relax(node, made)
    if not export.branches:
        result = builder.emit_output(result)
        builder.end_dataflow()
    function = composite(node.op, params, builder.end_sequence(result), builder.struct_info)
    callee = builder.add_func(function, node.op)
    return builder.emit(Call(callee, tuple(outer.values()), span=node.span))


def _in_place(export: Translation, frame: Frame, node: MSCJoint, parts: MSCGraph, args: Sequence[Value]) -> Value:
    form = relax_form(node.op)
    if form is not None:
        given = [export.as_relax(node, arg) for arg in args]
        held = [export.weight(frame.graph, tensor) for tensor in node.weights.values()]

        def call(name: str, *operands: RelaxExpr, **attrs: object) -> RelaxExpr:
            return export.builder.emit(call_op(name, *operands, span=node.span, **attrs))

        return emitted(form, Emit(call, node, dict(zip(node.weights, held, strict=True))), given)
    inner = replace(frame, graph=parts, values=dict(zip(parts.params, args, strict=True)))
    for part in parts.nodes:
        if part.name not in inner.values:
            inner.values[part.name] = value_of(export, inner, part)
    return inner.result


def reference(export: Translation, frame: Frame, node: MSCJoint, args: Sequence[Value]) -> Value:
    """Read or write a reference.

    What a branch does to one from around it only the running program knows.
    """
    cell = args[0]
    if not isinstance(cell, Cell) or (node.kind is NodeKind.REF_WRITE and cell.region is not frame.region):
        raise UnsupportedError(
            f"node {node.name!r}: what a reference holds is known only when the program runs; Relax has no references",
            kind=translating.NO_RELAX_FORM,
        )
    if node.kind is NodeKind.REF_READ:
        return cell.content
    cell.content = args[1]
    return Tuple(())
