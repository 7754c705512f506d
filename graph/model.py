"""Relay and Relax programs as graphs, in the words of TVM's Multi-System Compiler (MSC).

    graph  ::= MSCGraph(name, node*, prim*)
    node   ::= MSCJoint(name, kind, op, operands, tensors in, tensors out, weights, attributes)
    prim   ::= MSCPrim(name, optype, parents)            a symbolic extent
    tensor ::= MSCTensor(name, dtype, shape)

A node stands for one Relay expression and keeps what the expression has: typed attributes, span,
annotations; in the graph of a Relax program, for one binding. Then its scope is the block that it
stands in, and the tensors that a dataflow block gives have aliases. The structure, names only, is a
networkx graph beside the nodes (``MSCGraph.dag``).

What is evaluated only sometimes, or elsewhere, is a graph of its own that a node holds: the body of
a function literal, the branches of an ``if``, the clauses of a ``match``. The node's operands are
its own, then what each of these graphs takes from around itself (``captured``), graph by graph. A
``let`` that stays a ``let``, because its value has an effect or calls itself, is two nodes:
``bind`` is the variable, ``let`` the value of the body.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from relay2relax.core.dtype import Array, check_dtype, of_array
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.table import translating
from relay2relax.core.limits import active
from relay2relax.core.source import Span
from relay2relax.core.words import check_layout
from relay2relax.graph.kinds import NodeKind, PatternKind
from relay2relax.relax_ir.ir.expr import Expr as RelaxExpr
from relay2relax.relax_ir.ir.struct_info import StructInfo
from relay2relax.relay_ir.ir.device import VirtualDevice
from relay2relax.relay_ir.ir.module import TypeData
from relay2relax.relay_ir.ir.types import FuncType, Type, TypeVar
from relay2relax.tir.extent import require_allowed
from relay2relax.tir.ir.stmt import PrimFunc

if TYPE_CHECKING:
    import networkx


class GraphError(Relay2RelaxError):
    """A graph has no such node or tensor, or is not well formed."""

    kind = translating.GRAPH


# What stands for a dtype where a value is no tensor.
NO_TENSORS = frozenset({"function", "shape", "object"})


@dataclass(frozen=True, slots=True)
class MSCTensor:
    """A tensor: what a node gives, or a weight that it holds.

    ``shape`` has -1 where an extent is symbolic; then ``prims`` says every extent, a symbolic one
    by the name of its prim, and is empty otherwise. ``alias`` is the name by which users know the
    tensor. A value that is no tensor has the dtype ``"function"``, ``"shape"`` or ``"object"`` (a
    reference, a value of a data type, …).
    """

    name: str
    dtype: str
    shape: tuple[int, ...] = ()
    layout: str = ""
    prims: tuple[str, ...] = ()
    alias: str = ""

    def __post_init__(self) -> None:
        if self.dtype not in NO_TENSORS:
            check_dtype(self.dtype)
        if self.layout:
            check_layout(self.layout)
        if active() is not None:
            allowed = tuple(max(extent, 0) if extent != -1 else 1 for extent in self.shape)
            require_allowed(allowed, f"tensor {self.name!r}")

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def get_shape(self, with_prims: bool = False) -> tuple[int | str, ...]:
        """Return the extents.

        With ``with_prims`` a symbolic one as the name of its prim instead of -1.
        """
        if not (with_prims and self.prims):
            return self.shape
        return tuple(p if e < 0 else e for e, p in zip(self.shape, self.prims, strict=True))


@dataclass(frozen=True, slots=True)
class MSCPrim:
    """A symbolic extent: ``shape`` (dimension of a tensor), ``Int``, or an operator over other
    prims.
    """

    name: str
    optype: str
    parents: tuple[str, ...] = ()
    attrs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InputAttrs:
    """What an ``input`` stands for: parameter ``hint``, or a value ``captured`` from around the
    graph.

    Of a ``bind``, these are name and annotations of its variable.
    """

    hint: str
    annotation: Type | None = None
    virtual_device: VirtualDevice | None = None
    captured: bool = False


@dataclass(frozen=True, slots=True)
class ConstantAttrs:
    """A constant.

    ``scalar`` shows its value where it has no dimensions (the weight is what counts).
    """

    scalar: float | int | bool | None = None

    @classmethod
    def of(cls, data: Array) -> ConstantAttrs:
        """Return what is shown of ``data``: a float as the shortest decimal that is it in its
        dtype.
        """
        if data.ndim:
            return cls()
        value: float | int | bool = data.item()
        return cls(float(str(data[()])) if isinstance(value, float) else value)


@dataclass(frozen=True, slots=True)
class GetItemAttrs:
    """Which field of its operand a ``get_item`` gives."""

    index: int


@dataclass(frozen=True, slots=True)
class CallAttrs:
    """A call of a function value, the first operand."""

    type_args: tuple[Type, ...] = ()
    attrs: Any = None


@dataclass(frozen=True, slots=True)
class GlobalAttrs:
    """The name of a function of the module."""

    global_name: str


@dataclass(frozen=True, slots=True)
class FunctionAttrs:
    """A function literal: its body is a graph, whose captured inputs are the node's operands, in
    order.

    ``itself`` names the input by which a recursive function calls itself; it is not among the
    captured ones.
    """

    graph: MSCGraph
    itself: str = ""


@dataclass(frozen=True, slots=True)
class FusedAttrs:
    """The parts of a fused node: a graph whose parameters stand for the node's operands."""

    graph: MSCGraph


