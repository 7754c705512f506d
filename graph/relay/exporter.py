"""From the graph back to Relay: the module that ``from_relay`` was given, up to names of what it
binds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from relay2relax.core.collection import collection_paused
from relay2relax.core.dtype import Array
from relay2relax.core.source import Span
from relay2relax.graph.check import check_well_formed
from relay2relax.graph.errors import ill_formed
from relay2relax.graph.fused import unfuse
from relay2relax.graph.kinds import NodeKind, PatternKind
from relay2relax.graph.model import (
    CallAttrs,
    ConstructorAttrs,
    FunctionAttrs,
    GetItemAttrs,
    GlobalAttrs,
    GraphError,
    IfAttrs,
    InputAttrs,
    MatchAttrs,
    MSCGraph,
    MSCJoint,
    MSCTensor,
    Pattern,
    weight_data,
)
from relay2relax.relax_ir.ir.visit import Steps, run
from relay2relax.relay_ir.ir.expr import (
    Call,
    Clause,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relay_ir.ir.expr import Pattern as RelayPattern
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import with_attr_operands


def to_relay(graph: MSCGraph, weights: Mapping[str, Array]) -> IRModule:
    """Return the Relay module of ``graph``; ``weights`` are its constants by name, taken as they
    are.

    ``structural_equal(to_relay(*from_relay(mod)), mod)`` holds for every module in graph normal
    form, and order and names of parameters, spans, annotations and sharing are what they were.
    Types are left to inference, and fused nodes give way to their parts. Raises GraphError where a
    weight is missing or does not fit, or the graph is not well formed or a Relax program's.
    """
    return to_relay_with_nodes(graph, weights)[0]


@collection_paused()
def to_relay_with_nodes(graph: MSCGraph, weights: Mapping[str, Array]) -> tuple[IRModule, dict[str, Expr]]:
    """Do what :func:`to_relay` does, and return also what became of the nodes of the entry, by
    name.
    """
    if graph.is_relax:
        raise GraphError(f"{graph.name!r} is the graph of a Relax program; `to_relax` makes one of it")
    check_well_formed(graph)
    graph = unfuse(graph)
    build = _Build(graph, weights)
    entry = _Frame(graph)
    functions = {build.global_var(graph.name): build.function(entry)}
    for name, other in graph.functions.items():
        functions[build.global_var(name)] = build.function(_Frame(unfuse(other)))
    definitions = {definition.header: definition for definition in graph.type_definitions}
    return IRModule(functions, definitions, graph.module_attrs), entry.values


@dataclass(eq=False)
class _Frame:
    """A graph under construction; ``bound`` has variable and value of each ``bind``."""

    graph: MSCGraph
    values: dict[str, Expr] = field(default_factory=dict)
    bound: dict[str, tuple[Var, Expr]] = field(default_factory=dict)

    @property
    def result(self) -> Expr:
        """What the graph gives."""
        return self.values[self.graph.result]

    @property
    def params(self) -> tuple[Var, ...]:
        """The variables of the graph's parameters."""
        found = (self.values[name] for name in self.graph.params)
        return tuple(param for param in found if isinstance(param, Var))


