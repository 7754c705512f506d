"""From the graph to Relax: operator nodes become Relax operators, branches Relax's ``if``,
recursion Relax functions.

Calls of functions are inlined. A recursive function becomes a private function of the Relax module;
what it captures is passed behind its own arguments. Functions for external compilers stay functions
(``partitions.py``). What Relax has no words for (data types,
references, functions as values) is worked out here, as far as the program says beforehand what it
is (``relax_values.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from relay2relax.core.collection import collection_paused
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Diagnostic, UnsupportedError, mistake
from relay2relax.core.errors.table import translating
from relay2relax.core.limits import check
from relay2relax.core.progress import going_on
from relay2relax.core.walk import post_order
from relay2relax.graph.check import check_well_formed
from relay2relax.graph.errors import ill_formed, used_too_early
from relay2relax.graph.fused import unfuse
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import (
    ConstructorAttrs,
    FunctionAttrs,
    FusedAttrs,
    GetItemAttrs,
    GlobalAttrs,
    GraphError,
    InputAttrs,
    MatchAttrs,
    MSCGraph,
    MSCJoint,
    MSCTensor,
    weight_data,
)
from relay2relax.graph.patterns.forms import relax_form
from relay2relax.graph.patterns.pattern import Emit
from relay2relax.graph.relax.branches import Pair, assertion, differing, inputs_of, merged, with_effects
from relay2relax.graph.relax.functions import (
    called_functions,
    has_branches,
    is_first_order,
    is_relax,
    recursive_functions,
)
from relay2relax.graph.relax.fusion import Fused, check_fused
from relay2relax.graph.relax.partitions import Mark, Partitions, check_partitions, mark_of
from relay2relax.graph.relax.problems import Problems
from relay2relax.graph.relax.quantised import Quantised, check_quantised
from relay2relax.graph.relax.restore import restored
from relay2relax.graph.relax.trace import Trace, TracedBuilder
from relay2relax.graph.relax.values import (
    Cell,
    Closure,
    Data,
    Fields,
    Lifted,
    Maker,
    Value,
    bindings,
    changed,
    is_known,
    item,
    what,
)
from relay2relax.ops import relay_op
from relay2relax.ops.registry.evaluate import kernel_value
from relay2relax.ops.registry.record import OpDef, OpError
from relay2relax.ops.registry.symbolic import Dims, Symbols, name_extents, widened
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.relax_ir import BlockBuilder, Call, Constant, If, IRModule, Tuple, Var
from relay2relax.relax_ir import Expr as RelaxExpr
from relay2relax.relax_ir.build.builder import call_op
from relay2relax.relax_ir.build.emitter import OpEmitter
from relay2relax.relax_ir.inference.infer import StructInfoError
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import Function, SeqExpr
from relay2relax.relax_ir.ir.struct_info import (
    ObjectStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
    from_type,
)
from relay2relax.relax_ir.ir.visit import Steps, run
from relay2relax.relax_ir.transform import ConvertToDataflow
from relay2relax.relay_ir.inference.errors import type_text
from relay2relax.tir.extent import ANY, Extent, static
from relay2relax.tir.ir.expr import Var as PrimVar
from relay2relax.tir.script.names import identifier

# A recursive function over data that are known beforehand is unrolled; one that goes on for longer
# is refused.
_DEEPEST = 1000
# Larger tensors are data, not counters.
_SMALL = 16


def to_relax(
    graph: MSCGraph,
    weights: Mapping[str, Array],
    dims: Dims | None = None,
    lowered: bool = False,
    partitions: Partitions = "keep",
    qnn: Quantised = "integer",
    fused: Fused = "operators",
) -> IRModule:
    """Return the graph as a Relax module with the function ``graph.name``, and private ones where
    it needs them.

    The graph of a Relax program becomes that program again. Of one that was made of Relay, operator
    nodes become Relax operators as their records say, or ``call_tir`` where Relax has none for
    them; with ``lowered`` each becomes ``call_tir``. ``weights`` become constants, not copied.
    Every ``?`` of a parameter becomes a symbolic dimension; ``dims`` names or unifies them.
    Functions for external compilers become functions with ``Codegen`` or ``Composite``, or with
    ``partitions="inline"`` give way to their bodies. With ``qnn="qdq"`` ``qnn.quantize`` becomes
    R.quantize, which rounds halves otherwise. A fused node becomes what its pattern says
    (``graph.register_pattern``), with ``fused="parts"`` or ``lowered`` what its parts become.

    Raises UnsupportedError for data types, references and functions that only the running program
    knows, and for an unknown ``partitions``, ``qnn`` or ``fused``; GraphError where a weight is
    missing, and where ``dims`` or ``lowered`` are asked of a Relax program.
    """
    check_partitions(partitions)
    check_quantised(qnn)
    check_fused(fused)
    check_well_formed(graph)
    if fused == "parts" or lowered:
        graph = replace(unfuse(graph), functions={name: unfuse(one) for name, one in graph.functions.items()})
    return relax_of_well_formed(graph, weights, dims, lowered, partitions, qnn=qnn)


@collection_paused()
def relax_of_well_formed(
    graph: MSCGraph,
    weights: Mapping[str, Array],
    dims: Dims | None = None,
    lowered: bool = False,
    partitions: Partitions = "keep",
    problems: Problems | None = None,
    trace: Trace | None = None,
    qnn: Quantised = "integer",
    emitter: type[OpEmitter] = OpEmitter,
) -> IRModule:
    """Do what :func:`to_relax` does, for a graph that nobody could have changed since it was made.

    Looking through all of its nodes once more would take a tenth of the time. ``problems`` know
    where nodes stand, and ``trace`` is told what becomes of them. ``emitter`` makes operators'
    calls.
    """
    if graph.is_relax:
        if dims or lowered:
            raise GraphError(f"{graph.name!r} is a Relax program: its dimensions have names, its operators stay")
        return restored(graph, weights)
    noted = problems or Problems()
    export = _Export(graph, weights, lowered, partitions == "keep", noted, trace, qnn == "qdq", emitter)
    export.module(dims)
    module = with_effects(export.builder.get()) if export.effects else export.builder.get()
    return ConvertToDataflow()(module) if export.branches else module


def _parameter(node: MSCJoint, type_: Type, problems: Problems) -> Var:
    """Return the parameter that ``node`` becomes, a stand-in where Relax has none of its type."""
    try:
        return Var(_hint(node), _info(type_, f"the parameter {_hint(node)}"), span=node.span)
    except UnsupportedError as error:
        problems.add(node.name, error)
        return problems.stand_in(node)


def _info(type_: Type, what_: str) -> StructInfo:
    """Return the struct info of values of ``type_``; ``what_`` has them, for the message where
    there is none.
    """
    if not is_relax(type_):
        raise UnsupportedError(
            mistake(translating.NO_RELAX_FORM, owner=what_, problem=f"has the type {type_text(type_)}")
        )
    return from_type(type_)


def _hint(node: MSCJoint) -> str:
    assert isinstance(node.attrs, InputAttrs)
    return node.attrs.hint


def _parameter_type(graph: MSCGraph, node: MSCJoint) -> Type:
    """Return the parameter's annotation, what inference found, or the type of its one tensor."""
    assert isinstance(node.attrs, InputAttrs)
    if node.attrs.annotation is not None:
        return node.attrs.annotation
    if graph.signature.inferred is not None:
        return graph.signature.inferred.arg_types[graph.params.index(node.name)]
    if len(node.outputs) != 1:
        raise GraphError(f"parameter {node.name!r} of {graph.name!r} has {len(node.outputs)} tensors and no annotation")
    return _tensor_type(node.outputs[0])


