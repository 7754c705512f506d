"""From the graph back to Relay: the module that ``from_relay`` was given, up to names of what it binds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from relay2relax.core.collection import collection_paused
from relay2relax.core.dtype import Array, of_array
from relay2relax.core.source import Span
from relay2relax.graph.model import (
    CALL,
    CONSTANT,
    FUNCTION,
    GET_ITEM,
    GLOBAL,
    INPUT,
    TUPLE,
    CallAttrs,
    FunctionAttrs,
    GetItemAttrs,
    GlobalAttrs,
    GraphError,
    InputAttrs,
    MSCGraph,
    MSCJoint,
    MSCTensor,
)
from relay2relax.relay_ir.expr import Call, Constant, Expr, Function, GlobalVar, Op, Tuple, TupleGetItem, Var
from relay2relax.relay_ir.module import IRModule
from relay2relax.relay_ir.rewrite import with_attr_operands


@collection_paused()
def to_relay(graph: MSCGraph, weights: Mapping[str, Array]) -> IRModule:
    """Return the Relay module of ``graph``; ``weights`` are its constants by name, taken as they are.

    ``structural_equal(to_relay(*from_relay(mod)), mod)`` holds for every module in graph normal form, and
    order and names of parameters, spans, annotations and sharing are what they were. Types are left to
    inference. Raises GraphError where a weight is missing or does not fit, or the graph is not well formed.
    """
    build = _Build(graph, weights)
    functions = {build.global_var(graph.name): build.function(graph)}
    for name, other in graph.functions.items():
        functions[build.global_var(name)] = build.function(other)
    definitions = {definition.header: definition for definition in graph.type_definitions}
    return IRModule(functions, definitions, graph.module_attrs)


@dataclass(eq=False)
class _Frame:
    """A function under construction."""

    graph: MSCGraph
    rest: Iterator[MSCJoint]
    values: dict[str, Expr] = field(default_factory=dict)
    # The node of the surrounding graph that the function is the value of.
    target: MSCJoint | None = None


class _Build:
    def __init__(self, graph: MSCGraph, weights: Mapping[str, Array]) -> None:
        self.weights = weights
        self.constants: dict[str, Constant] = {}
        self.globals: dict[str, GlobalVar] = {}
        self.spans: dict[str, Span] = {}
        for part in graph.subgraphs():
            self.spans.update(part.weight_spans)
            for node in part.nodes:
                if isinstance(node.attrs, GlobalAttrs):
                    self.globals.setdefault(node.attrs.global_name, GlobalVar(node.attrs.global_name, node.span))

    def global_var(self, name: str) -> GlobalVar:
        return self.globals.setdefault(name, GlobalVar(name))

    def function(self, graph: MSCGraph) -> Function:
        """Return the function of ``graph``; nested function literals are built with a stack of our own."""
        stack = [_Frame(graph, iter(graph.nodes))]
        while True:
            frame = stack[-1]
            for node in frame.rest:
                if isinstance(node.attrs, FunctionAttrs):
                    stack.append(self.enter(node, node.attrs.graph, frame))
                    break
                if node.name not in frame.values:
                    frame.values[node.name] = self.expression(node, frame)
            else:
                stack.pop()
                made = _function(frame)
                if not stack:
                    return made
                assert frame.target is not None
                stack[-1].values[frame.target.name] = made

    def enter(self, node: MSCJoint, inner: MSCGraph, frame: _Frame) -> _Frame:
        if len(node.operands) != len(inner.captured):
            raise GraphError(
                f"node {node.name!r} has {len(node.operands)} operands, but its function captures {len(inner.captured)}"
            )
        captured = (_value(frame, name, node) for name in node.operands)
        return _Frame(inner, iter(inner.nodes), dict(zip(inner.captured, captured, strict=True)), node)

    def expression(self, node: MSCJoint, frame: _Frame) -> Expr:
        """Return the expression of one node."""
        if node.optype == CONSTANT:
            if "const" not in node.weights:
                raise GraphError(f"the constant {node.name!r} holds no weight")
            return self.constant(node.weights["const"], node.span)
        held = {tensor.name: tensor for tensor in node.weights.values()}
        args = tuple(
            self.constant(held[name], self.spans.get(name)) if name in held else _value(frame, name, node)
            for name in node.operands
        )
        match node.optype, node.attrs:
            case str(optype), InputAttrs(hint, annotation, device) if optype == INPUT:
                return Var(hint, annotation, node.span, device)
            case str(optype), _ if optype == TUPLE:
                return Tuple(args, node.span)
            case str(optype), GetItemAttrs(index) if optype == GET_ITEM and len(args) == 1:
                return TupleGetItem(args[0], index, node.span)
            case str(optype), CallAttrs(type_args, attrs) if optype == CALL and args:
                return Call(args[0], args[1:], attrs, type_args, node.span)
            case str(optype), GlobalAttrs(name) if optype == GLOBAL:
                return self.global_var(name)
            case str(optype), _ if optype in (INPUT, GET_ITEM, CALL, GLOBAL, FUNCTION):
                raise GraphError(f"node {node.name!r} is not well formed: {optype} with {node.attrs!r}")
        attrs = with_attr_operands(node.attrs, node.attr_operands, args)
        return Call(Op(node.optype), args, attrs, (), node.span)

    def constant(self, tensor: MSCTensor, span: Span | None) -> Constant:
        """Return the constant of a weight: one object per weight, so that sharing survives."""
        name = tensor.name
        if name not in self.constants:
            if name not in self.weights:
                raise GraphError(f"the weights have no {name!r}")
            array = self.weights[name]
            if tuple(array.shape) != tensor.shape or of_array(array) != tensor.dtype:
                raise GraphError(
                    f"weight {name!r}: expected {tensor.shape} of {tensor.dtype}, "
                    f"given {tuple(array.shape)} of {of_array(array)}"
                )
            self.constants[name] = Constant(array, span)
        return self.constants[name]


def _value(frame: _Frame, name: str, user: MSCJoint) -> Expr:
    try:
        return frame.values[name]
    except KeyError:
        raise GraphError(
            f"node {user.name!r} uses {name!r}, which does not come before it in {frame.graph.name!r}"
        ) from None


def _function(frame: _Frame) -> Function:
    graph, signature = frame.graph, frame.graph.signature
    params: list[Var] = []
    for name in chain(graph.params, (graph.result,)):
        if name not in frame.values:
            raise GraphError(f"the graph {graph.name!r} has no node {name!r}")
    for name in graph.params:
        param = frame.values[name]
        if not isinstance(param, Var):
            raise GraphError(f"the parameter {name!r} of {graph.name!r} is not an input")
        params.append(param)
    return Function(
        tuple(params),
        frame.values[graph.result],
        signature.ret_type,
        signature.type_params,
        signature.attrs,
        signature.span,
        signature.virtual_device,
    )
