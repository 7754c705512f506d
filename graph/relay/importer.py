"""From Relay to the graph, without loss: one node per expression, weights beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from relay2relax.core.collection import collection_paused
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Diagnostic, UnsupportedError
from relay2relax.core.errors.table import running
from relay2relax.core.progress import going_on
from relay2relax.core.source import SourceRange, Span
from relay2relax.graph.kinds import NodeKind, PatternKind
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
    MSCGraph,
    MSCJoint,
    MSCTensor,
    Pattern,
    Signature,
)
from relay2relax.graph.relay.scopes import Scope, evaluated, scopes_of
from relay2relax.graph.shapes import PrimTable, has_any, leaves, symbolic_type
from relay2relax.ops.registry.attributes import NoAttrs
from relay2relax.ops.registry.symbolic import Dims, name_extents
from relay2relax.relay_ir.inference.fixed_extents import dims_of, fix_extents
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.io.params import bind_params
from relay2relax.relay_ir.ir.expr import (
    Call,
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
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    children,
)
from relay2relax.relay_ir.ir.expr import Pattern as RelayPattern
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import attr_operands, binders, nodes
from relay2relax.relay_ir.ir.types import FuncType, TensorType, TupleType, Type
from relay2relax.relay_ir.transform import ToGraphNormalForm
from relay2relax.tir.extent import static
from relay2relax.tir.script.types import is_dtype

# Operators whose constant inputs MSC keeps inside the node, with the places and roles of those
# inputs.
_CONVOLUTION = {1: "weight"}
_NORMALISATION = {1: "gamma", 2: "beta"}
_HELD: dict[str, Mapping[int, str]] = {
    "nn.conv1d": _CONVOLUTION,
    "nn.conv2d": _CONVOLUTION,
    "nn.conv3d": _CONVOLUTION,
    "nn.batch_norm": {1: "gamma", 2: "beta", 3: "mean", 4: "var"},
    "nn.layer_norm": _NORMALISATION,
    "nn.group_norm": _NORMALISATION,
}
# Expressions that say nothing beside their operands.
_PLAIN: Mapping[type, NodeKind] = {
    Tuple: NodeKind.TUPLE, Function: NodeKind.FUNCTION, If: NodeKind.IF, Match: NodeKind.MATCH,
    RefCreate: NodeKind.REF, RefRead: NodeKind.REF_READ, RefWrite: NodeKind.REF_WRITE,
}  # fmt: skip
_NO_HELD: Mapping[int, str] = {}
_BLOCK = ("block",)
_NO_PLACES: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class Imported:
    """A graph of a Relay module with its weights.

    ``made`` says what nodes and held weights were made of, by their names: expressions of the
    module after ``let`` gave way to sharing. ``locations`` are the module's.
    """

    graph: MSCGraph
    weights: dict[str, Array]
    made: Mapping[str, Expr]
    locations: Mapping[Expr, SourceRange]

    def place(self, name: str) -> SourceRange | None:
        """Return where the node ``name`` stands in the module's text, None where that is not
        known.
        """
        return self.locations.get(self.made[name]) if name in self.made else None


@collection_paused()
def from_relay(
    mod: IRModule, params: Mapping[str, Array] | None = None, entry: str | None = "main", dims: Dims | None = None
) -> tuple[MSCGraph, dict[str, Array]]:
    """Return ``entry`` of ``mod`` as a graph, and its weights by name.

    The arrays are the module's own, not copies. With ``entry=None`` the module is a library, all of
    whose functions are called from outside: the graph is that of its first function, and its
    ``entries`` are the others.

    ``params`` are bound first, as ``relay_ir.bind_params`` does; the names they had become aliases
    of the weights. ``let`` gives way to sharing (``ToGraphNormalForm``), but for effects and
    recursion. Other functions of the module come along as graphs of their own. Every ``?`` of an
    entry parameter becomes a named extent, and so does what shape rules compute from it. ``dims``
    gives names or numbers for them: ``{"data": ("batch", None)}``.

    Raises Relay2RelaxError where ``dims`` does not fit, TypeInferenceError for an ill-typed module,
    and UnsupportedError, listing every place, for free variables and operators as values, for a
    library without functions, and where ``params`` or ``dims`` are given for a library: they belong
    to one function.
    """
    found = from_relay_with_nodes(mod, params, entry, dims)
    return found.graph, found.weights


@collection_paused()
def from_relay_with_nodes(
    mod: IRModule, params: Mapping[str, Array] | None = None, entry: str | None = "main", dims: Dims | None = None
) -> Imported:
    """Do what :func:`from_relay` does, and return also what the nodes stand for."""
    mod.refuse_opaque("a graph cannot express it; use the program from before it was lowered")
    if entry is None:
        check_library(mod, params, dims)
    else:
        dims = dims_of(mod, dims, entry)
        mod = fix_extents(mod, dims, entry) if dims else mod
        mod = bind_params(mod, params, entry) if params else mod
    mod = ToGraphNormalForm()(mod)
    orders = _orders(mod)
    types = typed_module(mod).types
    aliases = {id(array): name for name, array in (params or {}).items()}
    var = next(iter(mod.functions)) if entry is None else mod.get_global_var(entry)
    builder = _Builder(types, aliases, {mod.functions[var]: dims} if dims else {}, orders)
    functions = {other.name: f for other, f in mod.functions.items() if other is not var}
    graph = builder.module(var.name, mod.functions[var], functions)
    _refuse(mod, builder.negative, "a tensor has an extent below zero, which no value has")
    _refuse(mod, builder.odd, "a tensor has a dtype that no program holds")
    definitions = tuple(mod.type_definitions.values())
    entries = tuple(functions) if entry is None else ()
    whole = replace(graph, entries=entries, module_attrs=mod.attrs, type_definitions=definitions)
    held = {name: constant for constant, name in builder.weight_names.items()}
    return Imported(whole, builder.weights, {**held, **builder.made}, mod.locations)


def check_library(mod: IRModule, *asked: object) -> None:
    """Raise UnsupportedError where a module is not to be taken as a library: it has no functions,
    or what is ``asked`` belongs to one of them, as params and dims do.
    """
    if not mod.functions:
        raise UnsupportedError("the module has no functions; nothing is to be translated", kind=running.NO_FUNCTION)
    if any(asked):
        there = ", ".join(f"@{var.name}" for var in list(mod.functions)[:8])
        title = f"params, dims, weights and schedules go with @main, which the module lacks; its functions: {there}"
        help = "name the function that is meant: --entry of commands, translator.beginning_at in Python"
        raise UnsupportedError(Diagnostic(title, help=help, kind=running.NO_FUNCTION))


def _orders(mod: IRModule) -> dict[Function, list[Expr]]:
    """Return the nodes of each function, operands first.

    Refuses, all at once, what the graph has no node for.
    """
    problems: list[Diagnostic] = []
    orders: dict[Function, list[Expr]] = {}
    for var, function in mod.functions.items():
        order = orders[function] = list(nodes(function))
        bound = {binder for node in order for binder in binders(node)}
        for node in order:
            values = evaluated(node)
            callee = node.op if isinstance(node, Call) else None
            bare = [v for v in values if isinstance(v, Op) and v is not callee]
            if isinstance(node, Var) and node not in bound:
                title = f"@{var.name}: a graph cannot express the free variable %{node.name}"
            elif bare:
                title = f"@{var.name}: a graph cannot express the operator {bare[0].name} as a value"
            else:
                continue
            problems.append(Diagnostic(title, mod.locations.get(node)))
    if problems:
        raise UnsupportedError(list(dict.fromkeys(problems)), mod.source)
    return orders


def _refuse(mod: IRModule, found: Sequence[Expr], title: str) -> None:
    """Raise UnsupportedError where values were ``found`` that Relay types and no program holds."""
    if found:
        raise UnsupportedError([Diagnostic(title, mod.locations.get(node)) for node in found], mod.source)


def _below_zero(type_: TensorType) -> bool:
    return any((extent := static(one)) is not None and extent < 0 for one in type_.shape)


class _Builder:
    """One module: the names that are taken, and the weights met so far."""

    def __init__(
        self,
        types: Mapping[Expr, Type],
        aliases: Mapping[int, str],
        dims: Mapping[Expr, Dims],
        orders: Mapping[Function, Sequence[Expr]],
    ) -> None:
        self.types = types
        self.orders = orders
        self.made: dict[str, Expr] = {}  # what nodes were made of, by their names
        self.aliases = aliases
        self.dims = dims
        self.weights: dict[str, Array] = {}
        self.weight_names: dict[Constant, str] = {}
        self.taken: set[str] = set()
        self.counters: dict[str, int] = {}
        self.symbolic: dict[Expr, Type] = {}
        self.negative: list[Expr] = []  # values whose types no value has
        self.odd: list[Expr] = []  # values of dtypes that no program holds

    def fresh(self, hint: str) -> str:
        """Return ``hint``, with a number behind it where the name is taken."""
        name = hint
        while name in self.taken:
            self.counters[hint] = self.counters.get(hint, 0) + 1
            name = f"{hint}_{self.counters[hint]}"
        self.taken.add(name)
        return name

    def type_of(self, expr: Expr) -> Type:
        """Return the type of ``expr``, symbolic where that is known."""
        return self.symbolic.get(expr) or self.types.get(expr) or TupleType(())

    # --- functions ---

    def module(self, name: str, entry: Function, functions: Mapping[str, Function]) -> MSCGraph:
        main = self.function(name, entry)
        others = {other: self.function(other, function) for other, function in functions.items()}
        return replace(main, functions=others)

    def function(self, name: str, function: Function) -> MSCGraph:
        """Return the graph of one function of the module."""
        order = self.orders[function]
        scopes = scopes_of(function, order)
        around = _Around(_held_constants(order))
        for scope in scopes:
            around.arms.setdefault(scope.construct, []).append(scope)
        for node in order:
            if isinstance(node, Let):
                around.lets[node.var] = node
                if isinstance(node.value, Function) and node.var in around.arms[node.value][0].captured:
                    around.itself[node.value] = node.var
        graphs: dict[Scope, _Scoped] = {}
        for scope in scopes:
            graphs[scope] = scoped = _Scoped(self, scope, around)
            scoped.nodes_of_scope()
        # Names are given from the outside inwards, graphs are finished from the inside outwards.
        finished: dict[Expr, list[MSCGraph]] = {}
        for scope in reversed(scopes):
            scoped = graphs[scope]
            finished.setdefault(scope.construct, []).insert(0, scoped.graph(scoped.name or name, finished))
        return finished[function][0]


@dataclass(frozen=True, slots=True)
class _Around:
    """What the graphs of one function of the module know of each other.

    ``held`` constants are held by the nodes that use them, ``arms`` are the graphs that a construct
    has, ``lets`` are by variable, ``itself`` is the variable by which a function literal calls
    itself.
    """

    held: set[Expr]
    arms: dict[Expr, list[Scope]] = field(default_factory=dict)
    lets: dict[Expr, Let] = field(default_factory=dict)
    itself: dict[Expr, Var] = field(default_factory=dict)


def _held_constants(order: Sequence[Expr]) -> set[Expr]:
    """Return the constants of which every use is one that MSC keeps inside the using node."""
    held: set[Expr] = set()
    plain: set[Expr] = set()
    for node in order:
        if isinstance(node, (Function, If, Match)):
            plain.update(children(node))
            continue
        places = _held_places(node)
        for place, child in enumerate(evaluated(node), -1):  # the callee comes first
            if isinstance(child, Constant):
                (held if place in places else plain).add(child)
    return held - plain


def held_places(op: str) -> Mapping[int, str]:
    """Return the places and roles of the constants that a node of an operator holds."""
    return _HELD.get(op, _NO_HELD)


def _held_places(node: Expr) -> Mapping[int, str]:
    if isinstance(node, Call) and isinstance(node.op, Op):
        return held_places(node.op.name)
    return _NO_HELD


class _Scoped:
    """The graph of one scope under construction."""

    def __init__(self, builder: _Builder, scope: Scope, around: _Around) -> None:
        self.builder = builder
        self.scope = scope
        self.around = around
        self.held = around.held
        self.name = "" if scope.parent is None else builder.fresh(_graph_hint(scope))
        self.itself = around.itself.get(scope.construct)
        self.names: dict[Expr, str] = {}
        self.weight_spans: dict[str, Span] = {}
        self.prims = PrimTable()
        self.made: list[tuple[Expr, MSCJoint]] = []
        self.outputs: dict[str, tuple[MSCTensor, ...]] = {}

    def nodes_of_scope(self) -> None:
        """Make the nodes; the graphs that they hold are filled in by ``graph``."""
        builder, params = self.builder, self.scope.params
        typed = [(param.name, builder.types.get(param) or TupleType(())) for param in params]
        for param, symbolic in zip(params, name_extents(typed, builder.dims.get(self.scope.construct)), strict=True):
            builder.symbolic[param] = symbolic
            self.variable(param, NodeKind.INPUT, ())
        if self.itself is not None:
            self.variable(self.itself, NodeKind.INPUT, ())
        for node in self.captures(self.scope):
            hint = node.name if isinstance(node, Var) else "captured"
            self.add(node, NodeKind.INPUT, builder.fresh(hint), InputAttrs(hint, captured=True), None)
        made, members = self.made, self.scope.members
        with going_on("nodes of the graph", lambda: (len(made), len(members))):
            for node in members:
                self.member(node)

    def captures(self, scope: Scope) -> list[Expr]:
        """Return what goes into an inner graph as input.

        Held weights are reached by name, a function by itself.
        """
        itself = self.around.itself.get(scope.construct)
        return [node for node in scope.captured if node not in self.held and node is not itself]

    def variable(self, var: Var, kind: NodeKind, refs: tuple[str, ...]) -> None:
        """Make the node of a variable."""
        attrs = InputAttrs(var.name, var.type_annotation, var.virtual_device)
        self.add(var, kind, self.builder.fresh(var.name), attrs, var.span, refs)

    def ref(self, value: Expr) -> str:
        """Return the node that gives ``value``; that of a ``let``'s variable is made where it is
        first used.
        """
        if value not in self.names and isinstance(value, Var):
            self.variable(value, NodeKind.BIND, (self.ref(self.around.lets[value].value),))
        return self.names[value]

    def member(self, node: Expr) -> None:
        builder = self.builder
        match node:
            case Constant(_, span):
                weight = builder.weight_names.get(node)
                if weight is None:
                    weight = builder.weight_names[node] = builder.fresh("const")
                    builder.weights[weight] = node.data
                if node not in self.held:
                    self.add(node, NodeKind.CONSTANT, weight, ConstantAttrs.of(node.data), span)
                elif span is not None:
                    self.weight_spans[weight] = span
            case Call(Op(name), _, attrs, _, span):
                hint = name.rsplit(".", 1)[-1]
                self.add(node, NodeKind.OPERATOR, builder.fresh(hint), attrs, span, op=name)
            case Call(callee, _, attrs, type_args, span):
                hint = callee.name if isinstance(callee, GlobalVar) else NodeKind.CALL.value
                self.add(node, NodeKind.CALL, builder.fresh(hint), CallAttrs(type_args, attrs), span)
            case TupleGetItem(value, index, span):
                hint = f"{self.ref(value)}.{index}"
                self.add(node, NodeKind.GET_ITEM, builder.fresh(hint), GetItemAttrs(index), span)
            case GlobalVar(name, span):
                self.add(node, NodeKind.GLOBAL, builder.fresh(f"@{name}"), GlobalAttrs(name), span)
            case Let(var, _, body, span):
                refs = (self.ref(var), self.ref(body))
                self.add(node, NodeKind.LET, builder.fresh(NodeKind.LET.value), NoAttrs(), span, refs)
            case Constructor(name, _, data_type, _, span):
                attrs = ConstructorAttrs(data_type.name, name)
                self.add(node, NodeKind.CONSTRUCTOR, builder.fresh(name), attrs, span)
            case Tuple() | Function() | If() | Match() | RefCreate() | RefRead() | RefWrite():
                kind = _PLAIN[type(node)]
                self.add(node, kind, builder.fresh(kind.value), NoAttrs(), node.span)

    def add(
        self,
        expr: Expr,
        kind: NodeKind,
        name: str,
        attrs: object,
        span: Span | None,
        given: tuple[str, ...] = (),
        op: str = "",
    ) -> None:
        """Make the node ``name`` of ``expr``; ``given`` are operands beside those that the
        expression has.
        """
        places = _held_places(expr)
        weights: dict[str, MSCTensor] = {}
        refs: list[str] = list(given)
        values: Sequence[Expr] = ()
        if kind not in (NodeKind.INPUT, NodeKind.LET):
            captured = (one for arm in self.around.arms.get(expr, ()) for one in self.captures(arm))
            values = (*evaluated(expr), *captured)
        for place, value in enumerate(values, -1 if isinstance(expr, Call) else 0):
            if isinstance(value, Op):
                continue
            if isinstance(value, Constant) and value in self.held:
                weight = self.builder.weight_names[value]
                weights[places[place]] = self.weight(value, weight)
                refs.append(weight)
            else:
                refs.append(self.ref(value))
        self.names[expr] = name
        self.builder.made[name] = expr
        if kind is NodeKind.CONSTANT and isinstance(expr, Constant):
            weights = {"const": self.weight(expr, name)}
        held = {tensor.name for tensor in weights.values()}
        inputs = tuple(t.name for ref in refs if ref not in held for t in self.outputs[ref])
        self.outputs[name] = self.tensors(expr, name, kind)
        scope = () if kind in (NodeKind.INPUT, NodeKind.CONSTANT) else _BLOCK
        node = MSCJoint(
            len(self.made), name, kind, op, tuple(refs), inputs, self.outputs[name], weights, attrs, scope, span,
            attr_operands=attr_operands(expr) if isinstance(expr, Call) and isinstance(expr.op, Op) else _NO_PLACES,
        )  # fmt: skip
        self.made.append((expr, node))

    def weight(self, constant: Constant, name: str) -> MSCTensor:
        tensor = constant.tensor_type
        alias = self.builder.aliases.get(id(constant.data), "")
        return self.prims.tensor(name, tensor, name, 0, alias)

    def tensors(self, expr: Expr, name: str, kind: NodeKind) -> tuple[MSCTensor, ...]:
        """Return what a node gives: its value's tensors, or one tensor that stands for a
        function.
        """
        builder = self.builder
        known = builder.type_of(expr)
        if expr not in builder.symbolic and has_any(known):
            known = builder.symbolic[expr] = symbolic_type(expr, known, builder.type_of)
        if isinstance(known, FuncType):
            return (MSCTensor(f"{name}:0", "function"),)
        if not isinstance(known, (TensorType, TupleType)):
            return (MSCTensor(f"{name}:0", "object"),)
        parts: list[TensorType] = list(leaves(known))
        if any(map(_below_zero, parts)):
            builder.negative.append(expr)
        if not all(is_dtype(part.dtype) for part in parts):
            builder.odd.append(expr)
        several = len(parts) > 1
        return tuple(
            self.prims.tensor(
                f"{name}:{place}",
                part,
                name,
                place,
                (f"{name}_{place}" if several else name) if self.is_public(expr, kind) else "",
            )
            for place, part in enumerate(parts)
        )

    def is_public(self, expr: Expr, kind: NodeKind) -> bool:
        """Whether users know the value by name: what goes into the function and what comes out of
        it.
        """
        return kind is NodeKind.INPUT or expr is self.scope.body

    def graph(self, name: str, finished: Mapping[Expr, Sequence[MSCGraph]]) -> MSCGraph:
        """Return the graph; ``finished`` has those that its nodes hold."""
        scope = self.scope
        result = self.ref(scope.body)
        done = tuple(self.with_bodies(expr, node, finished.get(expr, ())) for expr, node in self.made)
        return MSCGraph(
            name,
            done,
            tuple(self.names[param] for param in scope.params),
            result,
            tuple(self.prims.prims),
            tuple(self.names[node] for node in self.captures(scope)),
            self.signature(scope.construct),
            weight_spans=self.weight_spans,
        )

    def signature(self, construct: Expr) -> Signature:
        if not isinstance(construct, Function):
            return Signature()
        inferred = self.builder.types.get(construct)
        return Signature(
            construct.ret_type,
            construct.type_params,
            construct.attrs,
            construct.span,
            construct.virtual_device,
            inferred if isinstance(inferred, FuncType) else None,
        )

    def with_bodies(self, expr: Expr, node: MSCJoint, graphs: Sequence[MSCGraph]) -> MSCJoint:
        match node.kind, expr:
            case NodeKind.FUNCTION, _:
                own = {*graphs[0].params, *graphs[0].captured}
                itself = [one.name for one in graphs[0].nodes if one.kind is NodeKind.INPUT and one.name not in own]
                return replace(node, attrs=FunctionAttrs(graphs[0], *itself))
            case NodeKind.IF, _:
                return replace(node, attrs=IfAttrs(*graphs))
            case NodeKind.MATCH, Match(_, clauses, complete):
                patterns = tuple(_pattern(clause.lhs) for clause in clauses)
                return replace(node, attrs=MatchAttrs(patterns, tuple(graphs), complete))
        return node


def _graph_hint(scope: Scope) -> str:
    match scope.construct:
        case If():
            return "else" if scope.arm else "then"
        case Match():
            return "clause"
    return "fn"


def _pattern(pattern: RelayPattern) -> Pattern:
    match pattern:
        case PatternVar(_, span):
            return Pattern(PatternKind.VARIABLE, span=span)
        case PatternTuple(parts, span):
            return Pattern(PatternKind.TUPLE, tuple(map(_pattern, parts)), span=span)
        case PatternConstructor(constructor, parts, span):
            name = (constructor.belong_to.name, constructor.name)
            return Pattern(PatternKind.CONSTRUCTOR, tuple(map(_pattern, parts)), name, span)
    return Pattern(PatternKind.WILDCARD, span=pattern.span)