def _tensor_type(tensor: MSCTensor) -> TensorType:
    shape: tuple[Extent, ...] = tuple(ANY if extent < 0 else extent for extent in tensor.shape)
    return TensorType(shape, tensor.dtype)


@dataclass(slots=True, eq=False)
class _Frame:
    """A graph that is being translated: its values so far, where it is evaluated, how deep in calls
    of functions.

    ``unrolled`` graphs are part of a recursion over data that are known beforehand, ``codegen``
    ones of a function for an external compiler, ``arm`` ones of a branch of which only the running
    program knows whether it is taken. ``failure`` says why the graph has no result: a program that
    evaluates it ends there. ``choice`` is what decides whether an unrolled recursion goes on: the
    condition of its first branch, and the node that gives it.
    """

    graph: MSCGraph
    values: dict[str, Value]
    region: object
    depth: int = 0
    unrolled: bool = False
    codegen: bool = False
    arm: bool = False
    failure: str = ""
    choice: tuple[str, RelaxExpr] | None = None

    @property
    def result(self) -> Value:
        return self.values[self.graph.result]

    def inside(self, graph: MSCGraph, values: dict[str, Value]) -> _Frame:
        """Return the frame of a graph that is evaluated as part of this one."""
        return _Frame(graph, values, self.region, self.depth, self.unrolled, self.codegen, self.arm, choice=self.choice)


@dataclass(slots=True)
class _Waiting:
    """A function of the module that is still to be built."""

    target: Lifted
    params: Sequence[Var]
    closure: Closure
    values: dict[str, Value]
    ret: StructInfo
    mark: Mark | None


@dataclass(slots=True)
class _Entry:
    """A function that is called from outside.

    ``ret`` is what a recursive one gives, ``mark`` that of one for an external compiler.
    """

    closure: Closure
    params: Sequence[Var]
    symbols: Symbols
    ret: StructInfo | None
    mark: Mark | None


# The parts that a result of a data type may have.
_LARGEST_RESULT = 10_000


