"""Translations that say what became of every part of the program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from typing_extensions import Unpack

from relay2relax import relax_ir, relay_ir
from relay2relax.core.passes import Rewrites, rewrites_noted
from relay2relax.core.source import SourceRange
from relay2relax.graph.model import MSCGraph
from relay2relax.graph.relax.trace import Trace
from relay2relax.graph.relax.values import Cell, Closure, Data, Fields, Lifted, Maker, Value, is_known, what
from relay2relax.relax_ir.ir.expr import CallTIR
from relay2relax.relax_ir.ir.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from relay2relax.relax_ir.ir.visit import all_sequences, bindings, values
from relay2relax.relax_ir.script.printer import global_names, variable_names
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.rewrite import asked_constructors, binders, nodes
from relay2relax.translator.pipeline import Options, Passage, Translation, Via, passage
from relay2relax.translator.tracing.model import Fate, GraphNode, Map, Place, PlaceKind, RelayNode
from relay2relax.translator.tracing.quantised import QuantisedOperators, quantised_items, quantised_operators
from relay2relax.translator.tracing.receipt import Standing, receipt_of


@dataclass(frozen=True, slots=True, eq=False)
class Traced(Translation):
    """A translation, and the ``map`` of what became what in it.

    ``quantised`` says what became of quantised operators, where they were to be floats.
    ``expressions`` are those that the rows ``map.relay`` stand for, in their order.
    """

    map: Map
    quantised: tuple[QuantisedOperators, ...] = ()
    expressions: tuple[relay_ir.Expr, ...] = ()


def translate_with_map(
    mod: relay_ir.IRModule | relay_ir.Function, via: Via = "graph", **options: Unpack[Options]
) -> Traced:
    """Do what :func:`relay2relax.translator.translate` does, and return also the map.

    Arguments and errors are those of ``translate``, and the module is the same. With a schedule the
    place of an operator is the call of the PrimFunc that it is fused into.
    """
    trace = Trace()
    with rewrites_noted() as rewrites:
        done = passage(mod, via, trace=trace, **options)
    relax = RelaxPlaces(done.module, rewrites)
    parts = _Graph(done.found.graph, trace, relax)
    relay = list(_relay_nodes(done, parts, rewrites, bool(options.get("schedule"))))
    relay_nodes = tuple(node for _, node in relay)
    entry, schedule = done.entry or "", options.get("schedule") or ""
    bare = Map(via, entry, schedule, relay_nodes, tuple(parts.nodes), tuple(relax.places))
    types = typed_module(done.given).types
    standing = [_standing(bare, number, expr, relax, types.get(expr)) for number, (expr, _) in enumerate(relay)]
    numbers = {expr: number for number, (expr, _) in enumerate(relay)}
    arithmetic = quantised_items(done.quantised, rewrites, numbers)
    found = replace(bare, receipt=(*receipt_of(done.given, done.module, standing), *arithmetic))
    operators = quantised_operators(done.quantised.values())
    expressions = tuple(expr for expr, _ in relay)
    graph, weights = done.found.graph, done.found.weights
    return Traced(done.module, done.source, graph, weights, found, operators, expressions)


class RelaxPlaces:
    """The places of a Relax module: its functions, their parameters, bindings and constants."""

    def __init__(self, module: relax_ir.IRModule, rewrites: Rewrites) -> None:
        self.places: list[Place] = []
        self.of: dict[relax_ir.Expr, int] = {}
        # What stands at a place: the value of a binding, a function, a parameter.
        self.values: dict[int, relax_ir.Expr] = {}
        # The dtypes of what is bound at a place.
        self.dtypes: dict[int, frozenset[str]] = {}
        names, functions = variable_names(module), global_names(module)
        for var, func in module.functions.items():
            if not isinstance(func, relax_ir.Function):
                continue
            name = functions[var]
            self._add(var, Place(PlaceKind.FUNCTION, name, name), func)
            for param in func.params:
                self._add(param, Place(PlaceKind.PARAMETER, name, names[param]), param)
            for seq in all_sequences([func.body]):
                for binding in bindings(seq):
                    value = binding.value
                    called = functions[value.func] if isinstance(value, CallTIR) else ""
                    self.dtypes[len(self.places)] = _dtypes(binding.var.info)
                    bound = names.get(binding.var, "_")  # what is called for its effect has no name
                    self._add(binding.var, Place(PlaceKind.BINDING, name, bound, called), value)
                    for param in value.params if isinstance(value, relax_ir.Function) else ():
                        self._add(param, Place(PlaceKind.PARAMETER, name, names[param]), param)
                    self._constants(value)
                self._constants(seq.body)
        for new in list(self.of):
            for old in rewrites.origins(new):
                self.of.setdefault(old, self.of[new])  # type: ignore[arg-type]

    def _add(self, value: relax_ir.Expr, place: Place, stands: relax_ir.Expr | None = None) -> None:
        if stands is not None:
            self.values[len(self.places)] = stands
        self.of[value] = len(self.places)
        self.places.append(place)

    def _constants(self, value: relax_ir.Expr) -> None:
        for one in values(value):
            if isinstance(one, relax_ir.Constant) and one not in self.of:
                self._add(one, Place(PlaceKind.CONSTANT, "", ""))


@dataclass(eq=False, slots=True)
class _Graph:
    """The nodes of the graph, and why some have no place in Relax."""

    main: MSCGraph
    trace: Trace
    relax: RelaxPlaces
    nodes: list[GraphNode] = field(default_factory=list)
    # Nodes and weights by their names; functions of the module by theirs.
    named: dict[str, int] = field(default_factory=dict)
    functions: dict[str, int] = field(default_factory=dict)
    # Of nodes without a place: why; "" where they are not evaluated.
    why: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, one in {self.main.name: self.main, **self.main.functions}.items():
            self.functions[name] = len(self.nodes)
            self._function(name, one)
        for part in self.main.subgraphs():
            for node in part.nodes:
                for tensor in node.weights.values():
                    if tensor.name not in self.named:
                        self._add(tensor.name, node.optype if tensor.name == node.name else "weight")
                if node.name not in self.named:
                    self._add(node.name, node.optype)

    def _function(self, name: str, graph: MSCGraph) -> None:
        made = [self.relax.of[var] for var in self.trace.graphs.get(name, ()) if var in self.relax.of]
        called = any(node.name in self.trace.values for node in graph.nodes)
        self.why[len(self.nodes)] = "its body stands in the place of its calls" if called else ""
        self.nodes.append(GraphNode(name, "graph", tuple(made)))

    def _add(self, name: str, op: str) -> None:
        """Add the node or weight ``name``."""
        got = list(self.trace.values.get(name, ()))
        if name in self.trace.constants:
            constant = self.trace.constants[name]
            got.append(constant)
            place = self.relax.of.get(constant)
            if place is not None:
                self.relax.places[place] = replace(self.relax.places[place], name=name)
        parts: list[relax_ir.Expr] = [*self.trace.bound.get(name, ()), *self._parts(got)]
        found = dict.fromkeys(self.relax.of[part] for part in parts if part in self.relax.of)
        self.why[len(self.nodes)] = _why(got) if got else ""
        self.named[name] = len(self.nodes)
        self.nodes.append(GraphNode(name, op, tuple(found)))

    def _parts(self, given: list[Value]) -> Iterator[relax_ir.Expr]:
        """Yield the variables, constants and functions that values are made of."""
        stack = list(reversed(given))
        seen: set[object] = set()
        while stack:
            value = stack.pop()
            if value in seen:
                continue
            seen.add(value)
            match value:
                case Closure():
                    yield from self.trace.functions.get(value, ())
                case Lifted(var):
                    yield var
                case Data(_, fields) | Fields(fields):
                    stack += reversed(fields)
                case Cell(content):
                    stack.append(content)
                case Maker():
                    pass
                case relax_ir.Tuple(parts):
                    stack += reversed(parts)
                case _:
                    yield value


def _dtypes(info: StructInfo | None) -> frozenset[str]:
    """Return the dtypes of the tensors of a value."""
    match info:
        case TensorStructInfo(_, dtype):
            return frozenset({dtype})
        case TupleStructInfo(fields):
            return frozenset(dtype for one in fields for dtype in _dtypes(one))
    return frozenset()


def _standing(
    found: Map, number: int, expr: relay_ir.Expr, relax: RelaxPlaces, type_: relay_ir.Type | None
) -> Standing:
    node = found.relay[number]
    places = dict.fromkeys(place for one in node.graph for place in found.graph[one].relax)
    values_ = [relax.values[place] for place in places if place in relax.values]
    dtypes = frozenset(dtype for place in places for dtype in relax.dtypes.get(place, ()))
    params = [relax.values[place] for place in places if relax.places[place].kind is PlaceKind.PARAMETER]
    infos = [one.info for one in params if isinstance(one, relax_ir.Var)]
    return Standing(number, expr, node, [found.relax[place] for place in places], values_, type_, dtypes, infos)


def _why(got: Sequence[Value]) -> str:
    """Return why nothing in Relax stands for a node of these values."""
    match next((one for one in got if is_known(one)), got[0]):
        case relax_ir.Constant():
            return "what is made of the constant is computed beforehand"
        case relax_ir.Tuple():
            return "an empty tuple"
        case known:
            return f"{what(known)} that the translation knows"


def _relay_nodes(
    done: Passage, graph: _Graph, rewrites: Rewrites, scheduled: bool
) -> Iterator[tuple[relay_ir.Expr, RelayNode]]:
    """Yield every expression of the program once, operands first, variables with what binds
    them.
    """
    made: dict[object, dict[int, None]] = {}
    for name, expr in done.found.made.items():
        if name in graph.named:
            for origin in rewrites.origins(expr):
                made.setdefault(origin, {})[graph.named[name]] = None
    seen: set[relay_ir.Expr] = set()
    for var, function in done.given.functions.items():
        made.setdefault(function, {})[graph.functions[var.name]] = None
        for node in nodes(function):
            for expr in (*binders(node), *asked_constructors(node), node):
                if expr in seen or isinstance(expr, relay_ir.Op):
                    continue
                seen.add(expr)
                found = tuple(made.get(expr, ()))
                fate, note = _fate(graph, found, scheduled)
                if not found and isinstance(expr, relay_ir.Constructor):
                    fate, note = Fate.IMPLIED, "a match asks for it"
                name = var.name if expr is function else _name(expr)
                text, json, span = _read_at(done.given, expr)
                yield expr, RelayNode(type(expr).__name__, name, var.name, text, json, span, found, fate, note)


def _read_at(mod: relay_ir.IRModule, expr: relay_ir.Expr) -> tuple[SourceRange | None, int | None, str]:
    """Return where an expression stood in a text and in a document, and its span."""
    span = getattr(expr, "span", None)
    return mod.locations.get(expr), mod.document_nodes.get(expr), "" if span is None else str(span)


def _name(expr: relay_ir.Expr) -> str:
    match expr:
        case relay_ir.Call(relay_ir.Op(name)):
            return name
        case relay_ir.Var(name) | relay_ir.GlobalVar(name) | relay_ir.Constructor(name):
            return name
    return ""


def _fate(graph: _Graph, found: tuple[int, ...], scheduled: bool) -> tuple[Fate, str]:
    """Return what became of an expression that is the graph nodes ``found``."""
    if not found:
        return Fate.DROPPED, "nothing uses its value"
    if any(graph.nodes[one].relax for one in found):
        return Fate.KEPT, ""
    why = next((graph.why[one] for one in found if graph.why[one]), "")
    if not why:
        return Fate.DROPPED, "the entry function does not come to it"
    return (Fate.MOVED, "the schedule fuses it with others") if scheduled else (Fate.IMPLIED, why)
