"""From the graph of a Relax program back to the program, up to names of what it binds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from relay2relax.core.dtype import Array
from relay2relax.graph.errors import holds_no_weight, ill_formed, no_input
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import (
    FunctionAttrs,
    GraphError,
    IfAttrs,
    InputAttrs,
    MSCGraph,
    MSCJoint,
    MSCTensor,
    RelaxAttrs,
    weight_data,
)
from relay2relax.relax_ir.ir.expr import (
    Binding,
    BindingBlock,
    Call,
    CallTIR,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    IRModule,
    MatchCast,
    SeqExpr,
    Var,
)
from relay2relax.relax_ir.ir.struct_info import StructInfo
from relay2relax.relax_ir.ir.visit import Steps, operands, run, with_values
from relay2relax.tir.ir.stmt import PrimFunc


def restored(graph: MSCGraph, weights: Mapping[str, Array]) -> IRModule:
    """Return the Relax program of which ``from_relax`` made ``graph``; ``weights`` are its
    constants, not copied.

    Raises GraphError where a weight is missing or does not fit, or the graph is not well formed.
    """
    build = _Build(graph, weights)
    functions: dict[GlobalVar, Function | PrimFunc] = {build.global_var(graph.name): build.function(graph)}
    functions.update((build.global_var(name), build.function(other)) for name, other in graph.functions.items())
    functions.update((build.global_var(name), func) for name, func in graph.prim_funcs.items())
    return IRModule(functions, graph.module_attrs)


@dataclass(eq=False)
class _Frame:
    """A graph under construction: what its nodes are, and its bindings with the blocks that they
    stand in.
    """

    graph: MSCGraph
    values: dict[str, Expr] = field(default_factory=dict)
    bound: list[tuple[MSCJoint, Binding | MatchCast]] = field(default_factory=list)

    def value(self, name: str) -> Expr:
        try:
            return self.values[name]
        except KeyError:
            raise GraphError(f"{name!r} is used before it is made in {self.graph.name!r}") from None

    def sequence(self) -> SeqExpr:
        """Return the bindings, those of one scope that follow one another as one block, and the
        result.
        """
        blocks = []
        for (_, dataflow), members in groupby(self.bound, lambda one: (one[0].scope, one[0].dataflow)):
            blocks.append(BindingBlock(tuple(binding for _, binding in members), dataflow))
        return SeqExpr(tuple(blocks), self.value(self.graph.result))


class _Build:
    def __init__(self, graph: MSCGraph, weights: Mapping[str, Array]) -> None:
        self.weights = weights
        self.constants: dict[str, Constant] = {}
        self.globals: dict[str, GlobalVar] = {}
        for part in graph.subgraphs():
            for node in part.nodes:
                for var in _mentioned(node):
                    self.globals.setdefault(var.name, var)

    def global_var(self, name: str) -> GlobalVar:
        return self.globals.setdefault(name, GlobalVar(name))

    def function(self, graph: MSCGraph) -> Function:
        """Return the function of ``graph``; graphs inside it are built with a stack of our own."""
        frame = _Frame(graph, dict(self.params(graph)))
        run(self.nodes(frame))
        return self.finished(frame)

    def params(self, graph: MSCGraph) -> Iterator[tuple[str, Var]]:
        for name in graph.params:
            node = graph.find_node(name)
            if not isinstance(node.attrs, InputAttrs):
                raise no_input(name, graph)
            yield name, Var(node.attrs.hint, _info(node), span=node.span)

    def finished(self, frame: _Frame) -> Function:
        signature = frame.graph.signature
        if signature.ret is None:
            raise GraphError(f"the function {frame.graph.name!r} does not say what it returns")
        params = (frame.value(name) for name in frame.graph.params)
        return Function(
            tuple(param for param in params if isinstance(param, Var)),
            frame.sequence(),
            signature.ret,
            signature.attrs,
            signature.pure,
            signature.private,
        )

    def nodes(self, frame: _Frame) -> Steps:
        for node in frame.graph.nodes:
            if node.kind is NodeKind.INPUT:
                frame.value(node.name)
                continue
            if node.kind is NodeKind.CONSTANT:
                frame.values[node.name] = self.constant(node)
                continue
            dataflow = node.dataflow and not any(one.alias for one in node.outputs)
            var = Var(node.name, _info(node), dataflow, node.span) if node.scope else None
            inner = self.inner(node, frame, var)
            for one in inner:
                yield self.nodes(one)
            value = self.expression(node, frame, inner)
            if var is None:
                frame.values[node.name] = value
                continue
            frame.values[node.name] = var
            cast = node.attrs.cast if isinstance(node.attrs, RelaxAttrs) else None
            frame.bound.append((node, Binding(var, value) if cast is None else MatchCast(var, value, cast)))

    def inner(self, node: MSCJoint, frame: _Frame, var: Var | None) -> list[_Frame]:
        """Return frames for the graphs that ``node``, bound to ``var``, holds, with what they
        capture.
        """
        captured = iter(node.captured)
        frames = []
        for graph in node.bodies:
            values: dict[str, Expr] = dict(self.params(graph))
            values.update((name, frame.value(next(captured, name))) for name in graph.captured)
            if isinstance(node.attrs, FunctionAttrs) and node.attrs.itself and var is not None:
                values[node.attrs.itself] = var
            frames.append(_Frame(graph, values))
        return frames

    def expression(self, node: MSCJoint, frame: _Frame, inner: list[_Frame]) -> Expr:
        match node.attrs:
            case RelaxAttrs(value):
                return with_values(value, [frame.value(name) for name in node.operands])
            case FunctionAttrs():
                return self.finished(inner[0])
            case IfAttrs():
                return If(frame.value(node.operands[0]), inner[0].sequence(), inner[1].sequence())
        raise ill_formed(node)

    def constant(self, node: MSCJoint) -> Constant:
        """Return the constant of a weight: one object per weight, so that sharing survives."""
        tensor: MSCTensor | None = node.weights.get("const")
        if tensor is None:
            raise holds_no_weight(node)
        if tensor.name not in self.constants:
            self.constants[tensor.name] = Constant(weight_data(self.weights, tensor), node.span)
        return self.constants[tensor.name]


def _info(node: MSCJoint) -> StructInfo:
    if node.info is None:
        raise GraphError(f"node {node.name!r} does not say what it gives")
    return node.info


def _mentioned(node: MSCJoint) -> Iterator[GlobalVar]:
    """Yield the names of functions in the expression of a node."""
    if not isinstance(node.attrs, RelaxAttrs):
        return
    match node.attrs.value:
        case CallTIR(func) | Call(GlobalVar() as func):
            yield func
    stack = [node.attrs.value]
    while stack:
        one = stack.pop()
        if isinstance(one, GlobalVar):
            yield one
        stack += operands(one)
