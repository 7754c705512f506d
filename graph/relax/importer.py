"""From Relax to the graph, without loss: one node per binding, weights beside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from relay2relax.core.collection import collection_paused
from relay2relax.core.dtype import Array
from relay2relax.core.errors import UnsupportedError
from relay2relax.core.errors.table import translating
from relay2relax.core.source import Span
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import (
    ConstantAttrs,
    FunctionAttrs,
    GraphError,
    IfAttrs,
    InputAttrs,
    MSCGraph,
    MSCJoint,
    MSCTensor,
    RelaxAttrs,
    Signature,
)
from relay2relax.graph.shapes import PrimTable
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.types import TensorType
from relay2relax.relax_ir.inference.infer import Inference
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import (
    Binding,
    Call,
    CallDPSPacked,
    CallTIR,
    Constant,
    Expr,
    ExternFunc,
    Function,
    GlobalVar,
    If,
    IRModule,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.ir.names import NameSupply
from relay2relax.relax_ir.ir.struct_info import (
    FuncStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from relay2relax.relax_ir.ir.visit import Steps, all_sequences, bindings, operands, run, values, with_operands
from relay2relax.relax_ir.transform import BindParams, CanonicalizeBindings
from relay2relax.relax_ir.transform.rewriting.rewriter import substitute_extents
from relay2relax.tir.extent import ANY, Extent
from relay2relax.tir.ir.expr import Var as PrimVar
from relay2relax.tir.ir.stmt import PrimFunc


@collection_paused()
def from_relax(
    mod: IRModule, params: Mapping[str, Array] | None = None, entry: str = "main"
) -> tuple[MSCGraph, dict[str, Array]]:
    """Return ``entry`` of ``mod`` as a graph, and its weights by name.

    The arrays are the module's own, not copies.

    ``params`` are bound first, as ``BindParams`` does, and keep their names; other constants are
    ``const``, ``const_1``, …. Bindings that only give another name go (``CanonicalizeBindings``).
    Of what is left ``to_relax`` makes a module that is structurally equal. Other functions come
    along as graphs of their own, tensor programs as they are.

    Raises Relay2RelaxError where the module has no function ``entry``, and UnsupportedError where
    that is TensorIR.
    """
    if params:
        mod = BindParams(entry, params)(mod)
    return graph_of(CanonicalizeBindings()(mod), entry, params or {}, {})


def graph_of(
    mod: IRModule, entry: str, weights: Mapping[str, Array], names: Mapping[str, Sequence[str]]
) -> tuple[MSCGraph, dict[str, Array]]:
    """Do what :func:`from_relax` does with canonical bindings.

    ``names`` are those of the nodes of each graph.
    """
    main = mod.get_global_var(entry)
    if mod.global_infos:
        raise UnsupportedError(
            "a graph has no place for the devices of a module (I.module_global_infos)", kind=translating.NO_RELAX_FORM
        )
    builder = _Builder(mod, weights, names)
    graphs = {var: builder.function(var.name, f) for var, f in mod.functions.items() if isinstance(f, Function)}
    if main not in graphs:
        raise UnsupportedError(
            f"the function {entry!r} is TensorIR; the graph is one of Relax functions", kind=translating.NO_RELAX_FORM
        )
    graph = replace(
        graphs.pop(main),
        functions={var.name: other for var, other in graphs.items()},
        prim_funcs={var.name: f for var, f in mod.functions.items() if isinstance(f, PrimFunc)},
        module_attrs=mod.attrs,
    )
    return graph, builder.weights


class _Builder:
    """One module: its weights so far, by name."""

    def __init__(self, mod: IRModule, weights: Mapping[str, Array], names: Mapping[str, Sequence[str]]) -> None:
        self.inference = Inference(mod)
        self.given = names
        self.graph_names = NameSupply()
        self.weights: dict[str, Array] = {}
        self.weight_names = {id(array): name for name, array in weights.items()}
        self.supply = NameSupply()
        # A weight has one name in all functions, so no variable of any has it.
        for function, func in mod.functions.items():
            self.graph_names.reserve(function.name)
            if isinstance(func, Function):
                for var in _variables(func):
                    self.supply.reserve(var.name)
        for name in weights:
            self.supply.reserve(name)

    def function(self, name: str, func: Function) -> MSCGraph:
        graph = _Graph(self, NameSupply(), name, None, _renamed(func))
        graph.params(func)
        run(graph.sequence(func.body))
        return graph.finished(func)

    def weight(self, data: Array) -> str:
        """Return the name of a weight; one array is one weight."""
        name = self.weight_names.get(id(data))
        if name is None:
            name = self.weight_names[id(data)] = self.supply.fresh("const", "_")
        self.weights[name] = data
        return name


def _variables(func: Function) -> Iterator[Var]:
    """Yield the parameters and variables of a function and those in it."""
    yield from func.params
    for seq in all_sequences((func.body,)):
        for binding in bindings(seq):
            yield binding.var
            if isinstance(binding.value, Function):
                yield from binding.value.params


def _renamed(func: Function) -> dict[PrimVar, Extent]:
    """Return other variables for the dimensions of a function that share a name."""
    supply = NameSupply()
    found: dict[PrimVar, str] = {}
    for var in _variables(func):
        for extent in symbols.extents(var.info):
            for dim in symbols.variables(extent):
                if dim not in found:
                    found[dim] = supply.fresh(dim.name, "_")
    return {dim: PrimVar(name, dim.dtype) for dim, name in found.items() if name != dim.name}


class _Graph:
    """The graph of a function or branch under construction.

    ``supply`` names the nodes of a whole function, ``dims`` are other variables for those of its
    dimensions that share a name.
    """

    def __init__(
        self,
        module: _Builder,
        supply: NameSupply,
        name: str,
        outer: _Graph | None,
        dims: Mapping[PrimVar, Extent],
    ) -> None:
        self.module = module
        self.supply = supply
        self.name = name
        self.outer = outer
        self.dims = dims
        self.nodes: list[MSCJoint] = []
        self.outputs: dict[str, tuple[MSCTensor, ...]] = {}
        self.names: dict[Expr, str] = {}
        self.constants: dict[str, str] = {}
        self.own: list[str] = []
        self.captured: dict[Var, str] = {}
        self.prims = PrimTable()
        self.result = ""

    def fresh(self, hint: str) -> str:
        """Return the name of the node that is made next."""
        if not self.module.given:
            return self.supply.fresh(hint, "_")
        names = self.module.given.get(self.name, ())
        if len(self.nodes) >= len(names):
            raise GraphError(f"{self.name}: node {len(self.nodes)}, {hint!r}, has no name")
        return names[len(self.nodes)]

    def params(self, func: Function) -> None:
        self.own = [self.input(param) for param in func.params]

    def input(self, var: Var, captured: bool = False) -> str:
        name = self.names[var] = self.fresh(var.name)
        hint = name if self.module.given else var.name
        self.add(name, NodeKind.INPUT, (), InputAttrs(hint, captured=captured), var.info, span=var.span, public=True)
        return name

    def ref(self, value: Expr) -> str:
        """Return the node that gives ``value``; what comes from around the graph becomes an
        input.
        """
        if isinstance(value, Constant):
            return self.constant(value)
        if value in self.names:
            return self.names[value]
        if isinstance(value, Var):
            if self.outer is None:
                raise UnsupportedError(
                    f"{self.name}: the variable {value.name} is used where it is not defined",
                    kind=translating.NO_RELAX_FORM,
                )
            self.captured[value] = name = self.input(value, captured=True)
            return name
        kind, op = _kind(value)
        info, refs = self.module.inference.of(value), self.refs(value)
        name = self.fresh((op or kind.value).rpartition(".")[2])
        self.add(name, kind, refs, RelaxAttrs(self.expr(value)), info, op=op)
        return name

    def expr(self, expr: Expr) -> Expr:
        """Return ``expr`` with the names of dimensions that are used here."""
        if not self.dims:
            return expr
        inner = [self.expr(one) for one in operands(expr)]
        return substitute_extents(with_operands(expr, inner) if inner else expr, self.dims)

    def info(self, info: StructInfo) -> StructInfo:
        return symbols.substitute(info, self.dims) if self.dims else info

    def refs(self, expr: Expr) -> tuple[str, ...]:
        return tuple(self.ref(value) for value in values(expr))

    def constant(self, constant: Constant) -> str:
        weight = self.module.weight(constant.data)
        if weight not in self.constants:
            name = self.constants[weight] = self.fresh(weight)
            tensor = _tensor(self.prims, constant.info, weight, name, 0, "")
            attrs = ConstantAttrs.of(constant.data)
            self.add(name, NodeKind.CONSTANT, (), attrs, constant.info, span=constant.span, weights={"const": tensor})
        return self.constants[weight]

    def sequence(self, seq: SeqExpr) -> Steps:
        for number, block in enumerate(seq.blocks):
            scope = (f"{'dataflow' if block.dataflow else 'block'}{number}",)
            for binding in block.bindings:
                yield from self.binding(binding, scope, block.dataflow)
        self.result = self.ref(seq.body)

    def binding(self, binding: Binding | MatchCast, scope: tuple[str, ...], dataflow: bool) -> Steps:
        """Make the node of one binding; graphs inside it are walks of their own."""
        var, value = binding.var, binding.value
        attrs: object = None
        kind, op = (NodeKind.MATCH_CAST, "") if isinstance(binding, MatchCast) else _kind(value)
        match value:
            case If(condition, then, otherwise):
                arms = [self.inner("then"), self.inner("else")]
                for arm, seq in zip(arms, (then, otherwise), strict=True):
                    yield arm.sequence(seq)
                refs = (self.ref(condition), *(self.ref(one) for arm in arms for one in arm.captured))
                attrs = IfAttrs(*(arm.finished(None) for arm in arms))
            case Function(_, body):
                inner = self.inner("fn")
                inner.params(value)
                yield inner.sequence(body)
                itself = inner.captured.pop(var, "")
                refs = tuple(self.ref(one) for one in inner.captured)
                attrs = FunctionAttrs(inner.finished(value), itself)
            case _:
                refs = self.refs(value)
                attrs = RelaxAttrs(
                    self.expr(value), self.info(binding.info) if isinstance(binding, MatchCast) else None
                )
        name = self.names[var] = self.fresh(var.name)
        span = var.span or getattr(value, "span", None)
        self.add(name, kind, refs, attrs, var.info, scope, span, public=not var.dataflow, op=op, dataflow=dataflow)

    def inner(self, hint: str) -> _Graph:
        return _Graph(self.module, self.supply, self.module.graph_names.fresh(hint, "_"), self, self.dims)

    def add(
        self,
        name: str,
        kind: NodeKind,
        refs: tuple[str, ...],
        attrs: object,
        info: StructInfo,
        scope: tuple[str, ...] = (),
        span: Span | None = None,
        public: bool = False,
        weights: Mapping[str, MSCTensor] | None = None,
        op: str = "",
        dataflow: bool = False,
    ) -> None:
        """Make a node; users know what a ``public`` one gives by its name."""
        info = self.info(info)
        self.outputs[name] = tensors_of(self.prims, info, name, public)
        inputs = tuple(tensor.name for ref in refs for tensor in self.outputs[ref])
        self.nodes.append(
            MSCJoint(
                len(self.nodes), name, kind, op, refs, inputs, self.outputs[name], weights or {}, attrs, scope, span,
                info=info, dataflow=dataflow,
            )
        )  # fmt: skip

    def finished(self, func: Function | None) -> MSCGraph:
        signature = Signature()
        if func is not None:
            signature = Signature(attrs=func.attrs, ret=self.info(func.ret), pure=func.pure, private=func.private)
        return MSCGraph(
            self.name,
            tuple(self.nodes),
            tuple(self.own),
            self.result,
            tuple(self.prims.prims),
            tuple(self.captured.values()),
            signature,
        )


# Expressions that are a kind of node, whatever they say.
_KINDS: Mapping[type, NodeKind] = {
    Call: NodeKind.CALL, CallTIR: NodeKind.CALL_TIR, CallDPSPacked: NodeKind.CALL_DPS_PACKED,
    Tuple: NodeKind.TUPLE, TupleGetItem: NodeKind.GET_ITEM, If: NodeKind.IF, Function: NodeKind.FUNCTION,
    GlobalVar: NodeKind.GLOBAL, ExternFunc: NodeKind.GLOBAL, ShapeExpr: NodeKind.SHAPE,
    PrimValue: NodeKind.PRIM_VALUE, StringImm: NodeKind.STRING,
}  # fmt: skip


def _kind(value: Expr) -> tuple[NodeKind, str]:
    """Return what kind of node a value is, and the operator that it calls by TVM's name."""
    match value:
        case Call(OpDef() as op):
            return NodeKind.OPERATOR, op.relax_name
        case Call(ExternFunc()):
            return NodeKind.CALL_PACKED, ""
    return _KINDS.get(type(value), NodeKind.IDENTITY), ""