@dataclass(frozen=True, slots=True)
class IfAttrs:
    """The branches of an ``if``, whose first operand is the condition."""

    true_graph: MSCGraph
    false_graph: MSCGraph


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a clause matches: anything, a variable (the next parameter of its graph), a tuple, or a
    constructor's value.

    ``constructor`` is the name of the data type and its own, of that kind only.
    """

    kind: PatternKind
    parts: tuple[Pattern, ...] = ()
    constructor: tuple[str, str] = ("", "")
    span: Span | None = None

    @property
    def variables(self) -> int:
        """How many variables the pattern has, at any depth."""
        return (self.kind is PatternKind.VARIABLE) + sum(part.variables for part in self.parts)


@dataclass(frozen=True, slots=True)
class MatchAttrs:
    """The clauses of a ``match``, whose first operand is the data: patterns, and graphs of the
    variables in them.
    """

    patterns: tuple[Pattern, ...]
    graphs: tuple[MSCGraph, ...]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class ConstructorAttrs:
    """A constructor of a data type, both by name."""

    data_type: str
    constructor: str


@dataclass(frozen=True, slots=True)
class RelaxAttrs:
    """A Relax expression.

    The node's operands stand for its variables and constants, one after the other.

    ``cast`` is what a ``match_cast`` says of it.
    """

    value: RelaxExpr
    cast: StructInfo | None = None


@dataclass(frozen=True, slots=True)
class MSCJoint:
    """A node.

    ``op`` is the name of the operator that it calls: ``nn.dense`` in the graph of a Relay program,
    ``relax.matmul`` in that of a Relax program, the name of its pattern where the node is fused,
    and empty where the kind is another one.

    ``operands`` names, in Relay's order, the nodes or held weights that the expression is applied
    to; ``inputs`` are the tensors that the node operands give, one after the other. ``weights`` are
    held tensors by role. ``attrs`` is the attribute dataclass of the operator's record, or one of
    the classes above; ``attr_operands`` gives the place of the operand that an attribute holds once
    more (``arange``). ``info`` is what a Relax program says of the value, and ``dataflow`` whether
    it is bound in a dataflow block.
    """

    index: int
    name: str
    kind: NodeKind
    op: str
    operands: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[MSCTensor, ...]
    weights: Mapping[str, MSCTensor]
    attrs: Any
    scope: tuple[str, ...] = ()
    span: Span | None = None
    shared_ref: str = ""
    attr_operands: Mapping[str, int] = field(default_factory=dict)
    info: StructInfo | None = None
    dataflow: bool = False

    @property
    def optype(self) -> str:
        """What MSC calls the node in texts: its operator, or the word for its kind."""
        return self.op or self.kind.value

    def output_at(self, index: int) -> MSCTensor:
        """Return one of the tensors that the node gives; raises GraphError where there is none."""
        return _at(self.outputs, index, f"the node {self.name!r} has no output {index}")

    def weight_at(self, role: str) -> MSCTensor:
        """Return the weight of a role; raises GraphError where there is none."""
        if role not in self.weights:
            raise GraphError(
                f"the node {self.name!r} holds no weight {role!r}, but {', '.join(self.weights) or 'none'}"
            )
        return self.weights[role]

    def weight_type(self, name: str) -> str:
        """Return the role of a weight; raises GraphError where the node does not hold it."""
        for role, tensor in self.weights.items():
            if tensor.name == name:
                return role
        raise GraphError(f"the node {self.name!r} does not hold the tensor {name!r}")

    @property
    def bodies(self) -> tuple[MSCGraph, ...]:
        """The graphs that the node holds."""
        match self.attrs:
            case FunctionAttrs(graph) | FusedAttrs(graph):
                return (graph,)
            case IfAttrs(true_graph, false_graph):
                return (true_graph, false_graph)
            case MatchAttrs(_, graphs):
                return graphs
        return ()

    @property
    def captured(self) -> tuple[str, ...]:
        """The operands that the graphs of the node take from around it, graph by graph."""
        count = sum(len(body.captured) for body in self.bodies)
        return self.operands[len(self.operands) - count :]

    @property
    def parents(self) -> tuple[str, ...]:
        """The nodes among the operands, each once."""
        held = {tensor.name for tensor in self.weights.values()} if self.kind is not NodeKind.CONSTANT else set()
        return tuple(name for name in dict.fromkeys(self.operands) if name not in held)


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function says of itself beside its parameters and body.

    ``inferred`` is what type inference found.

    ``ret``, ``pure`` and ``private`` are those of a Relax function.
    """

    ret_type: Type | None = None
    type_params: tuple[TypeVar, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)
    span: Span | None = None
    virtual_device: VirtualDevice | None = None
    inferred: FuncType | None = None
    ret: StructInfo | None = None
    pure: bool = True
    private: bool = False


