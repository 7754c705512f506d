"""From the graph of a Relax program back to the program, up to names of what it binds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from relay2relax.core.dtype import Array
from relay2relax.core.source import Span
from relay2relax.graph.errors import holds_no_weight, ill_formed, no_input
from relay2relax.graph.fused import unfuse
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import (
    FunctionAttrs,
    FusedAttrs,
    GraphError,
    IfAttrs,
    InputAttrs,
    MSCGraph,
    MSCJoint,
    MSCTensor,
    RelaxAttrs,
    weight_data,
)
from relay2relax.graph.patterns.forms import emitted, relax_form
from relay2relax.graph.patterns.pattern import Emit
from relay2relax.graph.relax.fusion import Fused, composite, parameters
from relay2relax.relax_ir.analysis.hashing import structural_hash
from relay2relax.relax_ir.build.builder import call_op
from relay2relax.relax_ir.inference.infer import Inference
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
from relay2relax.relax_ir.ir.names import NameSupply
from relay2relax.relax_ir.ir.struct_info import StructInfo
from relay2relax.relax_ir.ir.visit import Steps, operands, run, with_values
from relay2relax.tir.ir.stmt import PrimFunc
from relay2relax.tir.script.names import identifier


def restored(graph: MSCGraph, weights: Mapping[str, Array], fused: Fused = "operators") -> IRModule:
    """Return the Relax program of which ``from_relax`` made ``graph``; ``weights`` are its
    constants, not copied.

    Nodes that were fused become what ``fused`` says. Raises GraphError where a weight is missing or
    does not fit, or the graph is not well formed.
    """
    if fused == "operators":
        graph = unfuse(graph, lambda node: relax_form(node.op, of_relax=True) is None)
    build = _Build(graph, weights, fused == "functions")
    functions: dict[GlobalVar, Function | PrimFunc] = {build.global_var(graph.name): build.function(graph)}
    functions.update((build.global_var(name), build.function(other)) for name, other in graph.functions.items())
    functions.update((build.global_var(name), func) for name, func in graph.prim_funcs.items())
    return IRModule({**functions, **build.composites}, graph.module_attrs)


def restored_values(graph: MSCGraph, weights: Mapping[str, Array]) -> tuple[Mapping[str, Expr], Mapping[Var, Expr]]:
    """Return what the nodes of a function are in its Relax program, by name, and what the variables
    among them are bound to.
    """
    graph = unfuse(graph)
    build = _Build(graph, weights)
    frame = _Frame(graph, dict(build.params(graph)))
    run(build.nodes(frame))
    return frame.values, {binding.var: binding.value for _, binding in frame.bound}


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

    def sequence(self, result: str = "") -> SeqExpr:
        """Return the bindings, those of one scope that follow one another as one block, and the
        result: that of the graph, or the value of another node.
        """
        blocks = []
        for (_, dataflow), members in groupby(self.bound, lambda one: (one[0].scope, one[0].dataflow)):
            blocks.append(BindingBlock(tuple(binding for _, binding in members), dataflow))
        return SeqExpr(tuple(blocks), self.value(result or self.graph.result))


class _Build:
    def __init__(self, graph: MSCGraph, weights: Mapping[str, Array], as_functions: bool = False) -> None:
        self.weights = weights
        self.as_functions = as_functions
        self.inference = Inference()
        self.composites: dict[GlobalVar, Function] = {}
        self.alike: dict[object, GlobalVar] = {}
        self.supply = NameSupply()
        for name in (graph.name, *graph.functions, *graph.prim_funcs):
            self.supply.reserve(name)
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
            if isinstance(node.attrs, FusedAttrs):
                self.fused(frame, node, node.attrs.graph)
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

    def fused(self, frame: _Frame, node: MSCJoint, parts: MSCGraph) -> None:
        """Bind what a fused node becomes to its name."""
        given = {name: frame.value(operand) for name, operand in zip(parts.params, node.operands, strict=True)}
        if not self.as_functions:
            self.name(frame, node, self.in_place(frame, node, parts, given))
            return
        outer = {name: value for name, value in given.items() if not isinstance(value, Constant)}
        params = parameters({name: self.inference.of(value) for name, value in outer.items()})
        inner = _Frame(parts)
        own = {**given, **dict(zip(outer, params, strict=True))}
        self.name(inner, node, self.in_place(inner, node, parts, own), outside=True)
        body = inner.sequence(node.name)
        callee = self.function_of(composite(node.op, params, body, self.inference.of), node.op)
        self.name(frame, node, Call(callee, tuple(outer.values()), span=node.span))

    def function_of(self, function: Function, hint: str) -> GlobalVar:
        """Return the name of a function of the module that is ``function``; one is added once."""
        key = structural_hash(function)
        if key not in self.alike:
            self.alike[key] = GlobalVar(self.supply.fresh(identifier(hint), "_"))
            self.composites[self.alike[key]] = function
        return self.alike[key]

    def in_place(self, frame: _Frame, node: MSCJoint, parts: MSCGraph, given: Mapping[str, Expr]) -> Expr:
        """Return what the pattern of a fused node says, or what its parts are; what is bound on the
        way is bound in ``frame``.
        """
        form = relax_form(node.op, of_relax=True)
        if form is None:
            inner = _Frame(parts, dict(given), frame.bound)
            run(self.nodes(inner))
            return inner.value(parts.result)
        held = {role: self.held(tensor) for role, tensor in node.weights.items()}

        def call(name: str, *operands: Expr, **attrs: object) -> Expr:
            made = call_op(name, *operands, span=node.span, **attrs)
            var = Var(identifier(name), self.inference.of(made), node.dataflow, node.span)
            frame.bound.append((node, Binding(var, made)))
            return var

        return emitted(form, Emit(call, node, held), [given[name] for name in parts.params])

    def name(self, frame: _Frame, node: MSCJoint, value: Expr, outside: bool = False) -> None:
        """Bind ``value`` to the variable of a node; ``outside`` of its block it is seen as well."""
        outside = outside or any(one.alias for one in node.outputs)
        if frame.bound and frame.bound[-1][1].var is value:
            value = frame.bound.pop()[1].value
        var = Var(node.name, _info(node), node.dataflow and not outside, node.span)
        frame.bound.append((node, Binding(var, value)))
        frame.values[node.name] = var

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
        return self.held(tensor, node.span)

    def held(self, tensor: MSCTensor, span: Span | None = None) -> Constant:
        """Return the constant of a weight; ``span`` is that of the first node that holds it."""
        if tensor.name not in self.constants:
            self.constants[tensor.name] = Constant(weight_data(self.weights, tensor), span)
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