def _plain(extents: Sequence[Extent] | None, ndim: int) -> tuple[Extent, ...]:
    """Return extents with those that are numbers as plain ones, unknown ones where there are
    none.
    """
    return (ANY,) * ndim if extents is None else tuple(map(symbols.static_extent, extents))


def tensors_of(prims: PrimTable, info: StructInfo, name: str, public: bool) -> tuple[MSCTensor, ...]:
    """Return the tensors of a node; users know what a ``public`` one gives by its name."""
    parts: Sequence[StructInfo] = list(leaves_of(info)) or [TupleStructInfo(())]
    several = len(parts) > 1
    return tuple(
        _tensor(
            prims, part, f"{name}:{place}", name, place, (f"{name}_{place}" if several else name) if public else ""
        )
        for place, part in enumerate(parts)
    )  # fmt: skip


def leaves_of(info: StructInfo) -> Iterator[StructInfo]:
    """Yield what a value consists of, tuples taken apart."""
    stack = [info]
    while stack:
        one = stack.pop()
        if isinstance(one, TupleStructInfo):
            stack += one.fields[::-1]
        else:
            yield one


def _tensor(prims: PrimTable, info: StructInfo, name: str, node: str, place: int, alias: str) -> MSCTensor:
    """Return the tensor that stands for one value of a node."""
    match info:
        case TensorStructInfo(shape, dtype, ndim) if ndim >= 0:
            return prims.tensor(name, TensorType(_plain(shape, ndim), dtype), node, place, alias)
        case ShapeStructInfo(extents, ndim) if ndim >= 0:
            found = prims.tensor(name, TensorType(_plain(extents, ndim), "int64"), node, place, alias)
            return replace(found, dtype="shape")
        case PrimStructInfo(dtype):
            return MSCTensor(name, dtype, alias=alias)
        case FuncStructInfo():
            return MSCTensor(name, "function", alias=alias)
    return MSCTensor(name, "object", alias=alias)