@dataclass(slots=True)
class _Export:
    """One translation."""

    main: MSCGraph
    weights: Mapping[str, Array]
    lowered: bool
    partitions: bool
    problems: Problems
    trace: Trace | None = None
    qdq: bool = False
    calls: type[OpEmitter] = OpEmitter
    constants: dict[str, Constant] = field(default_factory=dict)
    globals: dict[str, Closure] = field(default_factory=dict)
    lifted: dict[Closure, Lifted] = field(default_factory=dict)
    waiting: list[_Waiting] = field(default_factory=list)
    arrays: dict[RelaxExpr, Array] = field(default_factory=dict)
    builder: BlockBuilder = field(init=False)
    emitter: OpEmitter = field(init=False)
    inputs: Sequence[Var] = ()  # the parameters of the entry functions
    effects: bool = False  # whether the program may end before it has a result
    recursive: frozenset[str] = field(init=False)
    branches: bool = field(init=False)

    def __post_init__(self) -> None:
        self.builder = BlockBuilder() if self.trace is None else TracedBuilder(self.trace)
        self.emitter = self.calls(self.builder, qdq=self.qdq)
        called = {name: called_functions(graph) for name, graph in self.graphs.items()}
        self.recursive = recursive_functions(called)
        reached = post_order((self.main.name, *self.main.entries), lambda name: called.get(name, ()))
        self.branches = any(has_branches(self.graphs[name]) for name in reached if name in self.graphs)

    @property
    def graphs(self) -> dict[str, MSCGraph]:
        """The functions of the module, by name."""
        return {self.main.name: self.main, **self.main.functions}

    @property
    def entries(self) -> Iterator[str]:
        """The names of the functions that are called from outside.

        In a library, a function for an external compiler that others call comes with them.
        """
        called = {one for name, graph in self.graphs.items() for one in called_functions(graph) if one != name}
        for name in (self.main.name, *self.main.entries):
            mark = mark_of(self.graphs[name]) if self.partitions and name in called else None
            if mark is None or not self.main.entries:
                yield name

    # Functions.

    def module(self, dims: Dims | None) -> None:
        """Build the entry functions, then those that they turned out to need.

        ``dims`` are those of the first one. Raises UnsupportedError with what is refused in any of
        them.
        """
        entries = [self.entry(name, dims if name == self.main.name else None) for name in self.entries]
        self.inputs = [param for one in entries for param in one.params]
        for one in entries:
            # Before helpers get their names, and before others call them.
            infos = [param.info for param in one.params]
            var = self.builder.declare(one.closure.name, infos, one.ret or ObjectStructInfo())
            if one.ret is not None:
                self.lifted[one.closure] = Lifted(var, ())
        for one in entries:
            self.emitter.symbols = one.symbols
            values: dict[str, Value] = dict(zip(one.closure.graph.params, one.params, strict=True))
            attrs = one.mark.attrs() if one.mark is not None else None
            with self.refusals(), self.builder.function(one.closure.name, one.params, attrs) as var:
                if self.trace is not None:
                    self.trace.made(one.closure, var)
                self.body(one.closure, values, one.ret, bool(one.mark and one.mark.compiler), outside=True)
        self.lifted_functions()
        self.problems.check()

    def entry(self, name: str, dims: Dims | None) -> _Entry:
        """Return what is to be built of the function ``name``, which is called from outside."""
        graph = self.graphs[name]
        nodes = [graph.find_node(param) for param in graph.params]
        types, names = widened(name_extents([(_hint(one), _parameter_type(graph, one)) for one in nodes], dims))
        params = [_parameter(one, type_, self.problems) for one, type_ in zip(nodes, types, strict=True)]
        closure = self.globals[name] = Closure(graph, name=name, recursive=name in self.recursive)
        ret: StructInfo | None = None
        if closure.recursive:
            with self.refusals():
                ret = self.declared_result(closure, params)
        return _Entry(closure, params, names, ret, self.mark(closure, ()))

    def lifted_functions(self) -> None:
        """Build the functions that others turned out to need."""
        while self.waiting:
            one = self.waiting.pop()
            mark = one.mark
            codegen = mark is not None and bool(mark.compiler)
            attrs = mark.attrs() if mark is not None else None
            name = one.target.var.name
            with self.refusals(), self.builder.function(name, one.params, attrs, private=not codegen):
                self.body(one.closure, one.values, one.ret, codegen)

    @contextmanager
    def refusals(self) -> Iterator[None]:
        """Note what is refused while the block builds a function, and go on to the next one."""
        try:
            yield
        except UnsupportedError as error:
            self.problems.add("", error)

    def body(
        self,
        closure: Closure,
        values: dict[str, Value],
        ret: StructInfo | None,
        codegen: bool = False,
        outside: bool = False,
    ) -> None:
        """Emit a function's body; its result is said to be ``ret`` where that is given.

        One for an external compiler (``codegen``) holds local functions, which stand in no dataflow
        block. One that is called from ``outside`` gives values of data types as tuples.
        """
        frame = _Frame(closure.graph, values, object(), codegen=codegen)
        dataflow = not (self.branches or codegen)
        if dataflow:
            self.builder.begin_dataflow()
        with going_on("nodes of Relax", lambda: (len(frame.values), len(frame.graph.nodes))):
            run(self.nodes(frame))
        self.problems.check()
        if self.trace is not None:
            self.trace.begin(closure.graph.result)
        outcome = frame.values[closure.graph.result]
        if outside:
            outcome = self.as_tuples(outcome)
        result = self.as_relax(closure.graph.find_node(closure.graph.result), outcome)
        if ret is not None and symbols.join(ret, self.builder.struct_info(result)) != ret:
            result = self.builder.match_cast(result, ret)
        if dataflow:
            result = self.builder.emit_output(result)
            self.builder.end_dataflow()
        self.builder.emit_func_output(result)
        if self.trace is not None:
            self.trace.end(result)

    def declared_result(self, closure: Closure, params: Sequence[Var]) -> StructInfo | None:
        """Return what a function gives: what type inference found, in terms of its own parameters'
        extents.
        """
        signature = closure.graph.signature
        type_ = signature.inferred.ret_type if signature.inferred is not None else signature.ret_type
        if type_ is None:
            return None
        (wide,), _ = widened([type_])
        return symbols.erase(
            _info(wide, f"the result of {closure.name}"), symbols.defined(param.info for param in params)
        )

    def lift(self, closure: Closure, node: MSCJoint, mark: Mark | None = None) -> Lifted:
        """Return the function of the module that ``closure`` becomes, for an external compiler
        where it has a ``mark``.

        It is built when its turn comes.
        """
        if closure in self.lifted:
            return self.lifted[closure]
        graph = closure.graph
        if graph.signature.inferred is None and graph.signature.ret_type is None:
            raise UnsupportedError(
                f"node {node.name!r}: the type of the function {closure.name} is not known",
                kind=translating.NO_RELAX_FORM,
            )
        inputs = [graph.find_node(name) for name in graph.params]
        types, _ = widened(name_extents([(_hint(one), _parameter_type(graph, one)) for one in inputs]))
        own = [Var(_hint(one), from_type(t), span=one.span) for one, t in zip(inputs, types, strict=True)]
        outer: dict[RelaxExpr, Var] = {}
        inner = tuple(changed(one, lambda value: self.parameter(value, outer)) for one in closure.captured)
        params = (*own, *outer.values())
        ret = self.declared_result(closure, params)
        assert ret is not None
        name = closure.name if mark is None else mark.name
        var = self.builder.declare_new(name, [param.info for param in params], ret)
        target = self.lifted[closure] = Lifted(var, tuple(outer))
        if self.trace is not None:
            self.trace.made(closure, var)
        values: dict[str, Value] = dict(zip((*graph.params, *graph.captured), (*own, *inner), strict=True))
        if closure.itself:
            values[closure.itself] = Lifted(var, tuple(outer.values()))
        self.waiting.append(_Waiting(target, params, closure, values, ret, mark))
        return target

    def parameter(self, value: RelaxExpr, params: dict[RelaxExpr, Var], hint: str = "") -> RelaxExpr:
        """Return what stands in a lifted function for a value from around it: constants themselves,
        else parameters, called ``hint`` or as the value is.
        """
        if isinstance(value, Constant):
            return value
        if isinstance(value, Tuple):
            return Tuple(tuple(self.parameter(one, params, hint) for one in value.fields))
        if value not in params:
            name = hint or (value.name if isinstance(value, Var) else "captured")
            params[value] = Var(name, _fresh_extents(self.builder.struct_info(value), {}))
        return params[value]

    # Nodes.

    def nodes(self, frame: _Frame) -> Steps:
        """Emit the nodes of a graph in order; graphs inside it are walks of their own."""
        if self.trace is not None:
            self.trace.given(frame.values)
        for node in frame.graph.nodes:
            check()
            if node.name in frame.values:
                continue
            if self.problems.unknown and self.problems.unknown.intersection(self.operands(frame, node)):
                # It may be wrong because of what it is made of.
                frame.values[node.name] = self.problems.stand_in(node, known=node.kind is NodeKind.OPERATOR)
                continue
            yield from self.attempted(frame, node)
            if frame.failure:
                return

    def attempted(self, frame: _Frame, node: MSCJoint) -> Steps:
        """Emit a node; one that is refused is stood in for.

        In a function that calls itself and is unrolled, what is refused depends on how often: the
        call from outside is stood in for. Relax's type rules refuse some of what Relay's accept:
        tensors to be stacked that differ.
        """
        if self.trace is not None:
            self.trace.begin(node.name)
        try:
            yield from self.node(frame, node)
        except (UnsupportedError, StructInfoError, OpError) as error:
            if frame.unrolled:
                raise
            self.problems.add(node.name, error)
            known = all(one.kind is not translating.UNLIKE_ARMS for one in error.diagnostics)
            frame.values[node.name] = self.problems.stand_in(node, known)
        if self.trace is not None:
            self.trace.end(frame.values.get(node.name))

    def node(self, frame: _Frame, node: MSCJoint) -> Steps:
        if node.kind is NodeKind.CALL:
            yield from self.call(frame, node)
        elif node.kind is NodeKind.IF:
            yield from self.branch(frame, node)
        elif node.kind is NodeKind.MATCH:
            yield from self.match(frame, node)
        else:
            frame.values[node.name] = self.value(frame, node)

    def operands(self, frame: _Frame, node: MSCJoint) -> set[RelaxExpr]:
        """Return the values of what a node is made of, those that are Relax's."""
        found = (frame.values.get(name) for name in (*node.operands, *node.captured))
        return {one for one in found if isinstance(one, Var)}

    def call(self, frame: _Frame, node: MSCJoint) -> Steps:
        callee, *args = (self.operand(frame, node, name) for name in node.operands)
        match callee:
            case Closure(graph) if len(args) != len(graph.params):
                raise GraphError(
                    f"node {node.name!r} gives {len(args)} values to {callee.name}, which takes {len(graph.params)}"
                )
            case Closure() if (mark := self.mark(callee, args)) is not None:
                yield from self.call_partition(frame, node, callee, mark, args)
            case Closure(recursive=True) if not any(map(is_known, args)) and is_first_order(callee.graph):
                frame.values[node.name] = self.call_lifted(frame, node, self.lift(callee, node), args)
            case Closure(graph, captured, _, itself, recursive):
                if frame.depth == _DEEPEST:
                    raise UnsupportedError(self.endless(frame, node, callee))
                values = dict(zip((*graph.params, *graph.captured), (*args, *captured), strict=True))
                if itself:
                    values[itself] = callee
                inner = frame.inside(graph, values)
                inner.depth, inner.unrolled = frame.depth + 1, frame.unrolled or recursive
                yield self.nodes(inner)
                self.ended(frame, node, inner, self.settled)
            case Lifted():
                frame.values[node.name] = self.call_lifted(frame, node, callee, args)
            case Maker():
                frame.values[node.name] = Data(callee, tuple(args))
            case _:
                raise UnsupportedError(
                    f"node {node.name!r} calls a function that only the running program knows; not built yet",
                    kind=translating.NO_RELAX_FORM,
                )

    def endless(self, frame: _Frame, node: MSCJoint, callee: Closure) -> Diagnostic:
        """Return the mistake of a recursion that does not end, with what decides whether it
        does.
        """
        found = mistake(translating.UNKNOWN_LENGTH, node=node.name, function=callee.name, limit=_DEEPEST)
        if frame.choice is None:
            return found
        name, condition = frame.choice
        inputs = inputs_of(condition, self.builder.lookup_binding, self.inputs)
        names = ", ".join(f"%{one}" for one in inputs)
        return replace(
            found,
            where=self.problems.place(name),
            label=f"{name!r} decides whether it goes on" + (f", by what is given for {names}" if inputs else ""),
            help=f"say beforehand what is known of {names}: values as params (--params), extents as dims (--dims)"
            if inputs
            else "",
        )

    def call_lifted(self, frame: _Frame, node: MSCJoint, callee: Lifted, args: Sequence[Value]) -> Value:
        given = tuple(self.as_relax(node, arg) for arg in args)
        return self.settled(
            frame, node, self.builder.emit(Call(callee.var, (*given, *callee.captured), span=node.span))
        )

    def mark(self, callee: Closure, args: Sequence[Value]) -> Mark | None:
        """Return what a function for an external compiler is marked with, None where it is to be
        inlined: that is asked for, or Relax has no such values as it takes or gives.
        """
        if not self.partitions or any(map(is_known, (*args, *callee.captured))) or not is_first_order(callee.graph):
            return None
        return mark_of(callee.graph)

    def call_partition(
        self, frame: _Frame, node: MSCJoint, callee: Closure, mark: Mark, args: Sequence[Value]
    ) -> Steps:
        """Call a function for an external compiler; inside of one, patterns are local functions."""
        if not frame.codegen:
            frame.values[node.name] = self.call_lifted(frame, node, self.lift(callee, node, mark), args)
            return
        graph = callee.graph
        outer: list[tuple[RelaxExpr, Var]] = []
        names = [_hint(graph.find_node(name)) for name in (*graph.params, *graph.captured)]
        inner: list[Value] = []
        for name, one in zip(names, (*args, *callee.captured), strict=True):
            own: dict[RelaxExpr, Var] = {}  # of each argument: one value may be given twice
            inner.append(self.parameter(self.as_relax(node, one), own, name))
            outer += own.items()
        dataflow = not self.branches and not self.builder.in_dataflow
        self.builder.begin_sequence()
        if dataflow:
            self.builder.begin_dataflow()
        values: dict[str, Value] = dict(zip((*graph.params, *graph.captured), inner, strict=True))
        body = _Frame(graph, values, object(), frame.depth + 1, frame.unrolled)
        yield self.nodes(body)
        result = self.plain(body, graph.result)
        if dataflow:
            result = self.builder.emit_output(result)
            self.builder.end_dataflow()
        params = tuple(param for _, param in outer)
        ret = symbols.erase(self.builder.struct_info(result), symbols.defined(param.info for param in params))
        made = Function(params, self.builder.end_sequence(result), ret, mark.attrs(local=True))
        var = self.builder.emit(made, identifier(mark.name))
        if self.trace is not None:
            self.trace.made(callee, var)
        value = self.builder.emit(Call(var, tuple(given for given, _ in outer), span=node.span))
        frame.values[node.name] = self.settled(frame, node, value)

    def branch(self, frame: _Frame, node: MSCJoint) -> Steps:
        condition = self.as_relax(node, self.operand(frame, node, node.operands[0]))
        bodies = self.bodies(frame, node)
        known = self.array(condition) if frame.unrolled else None
        if known is not None:
            taken = bodies[0] if known else bodies[1]
            yield self.nodes(taken)
            self.ended(frame, node, taken)
            return
        arms: list[SeqExpr] = []
        for inner in bodies:
            inner.region, inner.arm = object(), True
            if frame.unrolled:
                inner.choice = frame.choice or (node.operands[0], condition)
            self.builder.begin_sequence()
            yield self.nodes(inner)
            no_value = inner.failure or is_known(inner.result)
            arms.append(self.builder.end_sequence(Tuple(()) if no_value else self.as_relax(node, inner.result)))
        then, otherwise = bodies
        if then.failure or otherwise.failure:
            self.ends_in_an_arm(frame, node, condition, arms, bodies)
        elif is_known(then.result) or is_known(otherwise.result):
            frame.values[node.name] = self.joined(node, condition, arms, (then.result, otherwise.result))
        else:
            frame.values[node.name] = self.settled(frame, node, self.builder.emit(If(condition, *arms)))

    def ends_in_an_arm(
        self, frame: _Frame, node: MSCJoint, condition: RelaxExpr, arms: Sequence[SeqExpr], bodies: Sequence[_Frame]
    ) -> None:
        """Emit the arm of a branch that has a result; the program ends where the other is taken."""
        lasting = next((at for at, inner in enumerate(bodies) if not inner.failure), None)
        self.effects = True
        if lasting is None:
            self.fails(frame, node, bodies[0].failure)
            return
        if lasting == 1:
            condition = self.emitter.call("logical_not", condition)
        self.builder.emit(assertion(condition, bodies[1 - lasting].failure), "_")
        self.builder.normalize(arms[lasting])
        frame.values[node.name] = bodies[lasting].result

    def joined(self, node: MSCJoint, condition: RelaxExpr, arms: Sequence[SeqExpr], results: Pair) -> Value:
        """Emit a branch whose arms give values that are known beforehand, of one form."""
        pairs = differing(results, node.name)
        then, otherwise = (SeqExpr(arm.blocks, Tuple(tuple(pair[at] for pair in pairs))) for at, arm in enumerate(arms))
        value = self.builder.emit(If(condition, then, otherwise))
        return merged(
            results, {pair: self.emitter.known(self.emitter.item(value, at)) for at, pair in enumerate(pairs)}
        )

    def ended(
        self,
        frame: _Frame,
        node: MSCJoint,
        inner: _Frame,
        settled: Callable[[_Frame, MSCJoint, Value], Value] = lambda _frame, _node, value: value,
    ) -> None:
        """Let ``node`` be what ``inner`` gives, or end where that ends."""
        if inner.failure:
            frame.failure = inner.failure
        else:
            frame.values[node.name] = settled(frame, node, inner.result)

    def match(self, frame: _Frame, node: MSCJoint) -> Steps:
        assert isinstance(node.attrs, MatchAttrs)
        data = self.operand(frame, node, node.operands[0])
        for pattern, inner in zip(node.attrs.patterns, self.bodies(frame, node), strict=True):
            found = bindings(pattern, data, self.project)
            if found is not None:
                inner.values.update(zip(inner.graph.params, found, strict=True))
                yield self.nodes(inner)
                self.ended(frame, node, inner)
                return
        self.fails(frame, node, f"node {node.name!r}: no clause matches {what(data)}")

    def fails(self, frame: _Frame, node: MSCJoint, why: str) -> None:
        """Note that a program that evaluates ``node`` ends there; refuse one that always does."""
        if not frame.arm:
            raise UnsupportedError(why, kind=translating.NO_RELAX_FORM)
        place = self.problems.place(node.name)
        frame.failure = f"{why} ({place})" if place is not None else why

    def bodies(self, frame: _Frame, node: MSCJoint) -> list[_Frame]:
        """Return frames for the graphs that ``node`` holds, with what they capture."""
        rest: Iterator[str] = iter(node.captured)
        return [
            frame.inside(graph, {name: self.operand(frame, node, next(rest)) for name in graph.captured})
            for graph in node.bodies
        ]

    def value(self, frame: _Frame, node: MSCJoint) -> Value:
        """Return the value of a node that holds no graph to be evaluated."""
        if node.kind is NodeKind.CONSTANT:
            return self.weight(frame.graph, node.weights["const"])
        held = {tensor.name: tensor for tensor in node.weights.values()}
        args = [
            self.weight(frame.graph, held[name]) if name in held else self.operand(frame, node, name)
            for name in node.operands
        ]
        match node.kind, node.attrs:
            case NodeKind.OPERATOR, _:
                return self.operator(frame, node, args)
            case NodeKind.TUPLE, _:
                if any(map(is_known, args)):
                    return Fields(tuple(args))
                return Tuple(tuple(self.as_relax(node, arg) for arg in args))
            case NodeKind.GET_ITEM, GetItemAttrs(index):
                return self.project(args[0], index)
            case NodeKind.FUSED, FusedAttrs(parts):
                return self.fused(frame, node, parts, args)
            case NodeKind.FUNCTION, FunctionAttrs(body, itself):
                name = _hint(body.find_node(itself)) if itself else node.name
                return Closure(body, tuple(args), name, itself, recursive=bool(itself))
            case NodeKind.GLOBAL, GlobalAttrs(name):
                return self.function_of_module(node, name)
            case NodeKind.CONSTRUCTOR, ConstructorAttrs(data_type, constructor):
                return Maker(data_type, constructor)
            case NodeKind.BIND, _:
                return args[0]
            case NodeKind.LET, _:
                return args[1]
            case NodeKind.REF, _:
                return Cell(args[0], frame.region)
            case NodeKind.REF_READ | NodeKind.REF_WRITE, _:
                return self.reference(frame, node, args)
            case NodeKind.INPUT, _:
                raise GraphError(f"nothing is given for the input {node.name!r} of {frame.graph.name!r}")
        raise ill_formed(node)

    def operator(self, frame: _Frame, node: MSCJoint, args: Sequence[Value]) -> Value:
        """Return what the operator of a node makes of ``args``."""
        op = relay_op(node.op)
        if op is None:
            where = f" (span {node.span})" if node.span is not None else ""
            raise UnsupportedError(Diagnostic(f"node {node.name!r}{where}: operator {node.op} has no record"))
        given = [self.as_relax(node, arg) for arg in args]
        if self.lowered:
            result = self.emitter.as_tir(op, node.attrs, given, span=node.span)
        else:
            result = self.emitter.as_relax(op, node.attrs, given, node.span)
        if frame.unrolled:
            self.compute(op, node.attrs, given, result)
        return result

    def fused(self, frame: _Frame, node: MSCJoint, parts: MSCGraph, args: Sequence[Value]) -> Value:
        """Return what a fused node becomes: what its pattern says, or what its parts become."""
        form = relax_form(node.op)
        if form is not None:
            given = [self.as_relax(node, arg) for arg in args]
            held = [self.weight(frame.graph, tensor) for tensor in node.weights.values()]

            def call(name: str, *operands: RelaxExpr, **attrs: object) -> RelaxExpr:
                return self.builder.emit(call_op(name, *operands, span=node.span, **attrs))

            return form(Emit(call, node, dict(zip(node.weights, held, strict=True))), *given, *held)
        inner = replace(frame, graph=parts, values=dict(zip(parts.params, args, strict=True)))
        for part in parts.nodes:
            if part.name not in inner.values:
                inner.values[part.name] = self.value(inner, part)
        return inner.result

    def compute(self, op: OpDef, attrs: Any, args: Sequence[RelaxExpr], result: RelaxExpr) -> None:
        """Remember the value of a call of small constants: a recursion may count down by it."""
        arrays = [self.array(arg) for arg in args]
        if all(one is not None and one.size <= _SMALL for one in arrays):
            value = kernel_value(op, attrs, arrays)
            if isinstance(value, np.ndarray):
                self.arrays[result] = value

    def array(self, value: RelaxExpr) -> Array | None:
        """Return the data of ``value`` where they are known beforehand."""
        if isinstance(value, Constant):
            return value.data
        return self.arrays[value] if value in self.arrays else self.emitter.integers_of(value)

    def reference(self, frame: _Frame, node: MSCJoint, args: Sequence[Value]) -> Value:
        """Read or write a reference.

        What a branch does to one from around it only the running program knows.
        """
        cell = args[0]
        if not isinstance(cell, Cell) or (node.kind is NodeKind.REF_WRITE and cell.region is not frame.region):
            raise UnsupportedError(
                f"node {node.name!r}: what a reference holds is known only when the program runs; "
                "Relax has no references",
                kind=translating.NO_RELAX_FORM,
            )
        if node.kind is NodeKind.REF_READ:
            return cell.content
        cell.content = args[1]
        return Tuple(())

    def function_of_module(self, node: MSCJoint, name: str) -> Closure:
        if name not in self.globals:
            if name not in self.graphs:
                raise UnsupportedError(
                    f"node {node.name!r}: the module has no function @{name}", kind=translating.NO_RELAX_FORM
                )
            self.globals[name] = Closure(self.graphs[name], name=name, recursive=name in self.recursive)
        return self.globals[name]

    # Values.

    def operand(self, frame: _Frame, node: MSCJoint, name: str) -> Value:
        try:
            return frame.values[name]
        except KeyError:
            raise used_too_early(node, name) from None

    def project(self, value: Value, index: int) -> Value:
        known = item(value, index)
        return self.emitter.item(self.as_relax(None, value), index) if known is None else known

    def settled(self, frame: _Frame, node: MSCJoint, value: Value) -> Value:
        """Return the value of a call or a branch with its extents named, unless it only is the
        graph's result.
        """
        if is_known(value) or (node.name == frame.graph.result and not _is_used(frame.graph, node.name)):
            return value
        relax = self.as_relax(node, value)
        leaves = iter(node.outputs)
        return self.emitter.known(relax, _hint_type(self.builder.struct_info(relax), leaves))

    def plain(self, frame: _Frame, name: str) -> RelaxExpr:
        return self.as_relax(frame.graph.find_node(name), frame.values[name])

    def as_relax(self, node: MSCJoint | None, value: Value) -> RelaxExpr:
        """Return ``value`` as Relax has it; raises UnsupportedError where it has not."""
        if isinstance(value, (Closure, Lifted, Maker, Data, Fields, Cell)):
            where = f"node {node.name!r}" if node is not None else "a node"
            raise UnsupportedError(
                mistake(translating.NO_RELAX_FORM, owner=where, problem=f"needs {what(value)} when the program runs")
            )
        return value

    def as_tuples(self, value: Value) -> Value:
        """Return a value of a data type, or a tuple with such values, as tuples of fields.

        The program says which constructors made it, so the fields are all that a caller lacks.
        What holds anything else that is no Relax value is returned as it is, and so is what has too
        many parts, each counted as often as it stands: types of tuples share none.
        """
        made: dict[Value, Value] = {}
        size: dict[Value, int] = {}
        for one in post_order((value,), lambda one: one.fields if isinstance(one, (Data, Fields)) else ()):
            size[one] = 1
            if isinstance(one, (Data, Fields)):
                size[one] += sum(size[part] for part in one.fields)
                if size[one] > _LARGEST_RESULT:
                    return value
                parts = tuple(self.as_relax(None, made[part]) for part in one.fields)
                made[one] = self.builder.emit(Tuple(parts))
            elif is_known(one):
                return value
            else:
                made[one] = one
        return made[value]

    def weight(self, graph: MSCGraph, tensor: MSCTensor) -> Constant:
        """Return the constant of a weight; one weight is one constant, whoever uses it."""
        name = tensor.name
        if name not in self.constants:
            self.constants[name] = Constant(weight_data(self.weights, tensor), graph.weight_spans.get(name))
            if self.trace is not None:
                self.trace.constants[name] = self.constants[name]
        return self.constants[name]


def _is_used(graph: MSCGraph, name: str) -> bool:
    """Whether a node is an operand of another one."""
    return any(name in node.operands for node in graph.nodes)


def _hint_type(info: StructInfo, leaves: Iterator[MSCTensor]) -> Type | None:
    """Return what the tensors of a node say of a value of ``info``."""
    match info:
        case TensorStructInfo():
            found = next(leaves, None)
            return None if found is None else _tensor_type(found)
        case TupleStructInfo(fields):
            parts = [_hint_type(one, leaves) for one in fields]
            return TupleType(tuple(part if part is not None else TupleType(()) for part in parts))
    return None


def _fresh_extents(info: StructInfo, names: dict[Extent, PrimVar]) -> StructInfo:
    """Return ``info`` with a variable of its own for each extent that is not static."""

    def extent(one: Extent) -> Extent:
        return one if static(one) is not None else names.setdefault(one, PrimVar("n", "int64"))

    match info:
        case TensorStructInfo(shape, dtype) if shape is not None:
            return TensorStructInfo(tuple(map(extent, shape)), dtype)
        case TupleStructInfo(fields):
            return TupleStructInfo(tuple(_fresh_extents(one, names) for one in fields))
    return info