@dataclass(frozen=True, eq=False)
class MSCGraph:
    """A function, branch or clause as a graph.

    The nodes are in an order in which operands come first.

    ``params``       the input nodes that are parameters, in the function's order. ``captured``
    the input nodes that the graph takes from around the node that holds it. ``result``       the
    node whose value the function returns; ``outputs`` are its tensors. ``functions``    the other
    functions of the module, by name; they, the module's attributes and its type
                     definitions go with the graph of the entry function only.
    ``entries``      those of ``functions`` that are called from outside as this one is: of a
                     library, a module without ``main``.
    ``prim_funcs``   the module's tensor programs, by name, as ``functions``.
    ``weight_spans`` spans of weights, by weight name, where a node holds the weight.
    """

    name: str
    nodes: tuple[MSCJoint, ...]
    params: tuple[str, ...]
    result: str
    prims: tuple[MSCPrim, ...] = ()
    captured: tuple[str, ...] = ()
    signature: Signature = field(default_factory=Signature)
    functions: Mapping[str, MSCGraph] = field(default_factory=dict)
    entries: tuple[str, ...] = ()
    module_attrs: Mapping[str, Any] = field(default_factory=dict)
    type_definitions: tuple[TypeData, ...] = ()
    weight_spans: Mapping[str, Span] = field(default_factory=dict)
    prim_funcs: Mapping[str, PrimFunc] = field(default_factory=dict)

    # --- structure ---

    @cached_property
    def dag(self) -> networkx.DiGraph[str]:
        """The names of the nodes, with an edge from each operand to its user."""
        from relay2relax.graph.networkx_view import digraph

        return digraph(self.name, {node.name: node.parents for node in self.nodes})

    @cached_property
    def _children(self) -> dict[str, list[str]]:
        """The users of each node by name, in the order of the graph."""
        found: dict[str, list[str]] = {node.name: [] for node in self.nodes}
        for node in self.nodes:
            for parent in node.parents:
                found.setdefault(parent, []).append(node.name)
        return found

    @cached_property
    def _by_name(self) -> dict[str, MSCJoint]:
        return {node.name: node for node in self.nodes}

    @cached_property
    def _tensors(self) -> dict[str, tuple[MSCTensor, MSCJoint]]:
        """Tensors by name, and by alias where no tensor has that name, with the nodes they belong
        to.
        """
        found: dict[str, tuple[MSCTensor, MSCJoint]] = {}
        for node in self.nodes:
            for tensor in (*node.outputs, *node.weights.values()):
                found.setdefault(tensor.name, (tensor, node))
        for tensor, node in list(found.values()):
            if tensor.alias:
                found.setdefault(tensor.alias, (tensor, node))
        return found

    @cached_property
    def _prims(self) -> dict[str, MSCPrim]:
        return {prim.name: prim for prim in self.prims}

    @property
    def is_relax(self) -> bool:
        """Whether this is a function of a Relax program."""
        return self.signature.ret is not None

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the tensors that go in."""
        return tuple(tensor.name for name in self.params for tensor in self.find_node(name).outputs)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the tensors that come out."""
        return tuple(tensor.name for tensor in self.find_node(self.result).outputs)

    # --- queries ---

    def __len__(self) -> int:
        return len(self.nodes)

    def has_node(self, name: str) -> bool:
        """Whether there is a node ``name``."""
        return name in self._by_name

    def find_node(self, name: str) -> MSCJoint:
        """Return the node ``name``; raises GraphError where there is none."""
        try:
            return self._by_name[name]
        except KeyError:
            raise GraphError(f"the graph {self.name!r} has no node {name!r}") from None

    def find_prim(self, name: str) -> MSCPrim:
        """Return the prim ``name``; raises GraphError where there is none."""
        try:
            return self._prims[name]
        except KeyError:
            raise GraphError(f"the graph {self.name!r} has no prim {name!r}") from None

    def has_tensor(self, name: str) -> bool:
        """Whether there is a tensor of this name or alias."""
        return name in self._tensors

    def find_tensor(self, name: str) -> MSCTensor:
        """Return the tensor ``name``, or the one with that alias.

        Raises GraphError where there is none.
        """
        return self._find_tensor(name)[0]

    def find_producer(self, tensor: str) -> MSCJoint:
        """Return the node that gives, or holds, a tensor.

        Raises GraphError where there is no such tensor.
        """
        return self._find_tensor(tensor)[1]

    def _find_tensor(self, name: str) -> tuple[MSCTensor, MSCJoint]:
        try:
            return self._tensors[name]
        except KeyError:
            raise GraphError(f"the graph {self.name!r} has no tensor {name!r}") from None

    def find_consumers(self, tensor: str) -> tuple[MSCJoint, ...]:
        """Return the nodes that take a tensor in, in the order of the graph."""
        name = self.find_tensor(tensor).name
        producer = self.find_producer(name)
        return tuple(node for node in self.children(producer.name) if name in node.inputs)

    def parents(self, name: str) -> tuple[MSCJoint, ...]:
        """Return the operands of node ``name``, each once."""
        return tuple(self._by_name[parent] for parent in self.find_node(name).parents)

    def children(self, name: str) -> tuple[MSCJoint, ...]:
        """Return the users of node ``name``, in the order of the graph."""
        self.find_node(name)
        return tuple(self._by_name[child] for child in self._children[name])

    def get_inputs(self) -> tuple[MSCTensor, ...]:
        """Return the tensors that go in."""
        return tuple(self.find_tensor(name) for name in self.inputs)

    def get_outputs(self) -> tuple[MSCTensor, ...]:
        """Return the tensors that come out."""
        return self.find_node(self.result).outputs

    def get_weights(self) -> Iterator[MSCTensor]:
        """Yield the weights, each once."""
        seen: set[str] = set()
        for node in self.nodes:
            for tensor in node.weights.values():
                if tensor.name not in seen:
                    seen.add(tensor.name)
                    yield tensor

    def get_nodes(self) -> tuple[MSCJoint, ...]:
        """Return the nodes in their order."""
        return self.nodes

    def get_prims(self) -> tuple[MSCPrim, ...]:
        """Return the symbolic extents in their order."""
        return self.prims

    def get_tensors(self) -> Iterator[MSCTensor]:
        """Yield what nodes give and hold, each tensor once, node by node."""
        seen: set[str] = set()
        for node in self.nodes:
            for tensor in (*node.outputs, *node.weights.values()):
                if tensor.name not in seen:
                    seen.add(tensor.name)
                    yield tensor

    def inputs_of(self, name: str) -> tuple[MSCTensor, ...]:
        """Return the tensors that node ``name`` takes in."""
        return tuple(self.find_tensor(one) for one in self.find_node(name).inputs)

    def input_at(self, index: int) -> MSCTensor:
        """Return one of the tensors that go in; raises GraphError where there is none."""
        return _at(self.get_inputs(), index, f"the graph {self.name!r} has no input {index}")

    def output_at(self, index: int) -> MSCTensor:
        """Return one of the tensors that come out; raises GraphError where there is none."""
        return _at(self.get_outputs(), index, f"the graph {self.name!r} has no output {index}")

    def set_tensor_alias(self, tensor: MSCTensor, alias: str) -> MSCGraph:
        """Return the graph in which ``tensor`` is known as ``alias`` too.

        Raises GraphError where there is no such tensor, or another one has that name or alias.
        """
        name = self.find_tensor(tensor.name).name
        if self.has_tensor(alias) and self.find_tensor(alias).name != name:
            raise GraphError(f"the graph {self.name!r} has another tensor {alias!r}")

        def renamed(one: MSCTensor) -> MSCTensor:
            return replace(one, alias=alias) if one.name == name else one

        nodes = tuple(
            replace(
                node,
                outputs=tuple(map(renamed, node.outputs)),
                weights={role: renamed(one) for role, one in node.weights.items()},
            )
            for node in self.nodes
        )
        return replace(self, nodes=nodes)

    def clone(self) -> MSCGraph:
        """Return an equal graph."""
        return replace(self)

    def equal(self, other: object) -> bool:
        """Whether ``other`` is a graph of the same nodes, names and spans included.

        Graphs that nodes hold, and those of other functions, are compared likewise. Of the graph of
        a Relax program only copies are equal: Relax expressions are equal to themselves alone.
        """
        if not isinstance(other, MSCGraph):
            return False
        pairs = zip_longest(self.subgraphs(), other.subgraphs())
        return all(one is not None and two is not None and one._is_like(two) for one, two in pairs)

    def _is_like(self, other: MSCGraph) -> bool:
        """Whether all is the same but for graphs within."""
        mine = (self.name, self.params, self.result, self.prims, self.captured, tuple(self.functions), self.entries)
        theirs = (
            other.name, other.params, other.result, other.prims, other.captured, tuple(other.functions), other.entries
        )  # fmt: skip
        if mine != theirs or len(self.nodes) != len(other.nodes):
            return False
        pairs = zip(self.nodes, other.nodes, strict=True)
        return all(_without_bodies(one) == _without_bodies(two) for one, two in pairs)

    def subgraphs(self) -> Iterator[MSCGraph]:
        """Yield this graph, those that its nodes hold, and those of the module's other
        functions.
        """
        stack: list[MSCGraph] = [self]
        while stack:
            graph = stack.pop()
            yield graph
            stack += reversed(list(graph.functions.values()))
            stack += [body for node in reversed(graph.nodes) for body in reversed(node.bodies)]

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the graph as a tree."""
        from relay2relax.core.output.notebook import shown
        from relay2relax.graph.formats.tree import to_tree

        return shown(f"graph {self.name}: {len(self.nodes)} nodes", to_tree(self, 160))

    def inspect(self) -> dict[str, Any]:
        """Return a readable summary: inputs, outputs, and how many nodes and prims of each kind
        there are.
        """

        def shown(tensor: MSCTensor) -> dict[str, Any]:
            shape = list(tensor.get_shape(with_prims=True))
            return {"name": tensor.alias, "shape": shape, "dtype": tensor.dtype, "layout": tensor.layout}

        summary: dict[str, Any] = {
            "inputs": [shown(tensor) for tensor in self.get_inputs()],
            "outputs": [shown(tensor) for tensor in self.get_outputs()],
            "nodes": {"total": len(self.nodes), **Counter(node.optype for node in self.nodes)},
        }
        if self.prims:
            summary["prims"] = {"total": len(self.prims), **Counter(prim.optype for prim in self.prims)}
        return summary


def _at(tensors: Sequence[MSCTensor], index: int, problem: str) -> MSCTensor:
    if not 0 <= index < len(tensors):
        raise GraphError(problem)
    return tensors[index]


def _without_bodies(node: MSCJoint) -> MSCJoint:
    """Return a node with the kinds of its graphs' attributes alone; a match keeps its patterns."""
    if not node.bodies:
        return node
    patterns = node.attrs.patterns if isinstance(node.attrs, MatchAttrs) else ()
    return replace(node, attrs=(type(node.attrs), patterns))


def weight_data(weights: Mapping[str, Array], tensor: MSCTensor) -> Array:
    """Return the data of a weight; raises GraphError where it is missing or does not fit."""
    if tensor.name not in weights:
        raise GraphError(f"the weights have no {tensor.name!r}")
    array = weights[tensor.name]
    if tuple(array.shape) != tensor.shape or of_array(array) != tensor.dtype:
        raise GraphError(
            f"weight {tensor.name!r}: expected {tensor.shape} of {tensor.dtype}, "
            f"given {tuple(array.shape)} of {of_array(array)}"
        )
    return array