class _Build:
    def __init__(self, graph: MSCGraph, weights: Mapping[str, Array]) -> None:
        self.weights = weights
        self.constants: dict[str, Constant] = {}
        self.globals: dict[str, GlobalVar] = {}
        self.spans: dict[str, Span] = {}
        # The variables by which recursive functions call themselves.
        self.own: dict[Expr, Var] = {}
        self.constructors = {
            (definition.header.name, constructor.name): constructor
            for definition in graph.type_definitions
            for constructor in definition.constructors
        }
        for part in graph.subgraphs():
            self.spans.update(part.weight_spans)
            for node in part.nodes:
                if isinstance(node.attrs, GlobalAttrs):
                    self.globals.setdefault(node.attrs.global_name, GlobalVar(node.attrs.global_name, node.span))

    def global_var(self, name: str) -> GlobalVar:
        return self.globals.setdefault(name, GlobalVar(name))

    def function(self, frame: _Frame) -> Function:
        """Return the function of a graph; graphs inside it are built with a stack of our own."""
        run(self.nodes(frame))
        return _function(frame)

    def nodes(self, frame: _Frame) -> Steps:
        for node in frame.graph.nodes:
            if node.name in frame.values:
                continue
            inner = self.inner(node, frame)
            for one in inner:
                yield self.nodes(one)
            frame.values[node.name] = self.expression(node, frame, inner)

    def inner(self, node: MSCJoint, frame: _Frame) -> list[_Frame]:
        """Return frames for the graphs that ``node`` holds, with what they capture."""
        rest = iter(node.captured)
        return [_Frame(body, {name: frame.values[next(rest)] for name in body.captured}) for body in node.bodies]

    def expression(self, node: MSCJoint, frame: _Frame, inner: Sequence[_Frame]) -> Expr:
        """Return the expression of one node."""
        if node.kind is NodeKind.CONSTANT:
            return self.constant(node.weights["const"], node.span)
        held = {tensor.name: tensor for tensor in node.weights.values()}
        args = tuple(
            self.constant(held[name], self.spans.get(name)) if name in held else frame.values[name]
            for name in node.operands
        )
        match node.kind, node.attrs:
            case NodeKind.INPUT, InputAttrs(hint, annotation, device):
                return Var(hint, annotation, node.span, device)
            case NodeKind.TUPLE, _:
                return Tuple(args, node.span)
            case NodeKind.GET_ITEM, GetItemAttrs(index):
                return TupleGetItem(args[0], index, node.span)
            case NodeKind.CALL, CallAttrs(type_args, attrs):
                return Call(args[0], args[1:], attrs, type_args, node.span)
            case NodeKind.GLOBAL, GlobalAttrs(name):
                return self.global_var(name)
            case NodeKind.FUNCTION, FunctionAttrs(_, itself):
                function = _function(inner[0])
                own = inner[0].values.get(itself)
                if isinstance(own, Var):
                    self.own[function] = own
                return function
            case NodeKind.IF, IfAttrs():
                return If(args[0], inner[0].result, inner[1].result, node.span)
            case NodeKind.MATCH, MatchAttrs(patterns, _, complete):
                clauses = (
                    Clause(self.pattern(one, iter(frame.params)), frame.result)
                    for one, frame in zip(patterns, inner, strict=True)
                )
                return Match(args[0], tuple(clauses), complete, node.span)
            case NodeKind.CONSTRUCTOR, ConstructorAttrs(data_type, name):
                return self.constructor(data_type, name)
            case NodeKind.BIND, InputAttrs(hint, annotation, device):
                var = self.own.get(args[0]) or Var(hint, annotation, node.span, device)
                frame.bound[node.name] = (var, args[0])
                return var
            case NodeKind.LET, _:
                var, value = frame.bound[node.operands[0]]
                return Let(var, value, args[1], node.span)
            case NodeKind.REF, _:
                return RefCreate(args[0], node.span)
            case NodeKind.REF_READ, _:
                return RefRead(args[0], node.span)
            case NodeKind.REF_WRITE, _:
                return RefWrite(args[0], args[1], node.span)
            case NodeKind.OPERATOR, _:
                attrs = with_attr_operands(node.attrs, node.attr_operands, args)
                return Call(Op(node.op), args, attrs, (), node.span)
        raise ill_formed(node)

    def constructor(self, data_type: str, name: str) -> Constructor:
        found = self.constructors.get((data_type, name))
        if found is None:
            raise GraphError(f"the graph has no constructor {name!r} of {data_type!r}")
        return found

    def pattern(self, pattern: Pattern, variables: Iterator[Var]) -> RelayPattern:
        """Return Relay's pattern; ``variables`` are those of the clause, from left to right."""
        parts = tuple(self.pattern(part, variables) for part in pattern.parts)
        match pattern.kind:
            case PatternKind.VARIABLE:
                return PatternVar(next(variables), pattern.span)
            case PatternKind.TUPLE:
                return PatternTuple(parts, pattern.span)
            case PatternKind.CONSTRUCTOR:
                return PatternConstructor(self.constructor(*pattern.constructor), parts, pattern.span)
        return PatternWildcard(pattern.span)

    def constant(self, tensor: MSCTensor, span: Span | None) -> Constant:
        """Return the constant of a weight: one object per weight, so that sharing survives."""
        name = tensor.name
        if name not in self.constants:
            self.constants[name] = Constant(weight_data(self.weights, tensor), span)
        return self.constants[name]


def _function(frame: _Frame) -> Function:
    signature = frame.graph.signature
    return Function(
        frame.params,
        frame.result,
        signature.ret_type,
        signature.type_params,
        signature.attrs,
        signature.span,
        signature.virtual_device,
    )
