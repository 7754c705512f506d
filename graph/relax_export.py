"""From the graph to Relax: every operator node becomes Relax operators, calls of function literals are inlined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, Union

from relay2relax.core.collection import collection_paused
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Diagnostic, UnsupportedError
from relay2relax.graph.model import (
    CALL,
    CONSTANT,
    FUNCTION,
    GET_ITEM,
    GLOBAL,
    INPUT,
    TUPLE,
    FunctionAttrs,
    GetItemAttrs,
    GlobalAttrs,
    GraphError,
    InputAttrs,
    MSCGraph,
    MSCJoint,
)
from relay2relax.ops import relay_op
from relay2relax.ops.symbolic import Dims, name_extents, widened
from relay2relax.ops.types import TensorType, Type
from relay2relax.relax_ir import BlockBuilder, Constant, IRModule, Tuple, Var
from relay2relax.relax_ir import Expr as RelaxExpr
from relay2relax.relax_ir.emitter import OpEmitter
from relay2relax.relax_ir.struct_info import from_type
from relay2relax.tir.extent import ANY, Extent


@dataclass(frozen=True, slots=True)
class _Closure:
    """A function value: the graph of its body, and the values of the body's captured inputs."""

    graph: MSCGraph
    captured: tuple[_Value, ...] = ()


_Value: TypeAlias = Union[RelaxExpr, _Closure]


@dataclass(slots=True)
class _Frame:
    """A graph that is being translated: what is left of it, its values so far, and the node that awaits the result."""

    graph: MSCGraph
    rest: Iterator[MSCJoint]
    values: dict[str, _Value]
    awaiting: str = ""


@collection_paused()
def to_relax(graph: MSCGraph, weights: Mapping[str, Array], dims: Dims | None = None) -> IRModule:
    """Return the graph as a Relax module with one function ``main``.

    Operator nodes become Relax operators as their records say, or ``call_tir`` where Relax has none for them.
    Calls of functions are inlined. ``weights`` become constants, not copied. Every ``?`` of a parameter
    becomes a symbolic dimension; ``dims`` names or unifies them. Raises UnsupportedError for recursion and
    for functions as results, and GraphError where a weight is missing.
    """
    params = [graph.find_node(name) for name in graph.params]
    types, symbols = widened(name_extents([(_hint(node), _parameter_type(graph, node)) for node in params], dims))
    relax_params = [Var(_hint(node), from_type(t), span=node.span) for node, t in zip(params, types, strict=True)]
    builder = BlockBuilder()
    with builder.function("main", relax_params):
        with builder.dataflow():
            export = _Export(graph, weights, OpEmitter(builder, symbols))
            result = builder.emit_output(export.run(dict(zip(graph.params, relax_params, strict=True))))
        builder.emit_func_output(result)
    return builder.get()


def _hint(node: MSCJoint) -> str:
    assert isinstance(node.attrs, InputAttrs)
    return node.attrs.hint


def _parameter_type(graph: MSCGraph, node: MSCJoint) -> Type:
    """Return the parameter's annotation, or the type of its one tensor where it has none."""
    assert isinstance(node.attrs, InputAttrs)
    if node.attrs.annotation is not None:
        return node.attrs.annotation
    if len(node.outputs) != 1:
        raise GraphError(f"parameter {node.name!r} of {graph.name!r} has {len(node.outputs)} tensors and no annotation")
    shape: tuple[Extent, ...] = tuple(ANY if extent < 0 else extent for extent in node.outputs[0].shape)
    return TensorType(shape, node.outputs[0].dtype)


class _Export:
    """One translation; function bodies are frames on a stack, so nesting is not limited by Python's."""

    def __init__(self, graph: MSCGraph, weights: Mapping[str, Array], emitter: OpEmitter) -> None:
        self.main = graph
        self.weights = weights
        self.emitter = emitter
        self.constants: dict[str, Constant] = {}

    def run(self, params: Mapping[str, _Value]) -> RelaxExpr:
        """Emit the graph applied to ``params`` and return its result."""
        stack = [_Frame(self.main, iter(self.main.nodes), dict(params))]
        while True:
            frame = stack[-1]
            for node in frame.rest:
                if node.optype == CALL:
                    stack.append(self._enter(frame, node, stack))
                    break
                if node.optype != INPUT:
                    frame.values[node.name] = self._value(frame, node)
            else:
                stack.pop()
                result = frame.values[frame.graph.result]
                if not stack:
                    return self._plain(frame, frame.graph.result)
                stack[-1].values[frame.awaiting] = result

    def _enter(self, frame: _Frame, node: MSCJoint, stack: list[_Frame]) -> _Frame:
        """Return the frame of the function that ``node`` calls."""
        callee, *args = (frame.values[name] for name in node.operands)
        if not isinstance(callee, _Closure):
            raise UnsupportedError(f"node {node.name!r} calls a value that is no function literal")
        if any(other.graph is callee.graph for other in stack):
            raise UnsupportedError(f"node {node.name!r}: Relax of recursive functions is not built yet")
        body = callee.graph
        values = dict(zip((*body.params, *body.captured), (*args, *callee.captured), strict=True))
        return _Frame(body, iter(body.nodes), values, node.name)

    def _value(self, frame: _Frame, node: MSCJoint) -> _Value:
        match node.optype, node.attrs:
            case (optype, _) if optype == CONSTANT:
                return self._weight(frame.graph, node.weights["const"].name)
            case (optype, _) if optype == TUPLE:
                return Tuple(tuple(self._plain(frame, name) for name in node.operands))
            case optype, GetItemAttrs(index) if optype == GET_ITEM:
                return self.emitter.item(self._plain(frame, node.operands[0]), index)
            case optype, FunctionAttrs(body) if optype == FUNCTION:
                return _Closure(body, tuple(frame.values[name] for name in node.operands))
            case optype, GlobalAttrs(name) if optype == GLOBAL:
                if name not in self.main.functions:
                    raise UnsupportedError(f"node {node.name!r}: @{name} is not among the functions to inline")
                return _Closure(self.main.functions[name])
        op = relay_op(node.optype)
        if op is None:
            where = f" (span {node.span})" if node.span is not None else ""
            raise UnsupportedError(Diagnostic(f"node {node.name!r}{where}: operator {node.optype} has no record"))
        held = {tensor.name for tensor in node.weights.values()}
        args = [self._weight(frame.graph, n) if n in held else self._plain(frame, n) for n in node.operands]
        return self.emitter.as_relax(op, node.attrs, args, node.span)

    def _plain(self, frame: _Frame, name: str) -> RelaxExpr:
        value = frame.values[name]
        if isinstance(value, _Closure):
            raise UnsupportedError(f"node {name!r}: a function as a value is not built yet")
        return value

    def _weight(self, graph: MSCGraph, name: str) -> Constant:
        """Return the constant of a weight; one weight is one constant, whoever uses it."""
        if name not in self.constants:
            if name not in self.weights:
                raise GraphError(f"the weight {name!r} is missing")
            self.constants[name] = Constant(self.weights[name], graph.weight_spans.get(name))
        return self.constants[name]
